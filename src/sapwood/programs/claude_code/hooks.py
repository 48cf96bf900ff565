"""The hooks of Claude Code: when it compacts."""

import re
from collections.abc import Mapping

from sapwood.programs.claude_code.program import PROGRAM
from sapwood.programs.program import ProgramHooks, number_in

_VARIABLE = "CLAUDE_CODE_AUTO_COMPACT_WINDOW"
_WINDOW, _ENABLED = "autoCompactWindow", "autoCompactEnabled"
_SET = re.compile(rb'"autoCompactWindow"\s*:\s*([1-9][0-9]{0,11})(?!\w)')
_RESERVE = 33_000
"""Claude Code compacts this many tokens before the end of the window that its user set."""
_SMALLEST, _LARGEST = 100_000, 1_000_000


def _compaction_limit(environ: Mapping[str, str], folder: str) -> int | None:
    value = environ.get(_VARIABLE, "")
    if not value.isdecimal():
        files = PROGRAM.project_file(folder), PROGRAM.home(environ) / "settings.json"
        value = number_in(files, _SET)
    return max(int(value) - _RESERVE, 1) if value else None


def _compaction_values(at: int, automatic: bool) -> tuple[dict[str, int | bool], str]:
    values: dict[str, int | bool] = {} if automatic else {_ENABLED: False}
    if not at:
        return values, ""
    window = min(max(at + _RESERVE, _SMALLEST), _LARGEST)
    note = ""
    if window != at + _RESERVE:
        note = f"Claude Code cannot compact at {at:,} tokens. It will at {window - _RESERVE:,}."
    return {**values, _WINDOW: window}, note


HOOKS = ProgramHooks(_compaction_limit, _compaction_values, takes_words=True)
