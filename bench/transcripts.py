"""Generates transcripts of any size, similar to real ones.

A Claude Code transcript consists mostly of tool results. Each is stored twice: once as the model
saw it, and once for the program itself, with the whole file around an edit. Between them are rows
of a kilobyte each with little content. The files that are read and edited here are those of this
repository, so that masking and counting work on realistic text.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[1]
_CWD = "/srv/wood"
_USAGE = {
    "input_tokens": 12,
    "cache_creation_input_tokens": 1800,
    "cache_read_input_tokens": 64_000,
    "output_tokens": 240,
    "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
    "service_tier": "standard",
    "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 1800},
}
Row = dict[str, Any]


def write_claude(path: Path, size: int, seed: int = 7, *, compact_every: int = 0) -> int:
    """Writes a Claude Code transcript of about this many bytes; returns the number of turns.

    With `compact_every`, it is compacted after so many turns, and files are read more often than
    they are edited.
    """
    return _write(path, size, _Claude(seed).turns(compact_every))


def write_codex(path: Path, size: int, seed: int = 7, *, compact_every: int = 0) -> int:
    """Writes a Codex rollout of about this many bytes; returns the number of turns."""
    return _write(path, size, _Codex(seed).turns(compact_every))


def _write(path: Path, size: int, turns: Iterator[list[Row]]) -> int:
    written = count = 0
    with path.open("wb") as file:
        for rows in turns:
            count += 1
            for row in rows:
                text = json.dumps(row, separators=(",", ":"), ensure_ascii=False)
                written += file.write(text.encode() + b"\n")
            if written >= size:
                return count
    raise AssertionError("turns never end")


def _files() -> list[tuple[str, str]]:
    paths = sorted((_ROOT / "src").rglob("*.py"))
    found = [(f"{_CWD}/{path.relative_to(_ROOT)}", path.read_text("utf-8")) for path in paths]
    return [(name, text) for name, text in found if len(text) > 500]


class _Program:
    """Random numbers, ids and files for writing a transcript."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.files = _files()
        self.number = 0

    def uuid(self) -> str:
        self.number += 1
        text = f"{self.random.getrandbits(128):032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def now(self) -> str:
        seconds = self.number % 86_400
        return f"2026-11-14T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.000Z"

    def output(self) -> str:
        """What a test run prints."""
        names = [name for name, _ in self.random.sample(self.files, 40)]
        return "\n".join(f"{name} {'.' * 40} [{n:>3}%]" for n, name in enumerate(names))


class _Claude(_Program):
    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._session = self.uuid()
        self._last: str | None = None

    def turns(self, compact_every: int) -> Iterator[list[Row]]:
        count = 0
        while True:
            count += 1
            rows = [self._user("Look into it, change what has to be changed, and run the tests.")]
            rows += [self._attachment() for _ in range(4)]
            for place in range(3):
                name, text = self.random.choice(self.files)
                rows += self._read(name, text)
                rows += self._edit(name, text) if not place or not compact_every else ()
                rows += self._run()
            rows.append(self._says([{"type": "text", "text": "All is green now. " * 20}]))
            if compact_every and count % compact_every == 0:
                rows += self._compaction()
            yield rows

    def _compaction(self) -> list[Row]:
        metadata = {"trigger": "auto", "preTokens": 160_000, "postTokens": 9_000}
        self._last = None
        boundary = self._row("system", subtype="compact_boundary", compactMetadata=metadata)
        return [boundary, self._user("The work so far. " * 300, isCompactSummary=True)]

    def _row(self, kind: str, **fields: Any) -> Row:
        uuid, parent = self.uuid(), self._last
        self._last = uuid
        around = {
            "userType": "external",
            "entrypoint": "cli",
            "cwd": _CWD,
            "sessionId": self._session,
            "version": "2.1.325",
            "gitBranch": "main",
            "slug": "gleaming-fluttering-dahl",
        }
        head = {"parentUuid": parent, "isSidechain": False}
        return head | fields | {"type": kind, "uuid": uuid, "timestamp": self.now()} | around

    def _user(self, content: Any, **fields: Any) -> Row:
        return self._row("user", message={"role": "user", "content": content}, **fields)

    def _attachment(self) -> Row:
        attachment = {"type": "hook_success", "hookName": "PostToolUse", "content": "ok " * 60}
        return self._row("attachment", attachment=attachment)

    def _says(self, content: list[Row], stop: str = "end_turn") -> Row:
        message = {
            "id": f"msg_{self.uuid()}",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": content,
            "stop_reason": stop,
            "usage": _USAGE,
        }
        return self._row("assistant", message=message, requestId=self.uuid())

    def _call(self, name: str, **args: Any) -> tuple[list[Row], str]:
        call = f"toolu_{self.uuid()}"
        use = {"type": "tool_use", "id": call, "name": name, "input": args}
        thought = {"type": "thinking", "thinking": "Next I look. " * 10, "signature": "Ab9+" * 150}
        return [self._says([thought], "tool_use"), self._says([use], "tool_use")], call

    def _result(self, call: str, content: str, outcome: Row) -> list[Row]:
        block = {"tool_use_id": call, "type": "tool_result", "content": content}
        return [self._user([block], toolUseResult=outcome), self._attachment()]

    def _read(self, name: str, text: str) -> list[Row]:
        rows, call = self._call("Read", file_path=name)
        lines = text.splitlines()
        shown = "\n".join(f"{n:>6}\t{line}" for n, line in enumerate(lines, 1))
        file = {"filePath": name, "content": text, "numLines": len(lines), "startLine": 1}
        return rows + self._result(call, shown, {"type": "text", "file": file})

    def _edit(self, name: str, text: str) -> list[Row]:
        old = text[200:500]
        rows, call = self._call("Edit", file_path=name, old_string=old, new_string=old.upper())
        hunk = {"oldStart": 5, "lines": [f"-{old[:80]}", f"+{old[:80].upper()}"]}
        outcome = {"filePath": name, "originalFile": text, "structuredPatch": [hunk]}
        return rows + self._result(call, f"The file {name} has been updated.", outcome)

    def _run(self) -> list[Row]:
        rows, call = self._call("Bash", command="just test", description="Run the tests")
        output = self.output()
        return rows + self._result(call, output, {"stdout": output, "stderr": ""})


class _Codex(_Program):
    def turns(self, compact_every: int) -> Iterator[list[Row]]:
        count = 0
        meta = {"id": self.uuid(), "cwd": _CWD, "cli_version": "0.166.0"}
        rows = [self._row("session_meta", **meta), self._row("turn_context", model="gpt-5-codex")]
        while True:
            count += 1
            rows.append(self._message("user", "Look into it, and run the tests."))
            for _ in range(4):
                name, text = self.random.choice(self.files)
                read = f"cat {name}" if compact_every else "cat file.py"
                rows += self._run(read, text) + self._run("just test", self.output())
            rows.append(self._message("assistant", "All is green now. " * 20))
            rows.append(self._row("event_msg", type="task_complete"))
            if compact_every and count % compact_every == 0:
                rows.append(self._row("compacted", message="The work so far. " * 300))
            yield rows
            rows = []

    def _row(self, kind: str, **payload: Any) -> Row:
        self.number += 1
        return {"timestamp": self.now(), "type": kind, "payload": payload}

    def _message(self, role: str, text: str) -> Row:
        kind = "output_text" if role == "assistant" else "input_text"
        content = [{"type": kind, "text": text}]
        return self._row("response_item", type="message", role=role, content=content)

    def _run(self, command: str, output: str) -> list[Row]:
        call, args = f"call_{self.uuid()}", json.dumps({"cmd": command})
        shown = f"Wall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n{output}"
        item = {"type": "CommandExecution", "id": call, "aggregated_output": output}
        tokens = {"input_tokens": 60_000, "cached_input_tokens": 50_000, "output_tokens": 80}
        return [
            self._row(
                "response_item", type="reasoning", summary=[], encrypted_content="gAAA" * 300
            ),
            self._row(
                "response_item",
                type="function_call",
                name="exec_command",
                arguments=args,
                call_id=call,
            ),
            self._row("event_msg", type="item_completed", item=item),
            self._row("response_item", type="function_call_output", call_id=call, output=shown),
            self._row(
                "event_msg",
                type="token_count",
                info={"last_token_usage": tokens, "model_context_window": 272_000},
            ),
        ]
