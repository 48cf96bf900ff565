"""Sessions of programs in test files: the program adds turns, Sapwood appends its own rows.

Each file knows which turns the program would send next, so that a log can be compared with it.
"""

import json
from pathlib import Path
from typing import Any

from tests.programs.transcripts.writing import ClaudeFile, CodexFile


class ProgramFile:
    """A session's transcript, the turns that its model sees, and the text in front of them."""

    path: Path

    def __init__(self) -> None:
        self.view: list[str] = []
        self.front = ""

    def turn(self, name: str) -> None:
        """The program runs a turn after those in view."""
        raise NotImplementedError

    def rewind(self, count: int) -> None:
        """The program itself removes its last turns; a turn follows."""
        raise NotImplementedError

    def sync_session(self, names: list[str], front: str) -> tuple[str, ...]:
        """Sapwood appends rows that make this the history. Returns their keys."""
        raise NotImplementedError


class ClaudeSession(ProgramFile):
    """A transcript of Claude Code."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.file = ClaudeFile(folder)
        self.path = self.file.path
        self._rows: dict[str, list[str]] = {}

    def turn(self, name: str) -> None:
        file = self.file
        file.last = self._rows[self.view[-1]][-1] if self.view else file.last
        call = f"call-{name}"
        rows = [file.user(name), file.says(file.call(call, command=name)), file.result(call, "ok")]
        self._rows[name] = [*rows, file.says(f"Done {name}.")]
        self.view.append(name)

    def rewind(self, count: int) -> None:
        del self.view[len(self.view) - count :]

    def compact(self, summary: str, kept: int) -> None:
        """The program itself replaces its history but for the last turns by a summary."""
        names = self.view[len(self.view) - kept :]
        rows = [row for name in names for row in self._rows[name]]
        name = f"own-{self.file.rows}"
        preserved = {"anchorUuid": f"{name}-text", "uuids": rows, "allUuids": rows}
        metadata: dict[str, Any] = {"trigger": "auto", "preTokens": 1000}
        if kept:
            metadata["preservedMessages"] = preserved
        self.file.row(
            "system",
            subtype="compact_boundary",
            uuid=name,
            parentUuid=None,
            content="Conversation compacted",
            compactMetadata=metadata,
        )
        self.file.row(
            "user",
            uuid=f"{name}-text",
            parentUuid=name,
            isCompactSummary=True,
            message={"role": "user", "content": summary},
        )
        self.view, self.front, self.file.last = names, summary, f"{name}-text"

    def sync_session(self, names: list[str], front: str) -> tuple[str, ...]:
        file = self.file
        boundary = f"boundary-{file.rows}"
        summary = f"summary-{file.rows}"
        kept = [row for name in names for row in self._rows[name]]
        preserved = {"anchorUuid": summary if front else boundary, "uuids": kept, "allUuids": kept}
        metadata = {"trigger": "manual", "preTokens": 1000, "preservedMessages": preserved}
        file.row(
            "system",
            subtype="compact_boundary",
            uuid=boundary,
            parentUuid=None,
            content="Trimmed by Sapwood",
            writtenBy="sapwood",
            compactMetadata=metadata,
        )
        self.view, self.front = list(names), front
        file.last = boundary
        if not front:
            return (boundary,)
        file.row(
            "user",
            uuid=summary,
            parentUuid=boundary,
            isCompactSummary=True,
            message={"role": "user", "content": front},
        )
        file.last = summary
        return boundary, summary


class CodexSession(ProgramFile):
    """A rollout of Codex, with the files that it begins after a revert."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._thread = "01a1e0eb-8813-7583-9b11-411efef3d821"
        self._segments = 0
        self._segment = ""
        self.file = CodexFile(folder, self._thread)
        self.path = self.file.path
        self._items: dict[str, list[dict[str, Any]]] = {}
        self._places: dict[str, tuple[str, int]] = {}
        self._before: dict[str, tuple[list[str], str]] = {}

    def turn(self, name: str) -> None:
        call = f"call-{name}"
        self._places[name] = self._segment or self._thread, self.file.path.stat().st_size
        self._before[name] = list(self.view), self.front
        self.file.event("task_started")
        self._items[name] = [
            _message("user", name),
            {
                "type": "function_call",
                "name": "exec_command",
                "arguments": json.dumps({"command": name}),
                "call_id": call,
            },
            {"type": "function_call_output", "call_id": call, "output": "ok"},
            _message("assistant", f"Done {name}."),
        ]
        for item in self._items[name]:
            self.file.row("response_item", **item)
        self.file.event("task_complete")
        self.view.append(name)

    def rewind(self, count: int) -> None:
        """Goes on in a segment, as the program does after `thread/revert`: with all that was in
        view before the turn, also if a row of Sapwood came later.
        """
        first = self.view[len(self.view) - count]
        base, offset = self._places[first]
        view, self.front = self._before[first]
        self.view = list(view)
        self._segments += 1
        self._segment = f"01a1e0eb-8a68-79f1-9f2f-{self._segments:012x}"
        rows = self.file.rows
        self.file = CodexFile.__new__(CodexFile)
        self.file.path = self._folder / (
            f"rollout-2026-11-14T12-{self._segments:02}-00-{self._thread}_{self._segment}.jsonl"
        )
        self.file.rows = rows
        self.file.path.touch()
        self.path = self.file.path
        self.file.row(
            "session_meta",
            id=self._thread,
            cwd="/srv/wood",
            history_base={"thread_id": base, "end_byte_offset": offset},
        )

    def sync_session(self, names: list[str], front: str) -> tuple[str, ...]:
        items = [_message("user", "<environment_context>db</environment_context>")]
        items += [_message("user", front)] if front else []
        items += [item for name in names for item in self._items[name]]
        key = f"{self._segment}@{self.file.path.stat().st_size}"
        self.file.row("compacted", message="", replacement_history=items)
        self.view, self.front = list(names), front
        return (key,)


def _message(role: str, text: str) -> dict[str, Any]:
    kind = "input_text" if role == "user" else "output_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
