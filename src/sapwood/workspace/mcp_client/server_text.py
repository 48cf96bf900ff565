"""Text and names that a server chose, for messages, which are printed and logged."""

import re
from collections.abc import Sequence

_MAX_TEXT = 300
_MAX_NAME = 80
_MAX_NAMES = 30
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_./:-]{1,80}")


def one_line(text: str, limit: int = _MAX_TEXT) -> str:
    """The text on one line, without control characters, cut to a length.

    >>> one_line("timber!\\r\\n\\x1b[2J  FORGED: ok")
    'timber! [2J FORGED: ok'
    """
    shown = "".join(char if char.isprintable() else " " for char in text[: 4 * limit])
    line = " ".join(shown.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def shown_name(name: str) -> str:
    """The name as it can stand in a sentence: in quotes, unless it is a plain word.

    >>> shown_name("search"), shown_name("t\\nFORGED: ok")
    ('search', "'t\\\\nFORGED: ok'")
    """
    if _PLAIN_NAME.fullmatch(name):
        return name
    cut = name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 1]}…"
    return repr(cut)


def shown_names(names: Sequence[str]) -> str:
    """The names in order, with commas; the first of many."""
    shown = ", ".join(map(shown_name, sorted(names)[:_MAX_NAMES]))
    more = f" and {len(names) - _MAX_NAMES:,} more" if len(names) > _MAX_NAMES else ""
    return f"{shown}{more}" or "none"
