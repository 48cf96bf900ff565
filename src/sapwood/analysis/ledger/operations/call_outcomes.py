"""How a tool call ended, read from the form in which each program reports it.

Claude Code writes `Exit code 1` before the output, Codex a few lines with `Process exited with
code` or JSON with `exit_code`, Gemini CLI a line `Exit Code:`, and Sapwood's own shell `[exit
status 1]` at the end. The output of the command itself is not interpreted here.
"""

import re
from collections.abc import Sequence

import msgspec
from msgspec import Struct, structs

from sapwood.analysis.ledger.entries import Outcome
from sapwood.analysis.ledger.operations.simple_commands import SimpleCommand, changes_folder
from sapwood.core.turn import Result

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
_NO_RESULT = ("[the transcript has no result", "[interrupted")
_HEAD = 600
# Patterns are texts: each is compiled only when a fixed part of it occurs in a result.
_DENIED = (
    r"(?:Error: )?Permission (?:to use|for) .{1,200} denied|\S+ (?:did not run\.|was blocked:) "
)
_LEADING_CODE = (
    r"\s*(?:<error>)?(?:Error: )?(?:Command failed with )?[Ee]xit code:? (-?\d+)\b[^\n]*\n?"
)
_CODEX = r"(?m)^Process exited with code (-?\d+)\s*$"
_CODEX_BACKGROUND = r"(?m)^Process running with session ID (\S+)\s*$"
_CODEX_OUTPUT = r"(?m)^(?:Total output lines: \d+\n)?Output:[ \t]*\n"
_CLAUDE_BACKGROUND = r"running in (?:the )?background(?: with ID)?:? *([\w-]*)"
_GEMINI = r"(?m)^Exit Code: (-?\d+|\(none\))\s*$"
_GEMINI_SIGNAL = r"(?m)^Signal: (?!\(none\)|0\s*$)\S+"
_GEMINI_OUTPUT = r"(?m)^(?:Output|Stdout): "
_TAGGED_CODE = r"<(?:exit_code|exitCode)>\s*(-?\d+)\s*<"
_SAPWOOD = r"\[(?:exit status (\d+)(?:, no output)?|(stopped after|ended by) [^\]\n]*)\]\s*\Z"
_EMPTY_OUTPUTS = ("(Bash completed with no output)", "(no output)", "(no content)")
_FALLBACKS = frozenset({"echo", "printf", "true", ":"})
_TAGGED_STATUS = r"<status>\s*(running|completed|failed|killed)\s*<"


class CallOutcome(Struct, frozen=True):
    """How a call ended. `handle` names a command that still runs in the background.

    `refused` if the user or a rule did not allow the call. `lines` are the counts of added and
    removed lines, if the program reported them.
    """

    status: Outcome
    exit_code: int | None = None
    output: str = ""
    refused: bool = False
    handle: str = ""
    lines: tuple[int, int] | None = None


def call_outcome(result: Result | None) -> CallOutcome:
    """Returns how the call with this result ended; unknown if there is no result.

    >>> call_outcome(Result(1, "c", "Exit code 2\\nno such target", error=True)).exit_code
    2
    """
    if result is None:
        return CallOutcome("unknown")
    text = result.content
    head = text[:_HEAD].lstrip()
    if head.startswith(_REFUSALS) or (_may_be_denied(head) and re.match(_DENIED, head)):
        return CallOutcome("unknown", output=text, refused=True)
    if head.startswith(_NO_RESULT):
        return CallOutcome("unknown", output=text)
    outcome = _from_json(text) or _from_text(text, result.error)
    if result.added or result.removed:
        return structs.replace(outcome, lines=(result.added, result.removed))
    return outcome


def _may_be_denied(head: str) -> bool:
    return " did not run. " in head or " was blocked: " in head or "denied" in head


def _found(pattern: str, mark: str, text: str) -> re.Match[str] | None:
    """Searches for a pattern, but only if its fixed part `mark` occurs in the text."""
    return re.search(pattern, text) if mark in text else None


def _from_text(text: str, error: bool) -> CallOutcome:
    head, tail = text[:_HEAD], text[-_HEAD:]
    if "xit code" in head[:60] and (found := re.match(_LEADING_CODE, text)):
        return _with_exit_code(int(found[1]), _after(_CODEX_OUTPUT, text[found.end() :]))
    if found := _found(_CODEX, "Process exited", head):
        return _with_exit_code(int(found[1]), _after(_CODEX_OUTPUT, text))
    if found := _found(_CODEX_BACKGROUND, "Process running", head):
        return CallOutcome("unknown", output=_after(_CODEX_OUTPUT, text), handle=found[1])
    if found := _found(_TAGGED_CODE, "<exit", text):
        return _with_exit_code(int(found[1]), text)
    if found := _found(_TAGGED_STATUS, "<status>", head):
        statuses: dict[str, Outcome] = {"completed": "ok", "failed": "failed", "killed": "failed"}
        return CallOutcome(statuses.get(found[1], "unknown"), output=text)
    if text.rstrip().endswith("]") and (found := re.search(_SAPWOOD, tail)):
        return (
            _with_exit_code(int(found[1]), text) if found[1] else CallOutcome("failed", output=text)
        )
    if found := _found(_GEMINI, "Exit Code: ", tail):
        if found[1] != "(none)":
            return _with_exit_code(int(found[1]), _after(_GEMINI_OUTPUT, text))
        return CallOutcome("failed" if re.search(_GEMINI_SIGNAL, text) else "unknown", output=text)
    if not error and (found := _found(_CLAUDE_BACKGROUND, "background", text[:300])):
        return CallOutcome("unknown", output=text, handle=found[1])
    return CallOutcome("failed", output=text) if error else CallOutcome("ok", 0, text)


class _Metadata(Struct):
    exit_code: int | None = None


class _Report(Struct):
    """A result in JSON, with the fields of all known programs."""

    output: str | None = None
    metadata: _Metadata | None = None
    exit_code: int | None = None
    exitCode: int | None = None  # noqa: N815 - the name in the JSON
    returncode: int | None = None
    stdout: str = ""
    stderr: str = ""


def _from_json(text: str) -> CallOutcome | None:
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
        return _with_exit_code(code, output)
    return _from_text(report.output, error=False) if report.output is not None else None


def _with_exit_code(code: int, output: str) -> CallOutcome:
    return CallOutcome("failed" if code else "ok", code, output)


def _after(mark: str, text: str) -> str:
    found = re.search(mark, text[: _HEAD * 4])
    return text[found.end() :] if found else text


def proves_read(
    commands: Sequence[SimpleCommand], index: int, outcome: CallOutcome, files: int
) -> bool:
    """Whether the command at an index of a line surely read all of its files.

    `cat notes.md 2>/dev/null` looks the same whether the file exists or not. The exit code or the
    output must prove that it was read.
    """
    command, rest = commands[index], commands[index + 1 :]
    if not command.silent:
        return True
    if outcome.status == "ok" and all(each.before == "&&" for each in rest):
        return True
    alone = files == 1 and all(changes_folder(each) for each in commands[:index])
    return alone and _is_file_output(rest, outcome.output.strip())


def _is_file_output(rest: Sequence[SimpleCommand], output: str) -> bool:
    """Whether the output is the content of the file, not the text of a fallback command."""
    if not output or output in _EMPTY_OUTPUTS:
        return False
    if all(each.before in ("|", "|&") for each in rest):
        return True
    [*pipe, last] = rest
    if last.before != "||" or not all(each.before in ("|", "|&") for each in pipe):
        return False
    texts = last.texts
    return texts[:1] != () and texts[0] in _FALLBACKS and output != " ".join(texts[1:]).strip()
