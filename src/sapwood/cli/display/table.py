"""Rows in columns, where there is room; else each row as a little paragraph."""

from collections.abc import Sequence

from sapwood.display.text import cut, padded, width_of

__all__ = ["table"]

_GAP = 2


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """The rows under their heads, empty columns left out; the widest column gives way.

    Where even that does not fit, the first two cells of each row stand above the others.

    >>> print("\\n".join(table(("ID", "NAME"), [("k3h7", "demo"), ("9xq2", "")], 40)))
    ID    NAME
    k3h7  demo
    9xq2
    """
    used = [index for index, _ in enumerate(heads) if any(row[index] for row in rows)]
    heads = [heads[index] for index in used]
    rows = [[row[index] for index in used] for row in rows]
    widths = [max(map(width_of, column)) for column in zip(heads, *rows, strict=True)]
    over = sum(widths) + _GAP * (len(widths) - 1) - width
    if over > 0:
        widest = widths.index(max(widths))
        if widths[widest] - over < 12:
            return [line for row in rows for line in _stacked(row, width)]
        widths[widest] -= over
    return [_line(row, widths) for row in (heads, *rows)]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    shown = (
        padded(cut_cell(cell, width), width) for cell, width in zip(cells, widths, strict=True)
    )
    return (" " * _GAP).join(shown).rstrip()


def cut_cell(cell: str, width: int) -> str:
    """A cell that fits; leading spaces are part of a tree."""
    inner = cell.lstrip(" ")
    lead = len(cell) - len(inner)
    return cell if width_of(cell) <= width else " " * lead + cut(inner, width - lead)


def _stacked(row: Sequence[str], width: int) -> list[str]:
    first = cut(" ".join(cell.strip() for cell in row[:2] if cell.strip()), width)
    rest = cut(" · ".join(cell.strip() for cell in row[2:] if cell.strip()), width - 2)
    return [first, f"  {rest}"] if rest else [first]
