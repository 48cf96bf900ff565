"""Writes transcripts as the programs do, row by row, for tests that need a particular one."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2026, 11, 14, 12, tzinfo=UTC)
Row = dict[str, Any]


def text_block(text: str) -> Row:
    return {"type": "text", "text": text}


class _File:
    """A transcript that grows; each row is a second later than the one before."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    def add(self, row: Row) -> None:
        self.raw(json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode() + b"\n")

    def raw(self, data: bytes) -> None:
        self.rows += 1
        with self.path.open("ab") as file:
            file.write(data)

    @property
    def now(self) -> str:
        return (START + timedelta(seconds=self.rows)).isoformat().replace("+00:00", "Z")


class ClaudeFile(_File):
    """A transcript of Claude Code."""

    def __init__(
        self, folder: Path, session: str = "5e55", agent: str = "", cwd: str = "/srv/wood"
    ) -> None:
        super().__init__(folder / (f"agent-{agent}.jsonl" if agent else f"{session}.jsonl"))
        self._cwd = cwd
        self._session = session
        self._agent = agent
        self.last: str | None = None

    def row(self, kind: str, **fields: Any) -> str:
        """A row that hangs on the last one, unless told otherwise; its id is returned."""
        uuid = f"{self._session}-{self._agent}{self.rows}"
        row = {
            "parentUuid": self.last,
            "isSidechain": bool(self._agent),
            "type": kind,
            "uuid": uuid,
            "timestamp": self.now,
            "cwd": self._cwd,
            "sessionId": self._session,
        }
        if self._agent:
            row["agentId"] = self._agent
        self.add(row | fields)
        if not fields.get("isSidechain"):
            self.last = uuid
        return uuid

    def user(self, content: str | list[Row], **fields: Any) -> str:
        return self.row("user", message={"role": "user", "content": content}, **fields)

    def says(
        self, *blocks: Row | str, message: str = "", stop: str | None = None, **fields: Any
    ) -> str:
        content = [text_block(block) if isinstance(block, str) else block for block in blocks]
        ends = stop or ("tool_use" if content[-1]["type"] == "tool_use" else "end_turn")
        told = {
            "id": message or f"msg_{self.rows}",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": content,
            "stop_reason": ends,
            "usage": {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 5},
        }
        return self.row("assistant", message=told, **fields)

    def call(self, call: str, name: str = "Bash", **args: Any) -> Row:
        return {"type": "tool_use", "id": call, "name": name, "input": args}

    def result(
        self, call: str, content: str = "done", *, error: bool = False, **fields: Any
    ) -> str:
        block = {"type": "tool_result", "tool_use_id": call, "content": content, "is_error": error}
        return self.user([block], **fields)


class CodexFile(_File):
    """A rollout of Codex."""

    def __init__(self, folder: Path, session: str = "01a1", cwd: str = "/srv/wood") -> None:
        super().__init__(folder / f"rollout-2026-11-14T12-00-00-{session}.jsonl")
        self.row("session_meta", id=session, cwd=cwd)
        self.row("turn_context", model="gpt-5-codex")

    def row(self, kind: str, **payload: Any) -> None:
        self.add({"timestamp": self.now, "type": kind, "payload": payload})

    def item(self, kind: str, **fields: Any) -> None:
        self.row("response_item", type=kind, **fields)

    def event(self, kind: str, **fields: Any) -> None:
        self.row("event_msg", type=kind, **fields)

    def user(self, text: str) -> None:
        self.item("message", role="user", content=[{"type": "input_text", "text": text}])

    def says(self, text: str) -> None:
        self.item("message", role="assistant", content=[{"type": "output_text", "text": text}])

    def call(self, call: str, name: str = "exec_command", **args: Any) -> None:
        self.item("function_call", name=name, arguments=json.dumps(args), call_id=call)

    def result(self, call: str, output: Any) -> None:
        self.item("function_call_output", call_id=call, output=output)


class GeminiFile(_File):
    """A chat of Gemini CLI."""

    def __init__(self, folder: Path, session: str = "9e31") -> None:
        super().__init__(folder / f"session-2026-11-14T12-00-{session}.jsonl")
        self.add({"sessionId": session, "projectHash": "0" * 64, "startTime": self.now})

    def message(self, id: str, kind: str, text: str, **fields: Any) -> None:
        row = {"id": id, "timestamp": self.now, "type": kind, "content": [{"text": text}]}
        self.add(row | fields)

    def set(self, **changes: Any) -> None:
        self.add({"$set": changes})


class PiFile(_File):
    """A session of pi."""

    def __init__(self, folder: Path, session: str = "0a1b", cwd: str = "/srv/wood") -> None:
        super().__init__(folder / f"2026-11-14T12-00-00-000Z_{session}.jsonl")
        self.last: str | None = None
        header = {"type": "session", "version": 3, "id": session, "timestamp": self.now}
        self.add({**header, "cwd": cwd})

    def row(self, kind: str, **fields: Any) -> str:
        """An entry that follows the last one, unless told otherwise; its id is returned."""
        own = f"{self.rows:08x}"
        row = {"type": kind, "id": own, "parentId": self.last, "timestamp": self.now}
        self.add(row | fields)
        self.last = own
        return own

    def user(self, text: str) -> str:
        return self.row("message", message={"role": "user", "content": [text_block(text)]})

    def says(self, *blocks: Row | str, stop: str = "", **fields: Any) -> str:
        content = [text_block(block) if isinstance(block, str) else block for block in blocks]
        ends = stop or ("toolUse" if content[-1]["type"] == "toolCall" else "stop")
        told = {"role": "assistant", "content": content, "model": "m1", "stopReason": ends}
        usage = {"input": 10, "output": 5, "cacheRead": 90, "cacheWrite": 0}
        return self.row("message", message=told | {"usage": usage} | fields)

    def call(self, call: str, name: str = "bash", **args: Any) -> Row:
        return {"type": "toolCall", "id": call, "name": name, "arguments": args}

    def result(self, call: str, content: str = "done", *, error: bool = False) -> str:
        told = {"role": "toolResult", "toolCallId": call, "content": [text_block(content)]}
        return self.row("message", message=told | {"toolName": "bash", "isError": error})
