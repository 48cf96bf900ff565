"""Tables for a terminal, and the table of agents."""

from collections.abc import Iterable, Sequence

from sapwood.core.log_values import AgentSummary
from sapwood.core.token_count import Count, show
from sapwood.display.agent_tree import state_of, tree
from sapwood.display.quantities import ago
from sapwood.display.text import cut, one_line, padded, width_of

_GAP = 2


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Returns the rows as a table without empty columns. The widest column is cut if needed.

    In a narrow terminal each row takes two lines: the first two cells, then the others.

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
    """Cuts a cell to a width. Leading spaces stay, because they indent a tree."""
    inner = cell.lstrip(" ")
    lead = len(cell) - len(inner)
    return cell if width_of(cell) <= width else " " * lead + cut(inner, width - lead)


def _stacked(row: Sequence[str], width: int) -> list[str]:
    first = cut(" ".join(cell.strip() for cell in row[:2] if cell.strip()), width)
    rest = cut(" · ".join(cell.strip() for cell in row[2:] if cell.strip()), width - 2)
    return [first, f"  {rest}"] if rest else [first]


_HEADS = ("AGENT", "NAME", "STATE", "TOKENS", "MAIL", "MODEL", "ACTIVE")


def agents_table(agents: Iterable[AgentSummary], width: int, now: int) -> list[str]:
    """Returns the table of agents, children below their parents."""
    rows = [_row(summary, depth, now) for summary, depth in tree(agents)]
    return table(_HEADS, rows, width)


def _row(summary: AgentSummary, depth: int, now: int) -> tuple[str, ...]:
    return (
        "  " * depth + summary.agent,
        one_line(summary.name),
        state_of(summary),
        show(Count(summary.tokens, summary.exact)),
        f"{summary.unread} new" if summary.unread else "",
        one_line(summary.model),
        ago(summary.updated, now),
    )
