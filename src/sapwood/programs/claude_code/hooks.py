"""The hooks of Claude Code: when it compacts."""

from collections.abc import Mapping

from sapwood.programs.program import ProgramHooks

_WINDOW = "CLAUDE_CODE_AUTO_COMPACT_WINDOW"
_RESERVE = 33_000
"""Claude Code compacts this many tokens before the end of the window that its user set."""


def _compaction_limit(environ: Mapping[str, str]) -> int | None:
    value = environ.get(_WINDOW, "")
    return max(int(value) - _RESERVE, 1) if value.isdecimal() else None


HOOKS = ProgramHooks(_compaction_limit)
