"""The header line, the status line, the key bar and the text of an empty conversation."""

from datetime import datetime
from math import ceil
from pathlib import Path

from msgspec import Struct, structs
from rich.cells import cell_len
from textual.binding import Binding
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Footer

from sapwood.config.config_file import Config
from sapwood.core.budget import Budget
from sapwood.core.command_table import TABLE
from sapwood.core.model_calls import RetryWait
from sapwood.core.plural import counted
from sapwood.core.settings import PermissionMode
from sapwood.core.state import Goal, State
from sapwood.core.token_count import Count, show, show_tokens
from sapwood.display.quantities import edge_text, money
from sapwood.display.text import cut, one_line

_BLOCKS = (
    ("system", "$secondary"),
    ("tools", "$secondary-darken-2"),
    ("pins", "$accent"),
    ("summary", "$success-darken-2"),
    ("history", "$primary"),
)
_MODE_COLOURS: dict[PermissionMode, str] = {
    "ask": "$faint",
    "accept-edits": "$accent",
    "plan": "$secondary",
    "read-only": "$secondary",
    "all": "bold $error",
}
_WIDE = 110
_LEAST_NAME = 12


class Status(Struct, frozen=True):
    """What the status line shows. `doing` is the current activity with its duration.

    `jobs` is how many background commands run.
    """

    budget: Budget | None = None
    cost: int = 0
    doing: str = ""
    mode: PermissionMode = "ask"
    jobs: int = 0


class KeyBar(Footer):
    """Shows the keys of the screen, and makes them anew only when they change.

    Textual would make them anew whenever the focus moves or a page closes.
    """

    def __init__(self) -> None:
        super().__init__(show_command_palette=False, compact=True)
        self._shown: list[tuple[Binding, bool, str]] | None = None

    async def recompose(self) -> None:
        """Replaces the keys if others can be pressed now."""
        active = self.screen.active_bindings.values()
        keys = [(each.binding, each.enabled, each.tooltip) for each in active if each.binding.show]
        if keys != self._shown:
            self._shown = keys
            await super().recompose()


class StatusLine(Widget):
    """Shows the permission mode, the activity, how full the window is with what, and the cost."""

    DEFAULT_CSS = "StatusLine { height: 1; padding: 0 1; background: $background; }"
    status: reactive[Status] = reactive(Status())

    def doing(self, what: str) -> None:
        """Updates only the activity."""
        if what != self.status.doing:
            self.status = structs.replace(self.status, doing=what)

    def render(self) -> Content:
        """The permission mode, the activity, jobs, the bar, the sum, the blocks and the cost."""
        status, budget = self.status, self.status.budget
        mode = Content.styled(f"{status.mode}  ", _MODE_COLOURS[status.mode])
        doing = Content.styled(f"{status.doing}  ", "$warning") if status.doing else Content("")
        running = f"{counted(status.jobs, 'job')}: {TABLE['jobs'].typed}  " if status.jobs else ""
        doing = Content.assemble(doing, (running, "$secondary"))
        if budget is None:
            return Content.assemble(mode, doing)
        wide = self.size.width >= _WIDE
        bar = budget_bar(budget, 12 if status.doing or status.jobs or not wide else 28)
        line = Content.assemble(mode, doing, bar, " ", _sum(budget))
        cost = Content.styled(f"  {money(status.cost)}" if status.cost else "", "$faint")
        room = self.size.width - line.cell_length - cost.cell_length - 2
        return Content.assemble(line, *_blocks(budget, room), cost)


def _blocks(budget: Budget, room: int) -> list[Content]:
    """Each block with its size; the smallest are left out if there is no room for all."""
    filled = [(name, colour) for name, colour in _BLOCKS if _count(budget, name).tokens]
    shown = {name: _block(budget, name, colour) for name, colour in filled}
    for name in sorted(shown, key=lambda each: _count(budget, each).tokens):
        if sum(block.cell_length for block in shown.values()) <= room:
            break
        del shown[name]
    return list(shown.values())


def budget_bar(budget: Budget, width: int) -> Content:
    """A bar of so many cells, filled as far as the window is, in the colours of the blocks."""
    share = 1.0 if budget.share is None else min(1.0, budget.share)
    whole = max(budget.total.tokens, 1)
    cells, tokens, filled = Content(""), 0, 0
    for name, colour in _BLOCKS:
        tokens += _count(budget, name).tokens
        # By the sum up to here: rounding each block on its own would fill cells that are free.
        end = round(width * share * tokens / whole)
        cells += Content.styled("█" * (end - filled), colour)
        filled = end
    return cells + Content.styled("░" * (width - filled), "$bar")


def _sum(budget: Budget) -> Content:
    colour = ("$foreground", "$warning", "$warning", "$error")[budget.level]
    if budget.share is None:
        return Content.styled(show_tokens(budget.total), f"bold {colour}")
    return Content.styled(edge_text(budget), f"bold {colour}")


def _block(budget: Budget, name: str, colour: str) -> Content:
    return Content.assemble(("  ■ ", colour), (f"{name} {show(_count(budget, name))}", "$faint"))


def _count(budget: Budget, name: str) -> Count:
    return getattr(budget, name)


def header_line(folder: str, state: State | None, width: int) -> Content:
    """Project, conversation and model; for an imported conversation also its source.

    The name of the conversation gets what the others leave of the width.
    """
    parts: list[tuple[str, str]] = [
        ("sapwood", "bold $primary"),
        (f"  {one_line(Path(folder).name)}", ""),
    ]
    if state is None:
        parts.append(("  /  a new conversation", "$faint"))
    else:
        parts.append(("  /  ", "$faint"))
        name = len(parts)
        model = one_line(state.settings.model) or "no model"
        parts.append((f"  · {model} · {state.agent} #{state.turns:,}", "$faint"))
        if state.workspace.branch:
            parts.append((f" · branch {one_line(state.workspace.branch)}", "$accent"))
        if state.origin is not None:
            parts.append((f" · from {one_line(state.origin.source)}: /fork to continue", "$accent"))
        room = max(_LEAST_NAME, width - sum(cell_len(text) for text, _ in parts))
        parts.insert(name, (cut(one_line(state.name) or state.agent, room), "bold"))
    return Content.assemble(*parts)


def goal_line(goal: Goal, *, waits: bool, works: bool = False) -> str:
    """The goal on one line, and what to type if it waits for the person.

    `works`: a turn is open, which ends first.

    >>> goal_line(Goal("g1", "Make the tests pass.", turns=10, opened=2), waits=False)
    'goal 2 of 10 turns  Make the tests pass.'
    >>> goal_line(Goal("g1", "Make it.", turns=10, opened=2), waits=True, works=True)
    'goal 2 of 10 turns, stops after this turn: /goal continue or /goal stop  Make it.'
    """
    words = f"goal {goal.progress}"
    if waits:
        when = f"{words}, stops after this turn" if works else "goal waits"
        words = f"{when}: /goal continue or /goal stop"
    return f"{words}  {one_line(goal.text)}"


def limit_line(at: int) -> str:
    """When the limit of a provider resets, by the clock of the person, and how to stop the wait."""
    when = datetime.fromtimestamp(at / 1_000_000).astimezone()
    return f"limit resets at {when:%H:%M:%S}, then the turn is asked again · esc stops it"


def wait_line(wait: RetryWait, seconds: float) -> str:
    """That a call failed, and in how many seconds it is tried again."""
    attempt = f"attempt {wait.attempt} of {wait.max_attempts}"
    what = "cannot be reached" if wait.unreachable else "is busy"
    return f"the provider {what}, {attempt} in {max(0, ceil(seconds))} s · esc stops it"


def welcome_text(config: Config, folder: str) -> Content:
    """What is shown before the first message: model, folder and the most useful keys."""
    model = one_line(config.model) or "no model yet"
    keys = (
        ("enter", "sends what you type"),
        ("/", "lists the commands"),
        ("ctrl+l", "opens another conversation"),
        ("f1", "explains every key"),
    )
    return Content.assemble(
        ("Sapwood\n", "bold $primary"),
        ("Everything is kept; you decide what the model sees.\n\n", "$foreground"),
        (f"{model}  ·  {one_line(folder)}\n\n", "$faint"),
        *(part for key, does in keys for part in ((f"  {key:<8}", "$accent"), (f"{does}\n", ""))),
    )
