"""A title with entries below it, each on lines of its own."""

from collections.abc import Iterable

from sapwood.display.text import wrapped

__all__ = ["entries", "section"]


def section(title: str, found: Iterable[str], width: int) -> list[str]:
    """The title and its entries; nothing at all if there are none.

    >>> section("Files", ["a.py"], 40)
    ['Files', '  - a.py', '']
    """
    lines = entries(found, width)
    return [title, *lines, ""] if lines else []


def entries(found: Iterable[str], width: int, indent: str = "  ") -> list[str]:
    """Entries behind dashes, wrapped under themselves."""
    lines: list[str] = []
    for each in found:
        first, *rest = wrapped(" ".join(each.split()), width - 2, indent) or [indent]
        lines += [f"{indent}- {first.strip()}", *(f"  {line}" for line in rest)]
    return lines
