"""Small sound transcripts of every program, with a unique word in each row.

A row with text has a word that is nowhere else, so that a check can search for it in the result.
"""

import json
from collections.abc import Callable
from typing import Any

from msgspec import Struct

Row = dict[str, Any]
_CWD = "/srv/wood"


class Line(Struct):
    """A row as bytes, the word that it must not lose, and whether it is still sound.

    `fixed` rows must not be moved or repeated, because later rows of their kind replace them.
    """

    data: bytes
    word: str = ""
    sound: bool = True
    fixed: bool = False


def _line(row: Row, word: str = "", *, fixed: bool = False) -> Line:
    data = json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode()
    return Line(data, word, fixed=fixed)


class _Words:
    """Generates unique words."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._number = 0

    def __call__(self) -> str:
        self._number += 1
        return f"{self._prefix}w{self._number:04}"


class _Claude:
    def __init__(self, prefix: str) -> None:
        self.lines: list[Line] = []
        self._prefix = prefix
        self._word = _Words(prefix)
        self._last: str | None = None

    def row(self, kind: str, word: str = "", **fields: Any) -> str:
        uuid = f"{self._prefix}-{len(self.lines):04}"
        head = {"parentUuid": self._last, "isSidechain": False, "type": kind, "uuid": uuid}
        around = {
            "timestamp": f"2026-11-14T12:00:{len(self.lines) % 60:02}.000Z",
            "cwd": _CWD,
            "sessionId": self._prefix,
        }
        self.lines.append(_line(head | around | fields, word))
        if not fields.get("isSidechain"):
            self._last = uuid
        return uuid

    def user(self, content: Any, word: str = "", **fields: Any) -> str:
        return self.row("user", word, message={"role": "user", "content": content}, **fields)

    def asks(self, **fields: Any) -> str:
        word = self._word()
        return self.user(f"Please do {word}.", word, **fields)

    def answer(self, **fields: Any) -> str:
        word = self._word()
        return self._assistant([{"type": "text", "text": f"Done {word}."}], word, **fields)

    def works(self) -> None:
        call = f"toolu_{len(self.lines)}"
        use = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": "ls"}}
        self._assistant([use])
        word = self._word()
        result = {"type": "tool_result", "tool_use_id": call, "content": f"out {word}"}
        self.user([result], word, toolUseResult={"stdout": "out"})

    def compacts(self) -> None:
        metadata = {"trigger": "auto", "preTokens": 9, "preservedMessages": {"uuids": [self._last]}}
        self.row("system", subtype="compact_boundary", compactMetadata=metadata, parentUuid=None)
        self.user("It was about numbers.", isCompactSummary=True)

    def _assistant(self, content: list[Row], word: str = "", **fields: Any) -> str:
        message: Row = {"id": f"msg_{len(self.lines)}", "model": "claude", "content": content}
        message["stop_reason"] = "end_turn" if content[0]["type"] == "text" else "tool_use"
        message["usage"] = {"input_tokens": 5, "output_tokens": 1}
        return self.row("assistant", word, message=message, **fields)


def _claude(prefix: str) -> list[Line]:
    base = _Claude(prefix)
    base.lines.append(_line({"type": "queue-operation", "sessionId": prefix}))
    for turn in range(5):
        base.asks()
        base.row("attachment", attachment={"type": "hook_success", "content": "ok"})
        base.works()
        if turn == 2:
            base.compacts()
        if turn == 3:
            asked = base.asks(isSidechain=True, parentUuid=None, agentId="af39")
            base.answer(isSidechain=True, parentUuid=asked, agentId="af39")
        base.answer()
    base.user("<command-name>/status</command-name>")
    base.user("<local-command-stdout>All well.</local-command-stdout>")
    base.asks()
    return base.lines


def _codex(prefix: str) -> list[Line]:
    lines: list[Line] = []
    word = _Words(prefix)

    def row(kind: str, word_of_row: str = "", **payload: Any) -> None:
        at = f"2026-11-14T12:00:{len(lines) % 60:02}.000Z"
        lines.append(_line({"timestamp": at, "type": kind, "payload": payload}, word_of_row))

    def message(role: str, word_of_row: str) -> None:
        content = [{"type": "text", "text": f"Well, {word_of_row}."}]
        row("response_item", word_of_row, type="message", role=role, content=content)

    row("session_meta", id=prefix, cwd=_CWD)
    row("turn_context", model="gpt-5-codex")
    for turn in range(5):
        row("event_msg", type="task_started", model_context_window=9000)
        message("user", word())
        call, word_of_row = f"call_{turn}", word()
        row("response_item", type="function_call", name="shell", arguments="{}", call_id=call)
        row(
            "response_item",
            word_of_row,
            type="function_call_output",
            call_id=call,
            output=f"out {word_of_row}",
        )
        row("event_msg", type="token_count", info={"last_token_usage": {"total_tokens": 50}})
        if turn == 2:
            row("compacted", message="It was about numbers.", replacement_history=[])
        message("assistant", word())
        row("event_msg", type="task_complete")
    return lines


def _gemini(prefix: str) -> list[Line]:
    word = _Words(prefix)
    lines = [_line({"sessionId": prefix, "projectHash": "0" * 64})]

    def message(
        id: str, kind: str, word_of_row: str, *, fixed: bool = False, **fields: Any
    ) -> None:
        at = f"2026-11-14T12:00:{len(lines) % 60:02}.000Z"
        row = {"id": f"{prefix}{id}", "timestamp": at, "type": kind}
        content = [{"text": f"Well, {word_of_row}."}]
        lines.append(_line(row | {"content": content} | fields, word_of_row, fixed=fixed))

    for turn in range(5):
        message(f"-asks-{turn}", "user", word())
        call: Row = {"id": f"c{turn}", "name": "read_file", "args": {}, "status": "executing"}
        message(f"-runs-{turn}", "gemini", "", fixed=True, toolCalls=[call])
        word_of_row = word()
        answer = {"functionResponse": {"response": {"output": f"out {word_of_row}"}}}
        done = call | {"status": "success", "result": [answer]}
        message(f"-runs-{turn}", "gemini", word_of_row, fixed=True, toolCalls=[done])
        message(f"-says-{turn}", "gemini", word(), tokens={"input": 5, "total": 6})
        lines.append(_line({"$set": {"lastUpdated": "2026-11-14T12:00:00Z"}}))
    return lines


def _pi(prefix: str) -> list[Line]:
    word = _Words(prefix)
    lines = [_line({"type": "session", "version": 3, "id": prefix, "cwd": _CWD})]

    def row(kind: str, word_of_row: str = "", **fields: Any) -> None:
        own, last = (f"{prefix}-{number:04}" for number in (len(lines), len(lines) - 1))
        at = f"2026-11-14T12:00:{len(lines) % 60:02}.000Z"
        head = {"type": kind, "id": own, "parentId": last if len(lines) > 1 else None}
        lines.append(_line(head | {"timestamp": at} | fields, word_of_row))

    def message(role: str, content: list[Row], word_of_row: str = "", **fields: Any) -> None:
        row("message", word_of_row, message={"role": role, "content": content, **fields})

    for turn in range(5):
        for role, more in (("user", {}), ("assistant", {"stopReason": "toolUse"})):
            word_of_row = word()
            content: list[Row] = [{"type": "text", "text": f"Well, {word_of_row}."}]
            if role == "assistant":
                call: Row = {"type": "toolCall", "id": f"c{turn}", "name": "bash", "arguments": {}}
                content.append(call)
            message(role, content, word_of_row, **more)
        word_of_row = word()
        out: list[Row] = [{"type": "text", "text": f"out {word_of_row}"}]
        message("toolResult", out, word_of_row, toolCallId=f"c{turn}")
        if turn == 2:
            kept = f"{prefix}-{len(lines) - 1:04}"
            row("compaction", summary="It was about numbers.", firstKeptEntryId=kept)
        word_of_row = word()
        said: list[Row] = [{"type": "text", "text": f"Done {word_of_row}."}]
        message("assistant", said, word_of_row, stopReason="stop")
    return lines


BASES: dict[str, Callable[[str], list[Line]]] = {
    "claude-code": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "pi": _pi,
}
"""For each program, a function that builds a transcript from a prefix for ids and words."""
