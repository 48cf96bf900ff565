"""The number of tokens at which a program compacts: its user's setting or the model's window."""

import os
import re
from collections.abc import Mapping

from sapwood.context_actions.hook_memory import HookMemory

_CLAUDE_WINDOW = "CLAUDE_CODE_AUTO_COMPACT_WINDOW"
_CLAUDE_RESERVE = 33_000
"""Claude Code compacts this many tokens before the end of the window that its user set."""
_CODEX_LIMIT = re.compile(rb"^\s*model_auto_compact_token_limit\s*=\s*([0-9_]+)", re.MULTILINE)


def compaction_limit(
    program: str, window: int | None, memory: HookMemory, environ: Mapping[str, str]
) -> int | None:
    """The tokens at which the program compacts, else its window; None if neither is known.

    Remembers the number, so that `sapwood context` shows the same one.
    """
    known = window or memory.number("window") or None
    limit = _codex_limit(environ) if program == "codex" else _claude_limit(environ)
    if limit is None or known is None:
        found = limit or known
    else:
        found = min(limit, known)
    if found and found != memory.number("limit"):
        memory.put("limit", found)
    return found


def _claude_limit(environ: Mapping[str, str]) -> int | None:
    value = environ.get(_CLAUDE_WINDOW, "")
    return max(int(value) - _CLAUDE_RESERVE, 1) if value.isdecimal() else None


def _codex_limit(environ: Mapping[str, str]) -> int | None:
    home = environ.get("CODEX_HOME") or os.path.expanduser("~/.codex")
    try:
        with open(os.path.join(home, "config.toml"), "rb") as file:
            found = _CODEX_LIMIT.search(file.read())
    except OSError:
        return None
    return int(found[1].replace(b"_", b"")) if found else None
