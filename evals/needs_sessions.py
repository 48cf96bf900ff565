"""Reads the planted needs of `evals/needs`, and writes each session as its program would.

A file is one session. Its first line is the program and the folder; then one line for each row:

    > TEXT                     a prompt, which begins a turn; turns are counted from 1
    < TEXT                     a reply
    TOOL ARGUMENT => RESULT    a tool call; `! N` after it: its result stood in turn N and left view
    compact [keep N]           a compaction, which may keep the last N turns as they are
    rewind N                   the next prompt follows turn N
    subagent TOOL …            a call of a subagent
    attach PATH => RESULT      a file that Claude Code shows again after a compaction

A result is `NAME*LINES`: so many invented lines. `/K` changes every Kth of them, and `[A:B]` is a
part of them. `written RESULT` is a file that the call writes. `@FOLDER` before the argument is the
folder of a call, `A-B` after it the lines that are read.
"""

import hashlib
import re
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from tests.programs.transcripts.writing import ClaudeFile, CodexFile

FOLDER = Path(__file__).parent / "needs"
NeedSet = Literal["tuned", "held_out"]
SETS: tuple[NeedSet, ...] = ("tuned", "held_out")

_TEXT = re.compile(r"(?P<name>[\w-]+)\*(?P<lines>\d+)(?:/(?P<changed>\d+))?(?:\[(\d+):(\d+)\])?")
_CALL = re.compile(r"(?P<tool>\S+) (?:@(?P<folder>\S+) )?(?P<about>.*) => (?P<result>.*)")
_LINES = re.compile(r"(.*) (\d+)-(\d+)")
_SHELLS = ("Bash", "exec_command")
_NAMES = {"Grep": "pattern", "Glob": "pattern", "WebFetch": "url", "mcp__db__query": "sql"}
_WORDS = "value order state limit row index node page token cache reader writer queue retry".split()


class PlantedNeed(Struct, frozen=True):
    """A call that fetches what stood in turn `left`; `call` is its id in the transcript."""

    call: str
    left: int


class PlantedSession(Struct, frozen=True):
    """A session that was written to a file, and all needs in it."""

    name: str
    source: str
    path: Path
    needs: tuple[PlantedNeed, ...]


def write_set(chosen: NeedSet, folder: Path) -> list[PlantedSession]:
    """Writes the transcripts of a set below a folder."""
    return [_write(path, folder / path.stem) for path in sorted((FOLDER / chosen).glob("*.txt"))]


def _write(path: Path, folder: Path) -> PlantedSession:
    head, *lines = path.read_text("utf-8").splitlines()
    source, cwd = head.split()
    writer = _Claude(folder, cwd) if source == "claude-code" else _Codex(folder, cwd)
    needs: list[PlantedNeed] = []
    for number, line in enumerate(lines):
        line, _, left = line.partition(" ! ")
        _write_line(writer, line, f"call_{number}")
        if left:
            needs.append(PlantedNeed(f"call_{number}", int(left)))
    return PlantedSession(path.stem, source, writer.path, tuple(needs))


def _write_line(writer: "_Claude | _Codex", line: str, call: str) -> None:
    first, _, rest = line.partition(" ")
    match first:
        case ">":
            writer.prompt(rest)
        case "<":
            writer.reply(rest)
        case "compact":
            writer.compact(int(rest.removeprefix("keep ") or 0))
        case "rewind":
            writer.rewind(int(rest))
        case "subagent" | "attach":
            tool = rest if first == "subagent" else f"Read {rest}"
            writer.aside(first, *_parsed(tool), call)
        case _:
            writer.call(*_parsed(line), call)


class _Call(Struct, frozen=True):
    tool: str
    folder: str
    about: str
    first: int
    last: int


def _parsed(line: str) -> tuple[_Call, str, str]:
    """The call, what it writes, and its result."""
    found = _CALL.fullmatch(line)
    assert found is not None, line
    about, first, last = found["about"], 0, 0
    if found["tool"] == "Read" and (part := _LINES.fullmatch(about)):
        about, first, last = part[1], int(part[2]), int(part[3])
    call = _Call(found["tool"], found["folder"] or "", about, first, last)
    given = found["result"]
    if given.startswith("written "):
        return call, invented(given.removeprefix("written ")), "File created successfully"
    known = {"done": "The file has been updated.", "empty": ""}
    return call, "", known[given] if given in known else invented(given)


def invented(given: str) -> str:
    """The lines that an expression such as `cart*60/2` means.

    >>> invented("cart*3") == invented("cart*3"), invented("cart*9[3:5]").count(chr(10))
    (True, 1)
    """
    found = _TEXT.fullmatch(given)
    assert found is not None, given
    every = int(found["changed"] or 0)
    lines = [
        _line(found["name"], number, bool(every) and number % every == 0)
        for number in range(int(found["lines"]))
    ]
    return "\n".join(lines[int(found[4]) : int(found[5])] if found[4] else lines)


def _line(name: str, number: int, changed: bool) -> str:
    """An invented line; some are those that stand in every file."""
    if number % 11 == 7 and not changed:
        return ("", "}", "import os", "    return None")[number % 4]
    digest = hashlib.sha256(f"{name} {number} {changed}".encode()).digest()
    words = [_WORDS[byte % len(_WORDS)] for byte in digest[: 4 + digest[0] % 5]]
    return f"{name}_{digest[1]:x} = {' '.join(words)} {digest[2]}"


class _Claude:
    """Writes a session of Claude Code."""

    def __init__(self, folder: Path, cwd: str) -> None:
        self._cwd = cwd
        self._file = ClaudeFile(folder, session="5e550000-0000-4000-8000-000000000001", cwd=cwd)
        self._turns: list[list[str]] = []
        self._parent: str | None = None
        self.path = self._file.path

    def prompt(self, text: str) -> None:
        if self._parent:
            self._file.last, self._parent = self._parent, None
        self._turns.append([self._file.user(text)])

    def reply(self, text: str) -> None:
        self._turns[-1].append(self._file.says(text))

    def call(self, call: _Call, written: str, result: str, name: str) -> None:
        self._turns[-1] += self._rows(call, written, result, name)

    def _rows(
        self, call: _Call, written: str, result: str, name: str, **fields: Any
    ) -> tuple[str, str]:
        args = self._arguments(call, written)
        if call.tool == "Read":
            rows = enumerate(result.split("\n"), start=call.first or 1)
            result = "\n".join(f"{number:>6}→{line}" for number, line in rows)
        asked = self._file.says(self._file.call(name, call.tool, **args), **fields)
        return asked, self._file.result(name, result, **fields)

    def _arguments(self, call: _Call, written: str) -> dict[str, Any]:
        if call.tool in _SHELLS:
            return {"command": call.about}
        if call.tool in _NAMES:
            return {_NAMES[call.tool]: call.about} | ({"path": call.folder} if call.folder else {})
        path = str(Path(self._cwd, call.about))
        match call.tool:
            case "Write":
                return {"file_path": path, "content": written}
            case "Edit":
                return {"file_path": path, "old_string": "old", "new_string": "new"}
            case "MultiEdit":
                return {"file_path": path, "edits": [{"old_string": "old", "new_string": "new"}]}
            case _:
                part = {"offset": call.first, "limit": call.last - call.first} if call.last else {}
                return {"file_path": path, **part}

    def aside(self, what: str, call: _Call, written: str, result: str, name: str) -> None:
        if what == "subagent":
            fields = {"isSidechain": True, "agentId": "a1"}
            self._rows(call, written, result, name, **fields)
            return
        path = str(Path(self._cwd, call.about))
        content = {"type": "text", "file": {"filePath": path, "content": result}}
        attachment = {"type": "file", "filename": path, "content": content}
        self._file.row("attachment", attachment=attachment)

    def compact(self, keep: int) -> None:
        kept = [row for turn in self._turns[len(self._turns) - keep :] for row in turn]
        metadata: dict[str, Any] = {"trigger": "auto", "preTokens": 100_000, "postTokens": 4_000}
        if keep:
            metadata["preservedMessages"] = {"uuids": kept}
        self._file.last = None
        self._file.row(
            "system", subtype="compact_boundary", content="compacted", compactMetadata=metadata
        )
        self._file.user("This session continues. Summary: work was done.", isCompactSummary=True)

    def rewind(self, to: int) -> None:
        self._parent = self._turns[to - 1][-1]


class _Codex:
    """Writes a rollout of Codex."""

    def __init__(self, folder: Path, cwd: str) -> None:
        self._file = CodexFile(folder, session="01a10000-0000-7000-8000-000000000001", cwd=cwd)
        self._asked: list[str] = []
        self.path = self._file.path

    def prompt(self, text: str) -> None:
        self._file.event("task_started", model_context_window=200_000)
        self._file.user(text)
        self._asked.append(text)

    def reply(self, text: str) -> None:
        self._file.says(text)
        self._file.event("task_complete")

    def call(self, call: _Call, written: str, result: str, name: str) -> None:
        if call.tool == "apply_patch":
            head, tail = "*** Begin Patch\n*** Update File: ", "\n@@\n-old\n+new\n*** End Patch"
            patch = f"{head}{call.about}{tail}"
            self._file.item("custom_tool_call", name="apply_patch", input=patch, call_id=name)
            done = "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following"
            self._file.item(
                "custom_tool_call_output", call_id=name, output=f"{done} files:\nM {call.about}\n"
            )
            return
        folder = {"workdir": call.folder} if call.folder else {}
        self._file.call(name, call.tool, cmd=call.about, **folder)
        clock = f"Chunk ID: {name}\nWall time: 0.{self._file.rows:04} seconds"
        head = f"{clock}\nProcess exited with code 0\nOriginal token count: {len(result) // 4}"
        self._file.result(name, f"{head}\nOutput:\n{result}\n")

    def aside(self, what: str, call: _Call, written: str, result: str, name: str) -> None:
        raise NotImplementedError(f"{what} is a row of Claude Code")

    def compact(self, keep: int) -> None:
        summary = "Summary: work was done."
        history = [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
            for text in (*self._asked, summary)
        ]
        self._file.row("compacted", message=summary, replacement_history=history)

    def rewind(self, to: int) -> None:
        raise NotImplementedError("rewind is a row of Claude Code")
