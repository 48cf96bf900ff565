"""The pages of /context and /diff."""

from collections.abc import Sequence
from typing import ClassVar

from textual.content import Content

from sapwood.conversation.answers import ContextsCompared
from sapwood.conversation.context_breakdown import Category, ContextBreakdown, ContextItem
from sapwood.core.token_count import Count, show
from sapwood.display.quantities import cache_share, money, percent_of
from sapwood.display.text import cut
from sapwood.display.timeline_text import comparison_lines
from sapwood.tui.screens.modal_page import TextPage

_CATEGORY_COLOURS = {
    "system": "$secondary",
    "tools": "$secondary-darken-2",
    "pins": "$accent",
    "summary": "$mark",
    "messages": "$primary",
    "tool results": "$warning-darken-2",
}
_SIGN_COLOURS = {"-": "$error", "+": "$success"}
_COLUMNS, _ROWS = 20, 10
_NARROW = 90
"""Below this number of columns the grid is not shown."""


class ContextPage(TextPage):
    """Shows what fills the context window: a grid by category, and the largest items."""

    HEADING: ClassVar = "Context"

    def __init__(self, breakdown: ContextBreakdown, family_cost: int = 0) -> None:
        super().__init__()
        self._breakdown = breakdown
        self._family_cost = family_cost

    async def body(self) -> Content:
        """The grid with its legend, then the largest items."""
        budget = self._breakdown.budget
        found = self._breakdown.categories
        window = budget.window or max(budget.total.tokens, 1)
        beside = _legend(found, budget.total, window, known=bool(budget.window))
        rows = _side_by_side(grid(found, window), beside)
        if self.size.width < _NARROW:
            rows = beside
        facts = f"\n{facts_of(self._breakdown, self._family_cost)}\n"
        return Content("\n").join(
            [
                *rows,
                Content.styled(facts, "$faint"),
                *_table(self._breakdown.largest, self.size.width),
            ]
        )


def facts_of(breakdown: ContextBreakdown, family_cost: int) -> str:
    """Two lines: the model and the cap, then the cost and how much the cache saved."""
    settings, budget, spent = breakdown.settings, breakdown.budget, breakdown.spent
    costs = f"{money(spent.cost)} so far" if spent.cost else "cost unknown"
    if family_cost > spent.cost:
        costs += f", {money(family_cost)} with forks and side questions"
    share = cache_share(spent)
    percent = f"{share:.0%}".replace("%", " %") if share is not None else ""
    cached = f" · {percent} of the input came from the cache" if percent else ""
    cap = f"{settings.cap:,}" if settings.cap else "none"
    filled = f" ({percent_of(budget.history, budget.cap)})" if budget.cap else ""
    return f"{settings.model or 'no model'} · cap {cap}{filled}\n{costs}{cached}"


def _side_by_side(left: list[Content], right: list[Content]) -> list[Content]:
    """Joins two lists of lines; the left lines all have the same width."""
    return [
        Content.assemble(row, "   ", right[number] if number < len(right) else "")
        for number, row in enumerate(left)
    ]


def grid(found: Sequence[Category], window: int) -> list[Content]:
    """Rows of cells, each in the colour of its category, free cells last."""
    cells: list[tuple[str, str]] = []
    total = _COLUMNS * _ROWS
    for name, count in found:
        share = max(1, round(total * count.tokens / window))
        cells += [("■ ", _CATEGORY_COLOURS[name])] * share
    cells = cells[:total] + [("· ", "$panel-lighten-2")] * (total - len(cells))
    return [Content.assemble(*cells[row * _COLUMNS : (row + 1) * _COLUMNS]) for row in range(_ROWS)]


def _legend(found: Sequence[Category], total: Count, window: int, *, known: bool) -> list[Content]:
    lines = [
        Content.assemble(
            ("■ ", _CATEGORY_COLOURS[name]),
            f"{name:<13}",
            (f"{show(count):>7}", "bold"),
            f"{_share(count, window):>8}",
        )
        for name, count in found
    ]
    free = Count(max(0, window - total.tokens), total.exact)
    of = f"of {show(Count(window, exact=True))}" if known else "window size unknown"
    return [
        *lines,
        Content(""),
        Content.assemble(
            ("  total        ", "bold"),
            (f"{show(total):>7}", "bold"),
            f"{_share(total, window):>8}  {of}",
        ),
        *(
            [Content.assemble("  free         ", f"{show(free):>7}", f"{_share(free, window):>8}")]
            if known
            else []
        ),
    ]


def _share(count: Count, window: int) -> str:
    return f"{count.tokens / window:.1%}".replace("%", " %")


def _table(items: Sequence[ContextItem], width: int) -> list[Content]:
    if not items:
        return [Content("The context is empty.")]
    typed = max(12, *(len(item.command) for item in items))
    room = max(8, min(60, int(width * 0.92) - 46 - typed))
    head = f"{'LARGEST':<12} {'':<{room}} {'TOKENS':>7}  {'TO TRIM IT':<{typed}} FREES"
    rows = [
        Content.assemble(
            (f"{cut(item.what, 12):<12} ", "$accent"),
            f"{cut(item.name, room):<{room}} ",
            (f"{show(item.size):>7}  ", "bold"),
            (f"{item.command:<{typed}} ", "$primary"),
            (show(item.frees or item.size), "$faint"),
        )
        for item in items
    ]
    return [Content.styled(head, "bold $faint"), *rows]


class DiffPage(TextPage):
    """Shows the turns that are in only one of two contexts."""

    HEADING: ClassVar = "Difference"

    def __init__(self, compared: ContextsCompared) -> None:
        super().__init__()
        self._compared = compared

    async def body(self) -> Content:
        """The compared turns, coloured by the context that has them."""
        head = Content.assemble(
            (f"- {self._compared.left}", "bold $error"),
            "   ",
            (f"+ {self._compared.right}", "bold $success"),
        )
        lines = comparison_lines(self._compared, max(40, self.size.width - 16))
        shown = [Content.styled(line, _SIGN_COLOURS.get(line[:1], "$faint")) for line in lines]
        return Content("\n").join([head, Content(""), *shown])
