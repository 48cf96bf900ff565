"""How a tool call ended, as each program words it.

Claude Code puts `Exit code 1` before the output, Codex a few lines with `Process exited with code`
or JSON with `exit_code`, Gemini CLI a line `Exit Code:`, Sapwood's own shell `[exit status 1]` at
the end. What only the output itself says is no part of this.
"""

import re

import msgspec
from msgspec import Struct, structs

from sapwood.core.ledger.entries import Outcome
from sapwood.core.turn import Result

__all__ = ["Ended", "ended"]

_REFUSALS = (
    "The user doesn't want to proceed",
    "The user doesn't want to take this action",
    "[Request interrupted by user",
    "Claude requested permission",
    "exec command rejected by user",
    "patch rejected by user",
    "command rejected by user",
    "rejected by user",
    "[Operation Cancelled]",
)
_NOT_SEEN = ("[the transcript has no result", "[interrupted")
_HEAD = 600
# Patterns are compiled when the words that announce them are met.
_DENIED = r"(?:Error: )?Permission (?:to use|for) .{1,200} denied|\S+ did not run\. "
_AT_FIRST = r"\s*(?:<error>)?(?:Error: )?(?:Command failed with )?[Ee]xit code:? (-?\d+)\b[^\n]*\n?"
_CODEX = r"(?m)^Process exited with code (-?\d+)\s*$"
_CODEX_RUNS = r"(?m)^Process running with session ID (\S+)\s*$"
_CODEX_OUTPUT = r"(?m)^(?:Total output lines: \d+\n)?Output:[ \t]*\n"
_CLAUDE_RUNS = r"running in (?:the )?background(?: with ID)?:? *([\w-]*)"
_GEMINI = r"(?m)^Exit Code: (-?\d+|\(none\))\s*$"
_GEMINI_SIGNAL = r"(?m)^Signal: (?!\(none\)|0\s*$)\S+"
_GEMINI_OUTPUT = r"(?m)^(?:Output|Stdout): "
_TAG = r"<(?:exit_code|exitCode)>\s*(-?\d+)\s*<"
_OWN = r"\[(?:exit status (\d+)(?:, no output)?|(stopped after|ended by) [^\]\n]*)\]\s*\Z"
_STATUS = r"<status>\s*(running|completed|failed|killed)\s*<"


class Ended(Struct, frozen=True):
    """How a call ended. `handle` names a command that still runs in the background.

    `lines` are those that were added to a file and removed, where the program counted them.
    """

    outcome: Outcome
    exit_code: int | None = None
    output: str = ""
    refused: bool = False
    handle: str = ""
    lines: tuple[int, int] | None = None


def ended(result: Result | None) -> Ended:
    """How the call with this result ended; nobody knows while there is none.

    >>> ended(Result(1, "c", "Exit code 2\\nno such target", error=True)).exit_code
    2
    """
    if result is None:
        return Ended("unknown")
    text = result.content
    head = text[:_HEAD].lstrip()
    if head.startswith(_REFUSALS) or (_may_be_denied(head) and re.match(_DENIED, head)):
        return Ended("unknown", output=text, refused=True)
    if head.startswith(_NOT_SEEN):
        return Ended("unknown", output=text)
    how = _as_json(text) or _as_text(text, result.error)
    if result.added or result.removed:
        return structs.replace(how, lines=(result.added, result.removed))
    return how


def _may_be_denied(head: str) -> bool:
    return " did not run. " in head or "denied" in head


def _found(pattern: str, mark: str, text: str) -> re.Match[str] | None:
    """A pattern, looked for only where a part of it that is always the same stands."""
    return re.search(pattern, text) if mark in text else None


def _as_text(text: str, error: bool) -> Ended:
    head, tail = text[:_HEAD], text[-_HEAD:]
    if "xit code" in head[:60] and (found := re.match(_AT_FIRST, text)):
        return _coded(int(found[1]), _after(_CODEX_OUTPUT, text[found.end() :]))
    if found := _found(_CODEX, "Process exited", head):
        return _coded(int(found[1]), _after(_CODEX_OUTPUT, text))
    if found := _found(_CODEX_RUNS, "Process running", head):
        return Ended("unknown", output=_after(_CODEX_OUTPUT, text), handle=found[1])
    if found := _found(_TAG, "<exit", text):
        return _coded(int(found[1]), text)
    if found := _found(_STATUS, "<status>", head):
        how: dict[str, Outcome] = {"completed": "ok", "failed": "failed", "killed": "failed"}
        return Ended(how.get(found[1], "unknown"), output=text)
    if text.rstrip().endswith("]") and (found := re.search(_OWN, tail)):
        return _coded(int(found[1]), text) if found[1] else Ended("failed", output=text)
    if found := _found(_GEMINI, "Exit Code: ", tail):
        if found[1] != "(none)":
            return _coded(int(found[1]), _after(_GEMINI_OUTPUT, text))
        return Ended("failed" if re.search(_GEMINI_SIGNAL, text) else "unknown", output=text)
    if not error and (found := _found(_CLAUDE_RUNS, "background", text[:300])):
        return Ended("unknown", output=text, handle=found[1])
    return Ended("failed", output=text) if error else Ended("ok", 0, text)


class _Metadata(Struct):
    exit_code: int | None = None


class _Report(Struct):
    """A result that is JSON, in the forms that were seen."""

    output: str | None = None
    metadata: _Metadata | None = None
    exit_code: int | None = None
    exitCode: int | None = None  # noqa: N815 - as it is written
    returncode: int | None = None
    stdout: str = ""
    stderr: str = ""


def _as_json(text: str) -> Ended | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        report = msgspec.json.decode(text, type=_Report)
    except msgspec.MsgspecError:
        return None
    within = report.metadata.exit_code if report.metadata else None
    codes = (within, report.exit_code, report.exitCode, report.returncode)
    code = next((code for code in codes if code is not None), None)
    output = report.output if report.output is not None else report.stdout + report.stderr
    if code is not None:
        return _coded(code, output)
    return _as_text(report.output, error=False) if report.output is not None else None


def _coded(code: int, output: str) -> Ended:
    return Ended("failed" if code else "ok", code, output)


def _after(mark: str, text: str) -> str:
    found = re.search(mark, text[: _HEAD * 4])
    return text[found.end() :] if found else text
