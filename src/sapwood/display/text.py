"""Text for a terminal: shows control characters, cuts, wraps, and lists entries."""

import textwrap
import unicodedata
from collections.abc import Iterable

from sapwood.display.visible_text import readable


def plain(text: str) -> str:
    """Shows control characters instead of obeying them; see `readable`.

    >>> plain("\\x1b[31mred\\ttab\\x07")
    '␛[31mred\\ttab␇'
    """
    return readable(text)


def one_line(text: str) -> str:
    """Joins all lines of a text into one.

    >>> one_line("two\\n  lines")
    'two lines'
    """
    return " ".join(plain(text).split())


def width_of(text: str) -> int:
    """Returns the width of a text in columns.

    >>> width_of("abc"), width_of("日本")
    (3, 4)
    """
    return sum(0 if unicodedata.combining(char) else 2 if _is_wide(char) else 1 for char in text)


def cut(text: str, width: int) -> str:
    """Cuts a text to one line of at most `width` columns.

    >>> cut("a long\\nstory", 7)
    'a long…'
    """
    line = one_line(text)
    if width_of(line) <= width:
        return line
    kept, used = "", 1
    for char in line:
        used += 2 if _is_wide(char) else 1
        if used > width:
            break
        kept += char
    return kept.rstrip() + "…"


def padded(text: str, width: int) -> str:
    """Appends spaces up to a width."""
    return text + " " * max(0, width - width_of(text))


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Wraps a text to lines of at most `width` columns. Its own line breaks stay.

    >>> wrapped("one two three", 9, "  ")
    ['  one two', '  three']
    """
    lines: list[str] = []
    for line in plain(text).expandtabs(4).split("\n"):
        room = max(width, len(indent) + 10)
        if width_of(line) + len(indent) <= room:
            lines.append(f"{indent}{line}".rstrip())
            continue
        own = indent + line[: len(line) - len(line.lstrip())]
        lines += textwrap.wrap(
            line.strip(), room, initial_indent=own, subsequent_indent=own, break_on_hyphens=False
        )
    return lines


def indented(text: str, indent: str) -> list[str]:
    """Indents every line of a text, without wrapping."""
    return [f"{indent}{line}".rstrip() for line in plain(text).split("\n")]


def _is_wide(char: str) -> bool:
    return char > "\u10ff" and unicodedata.east_asian_width(char) in "WF"


def section(title: str, found: Iterable[str], width: int) -> list[str]:
    """Returns a title with its entries below; no lines if there are no entries.

    >>> section("Files", ["a.py"], 40)
    ['Files', '  - a.py', '']
    """
    lines = entries(found, width)
    return [title, *lines, ""] if lines else []


def entries(found: Iterable[str], width: int, indent: str = "  ") -> list[str]:
    """Returns entries with dashes in front, wrapped and indented."""
    lines: list[str] = []
    for each in found:
        first, *rest = wrapped(" ".join(each.split()), width - 2, indent) or [indent]
        lines += [f"{indent}- {first.strip()}", *(f"  {line}" for line in rest)]
    return lines
