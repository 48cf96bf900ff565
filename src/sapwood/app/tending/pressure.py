"""Where a program will compact: what it said itself, what its user set, or what the model takes."""

import os
import re
from collections.abc import Mapping

from sapwood.app.tending.memory import Memory

__all__ = ["limit_of"]

_CLAUDE_WINDOW = "CLAUDE_CODE_AUTO_COMPACT_WINDOW"
_CLAUDE_RESERVE = 33_000
"""Claude Code compacts so many tokens before the end of the window that its user set."""
_CODEX_LIMIT = re.compile(rb"^\s*model_auto_compact_token_limit\s*=\s*([0-9_]+)", re.MULTILINE)


def limit_of(
    program: str, window: int | None, memory: Memory, environ: Mapping[str, str]
) -> int | None:
    """Tokens at which the program compacts, or its window; None where neither is known."""
    known = window or memory.number("window") or None
    set_to = _codex_limit(environ) if program == "codex" else _claude_limit(environ)
    if set_to is None:
        return known
    return min(set_to, known) if known else set_to


def _claude_limit(environ: Mapping[str, str]) -> int | None:
    given = environ.get(_CLAUDE_WINDOW, "")
    return max(int(given) - _CLAUDE_RESERVE, 1) if given.isdecimal() else None


def _codex_limit(environ: Mapping[str, str]) -> int | None:
    home = environ.get("CODEX_HOME") or os.path.expanduser("~/.codex")
    try:
        with open(os.path.join(home, "config.toml"), "rb") as file:
            found = _CODEX_LIMIT.search(file.read())
    except OSError:
        return None
    return int(found[1].replace(b"_", b"")) if found else None
