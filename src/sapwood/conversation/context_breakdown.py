"""What fills the window of a model: by category, and the largest items with what each would free.

Pure.
"""

from msgspec import Struct, structs

from sapwood.core.budget import Budget, budget_of
from sapwood.core.command_table import TABLE
from sapwood.core.content import Text, Usage
from sapwood.core.history_size import calibrated, live_stubs, turn_sizes
from sapwood.core.ids import AgentId
from sapwood.core.live_path import LivePath
from sapwood.core.settings import Settings
from sapwood.core.state import State
from sapwood.core.token_count import Count, Counter
from sapwood.core.turn import Result, Turn
from sapwood.core.turn_numbers import Names, turn_place
from sapwood.core.view.build import front_texts
from sapwood.core.view.frames import framed_quotation

Category = tuple[str, Count]


class ContextItem(Struct, frozen=True):
    """Something in view: how large it is, and what to type to be rid of it.

    `frees` is what that command takes out of view in all, which may be more than this alone.
    """

    what: str
    name: str
    size: Count
    command: str = ""
    frees: Count | None = None


class ContextBreakdown(Struct, frozen=True):
    """What an agent's model sees, how large each part of it is, and what was spent on it.

    `turns` counts the turns in view, `carries_request` says that the last request before them is in
    view too, and `last_turn` is the usage of each model call of the newest turn. `pinned_files` has
    the file of each pin that was read from one, `loaded` are the turns that are quoted.
    """

    agent: AgentId
    name: str
    settings: Settings
    budget: Budget
    categories: tuple[Category, ...]
    largest: tuple[ContextItem, ...]
    turns: int
    carries_request: bool
    marks: tuple[str, ...]
    pins: tuple[str, ...]
    unread: int
    spent: Usage
    last_turn: tuple[Usage, ...]
    pinned_files: dict[str, str]
    loaded: tuple[str, ...]


def break_down(state: State, live: LivePath, counter: Counter, names: Names) -> ContextBreakdown:
    """The breakdown of what is in view now. `names` are those of inherited conversations."""
    turns = live.all_turns
    return ContextBreakdown(
        state.agent,
        state.name,
        state.settings,
        budget_of(state, live, counter),
        tuple(categories(state, live, counter)),
        tuple(largest(state, live, counter, names)),
        len(turns),
        bool(live.request),
        tuple(mark.name for mark in state.marks),
        tuple(pin.name for pin in state.pins),
        len(state.inbox),
        state.spent,
        tuple(turns[-1].usages) if turns else (),
        {pin.name: pin.source for pin in state.pins if pin.source},
        tuple(each.place or str(each.source) for each in live.loaded),
    )


def categories(state: State, live: LivePath, counter: Counter) -> list[Category]:
    """System, tools, pins, summary and history; tool results are told apart from what was said."""
    budget = budget_of(state, live, counter)
    results = calibrated(sum(_results(live, counter)), counter, state.ratio())
    words = Count(max(0, budget.history.tokens - results.tokens), budget.history.exact)
    found = [
        ("system", budget.system),
        ("tools", budget.tools),
        ("pins", budget.pins),
        ("summary", budget.summary),
        ("messages", words),
        ("tool results", results),
    ]
    return [(name, count) for name, count in found if count.tokens]


def largest(
    state: State, live: LivePath, counter: Counter, names: Names, max_parts: int = 12
) -> list[ContextItem]:
    """The largest items, and what trimming each would free."""
    ratio, clear = state.ratio(), TABLE["clear"].typed
    sizes = turn_sizes(live, counter)
    items = [
        ContextItem(
            "pin",
            f"{pin.name} from {pin.source}" if pin.source else pin.name,
            calibrated(counter.count(pin.text).tokens, counter, ratio),
            f"{TABLE['unpin'].typed} {pin.name}",
        )
        for pin in state.pins
    ]
    items += [
        ContextItem(
            "loaded",
            f"turn {loaded.place or loaded.source}",
            calibrated(counter.count(framed_quotation(loaded).text).tokens, counter, ratio),
            clear,
        )
        for loaded in live.loaded
    ]
    if front := front_texts(structs.replace(live, loaded=())):
        tokens = sum(counter.count(part.text).tokens for part in front)
        items.append(
            ContextItem(
                "summary", "and the last request", calibrated(tokens, counter, ratio), clear
            )
        )
    before = 0
    for number, (turn, size) in enumerate(zip(live.turns, sizes, strict=True)):
        before += size
        left = len(live.turns) - number - 1
        items.append(
            ContextItem(
                f"turn #{turn_place(turn.agent, turn.number, names)}",
                _first_words(turn),
                calibrated(size, counter, ratio),
                f"{clear} {left}" if left else clear,
                calibrated(before, counter, ratio),
            )
        )
    items.sort(key=lambda each: -each.size.tokens)
    return items[:max_parts]


def _results(live: LivePath, counter: Counter) -> list[int]:
    """The size of each tool result as the model sees it."""
    sizes: list[int] = []
    for turn, shown in zip(live.all_turns, live_stubs(live), strict=True):
        sizes += [
            counter.count(shown.get(item.call) or turn.shown(item)).tokens
            for item in turn.items
            if isinstance(item, Result)
        ]
    return sizes


def _first_words(turn: Turn) -> str:
    words = " ".join(part.text for part in turn.prompt if isinstance(part, Text))
    return " ".join(words[:500].split()) or "a wake-up"
