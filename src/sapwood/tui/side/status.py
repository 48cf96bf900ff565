"""The status line: what fills the window, block by block, what it costs, and what goes on."""

from msgspec import Struct, structs
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from sapwood.core.budget import Budget
from sapwood.core.counting import Count, show
from sapwood.display.money import money

__all__ = ["Status", "StatusLine"]

_BLOCKS = (
    ("system", "$secondary"),
    ("tools", "$secondary-darken-2"),
    ("pins", "$accent"),
    ("summary", "$success-darken-2"),
    ("history", "$primary"),
)
_WIDE = 110


class Status(Struct, frozen=True):
    """Everything that the line tells. `doing` is what goes on, with how long it has."""

    budget: Budget | None = None
    cost: int = 0
    doing: str = ""


class StatusLine(Widget):
    """One line."""

    DEFAULT_CSS = "StatusLine { height: 1; padding: 0 1; background: $background; }"
    status: reactive[Status] = reactive(Status())

    def doing(self, what: str) -> None:
        """Only what goes on has changed."""
        if what != self.status.doing:
            self.status = structs.replace(self.status, doing=what)

    def render(self) -> Content:
        """The bar, the sum, the blocks, the cost."""
        status, budget = self.status, self.status.budget
        doing = Content.styled(f"{status.doing}  ", "$warning") if status.doing else Content("")
        if budget is None:
            return doing
        wide = self.size.width >= _WIDE
        bar = _bar(budget, 12 if status.doing or not wide else 28)
        line = Content.assemble(doing, bar, " ", _sum(budget))
        cost = Content.styled(f"  {money(status.cost)}" if status.cost else "", "$faint")
        room = self.size.width - line.cell_length - cost.cell_length - 2
        return Content.assemble(line, *_blocks(budget, room), cost)


def _blocks(budget: Budget, room: int) -> list[Content]:
    """Each block with its size; the smallest give way where there is no room for all."""
    filled = [(name, colour) for name, colour in _BLOCKS if _count(budget, name).tokens]
    shown = {name: _block(budget, name, colour) for name, colour in filled}
    for name in sorted(shown, key=lambda each: _count(budget, each).tokens):
        if sum(block.cell_length for block in shown.values()) <= room:
            break
        del shown[name]
    return list(shown.values())


def _bar(budget: Budget, width: int) -> Content:
    whole = max(budget.window, budget.total.tokens, 1)
    cells = Content("")
    for name, colour in _BLOCKS:
        tokens = _count(budget, name).tokens
        share = round(width * tokens / whole)
        cells += Content.styled("█" * (share or (1 if tokens else 0)), colour)
    free = width - cells.cell_length
    return cells + Content.styled("░" * free, "$panel-lighten-1")


def _sum(budget: Budget) -> Content:
    colour = ("$foreground", "$warning", "$warning", "$error")[budget.level]
    if budget.share is None:
        return Content.styled(f"{show(budget.total)} tokens", f"bold {colour}")
    window = show(Count(budget.window, exact=True))
    share = f"{budget.share:.0%}".replace("%", " %")
    return Content.styled(f"{show(budget.total)} of {window} · {share}", f"bold {colour}")


def _block(budget: Budget, name: str, colour: str) -> Content:
    return Content.assemble(("  ■ ", colour), (f"{name} {show(_count(budget, name))}", "$faint"))


def _count(budget: Budget, name: str) -> Count:
    return getattr(budget, name)
