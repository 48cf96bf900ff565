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

_REFUSED = re.compile(
    r"\s*(?:The user doesn't want to (?:proceed|take this action)"
    r"|\[Request interrupted by user"
    r"|(?:Error: )?Permission (?:to use|for) .{1,200} (?:denied|been denied)"
    r"|Claude requested permissions? to"
    r"|\S+ did not run\. "
    r"|(?:exec command |patch |command )?rejected by (?:the )?user"
    r"|\[Operation Cancelled\])"
)
_NOT_SEEN = re.compile(r"\s*\[(?:the transcript has no result|interrupted)")
_HEAD = 600
_AT_FIRST = re.compile(
    r"\A\s*(?:<error>)?(?:Error: )?(?:Command failed with )?Exit code:? (-?\d+)\b[^\n]*\n?", re.I
)
_CODEX = re.compile(r"^Process exited with code (-?\d+)\s*$", re.M)
_CODEX_RUNS = re.compile(r"^Process running with session ID (\S+)\s*$", re.M)
_CODEX_OUTPUT = re.compile(r"^(?:Total output lines: \d+\n)?Output:[ \t]*\n", re.M)
_CLAUDE_RUNS = re.compile(r"running in (?:the )?background(?: with ID)?:? *([\w-]*)", re.I)
_GEMINI = re.compile(r"^Exit Code: (-?\d+|\(none\))\s*$", re.M)
_GEMINI_SIGNAL = re.compile(r"^Signal: (?!\(none\)|0\s*$)\S+", re.M)
_GEMINI_OUTPUT = re.compile(r"^(?:Output|Stdout): ", re.M)
_TAG = re.compile(r"<(?:exit_code|exitCode)>\s*(-?\d+)\s*<")
_OWN = re.compile(
    r"\[(?:exit status (\d+)(?:, no output)?|(stopped after|ended by) [^\]\n]*)\]\s*\Z"
)
_STATUS = re.compile(r"<status>\s*(running|completed|failed|killed)\s*<")


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
    if _REFUSED.match(text):
        return Ended("unknown", output=text, refused=True)
    if _NOT_SEEN.match(text):
        return Ended("unknown", output=text)
    how = _as_json(text) or _as_text(text, result.error)
    if result.added or result.removed:
        return structs.replace(how, lines=(result.added, result.removed))
    return how


def _as_text(text: str, error: bool) -> Ended:
    head = text[:_HEAD]
    if found := _AT_FIRST.match(text):
        return _coded(int(found[1]), _after(_CODEX_OUTPUT, text[found.end() :]))
    if found := _CODEX.search(head):
        return _coded(int(found[1]), _after(_CODEX_OUTPUT, text))
    if found := _CODEX_RUNS.search(head):
        return Ended("unknown", output=_after(_CODEX_OUTPUT, text), handle=found[1])
    if found := _TAG.search(text):
        return _coded(int(found[1]), text)
    if found := _STATUS.search(head):
        how: dict[str, Outcome] = {"completed": "ok", "failed": "failed", "killed": "failed"}
        return Ended(how.get(found[1], "unknown"), output=text)
    if found := _OWN.search(text[-200:]):
        return _coded(int(found[1]), text) if found[1] else Ended("failed", output=text)
    if found := _GEMINI.search(text[-_HEAD:]):
        if found[1] != "(none)":
            return _coded(int(found[1]), _after(_GEMINI_OUTPUT, text))
        return Ended("failed" if _GEMINI_SIGNAL.search(text) else "unknown", output=text)
    if not error and (found := _CLAUDE_RUNS.search(text[:300])):
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


def _after(mark: re.Pattern[str], text: str) -> str:
    found = mark.search(text[: _HEAD * 4])
    return text[found.end() :] if found else text
