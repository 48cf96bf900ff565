"""What fills the window of a model: by category, and the largest items with what each would free.

Pure.
"""

from collections.abc import Mapping

from msgspec import Struct, structs

from sapwood.core.budget import Budget, budget_of
from sapwood.core.command_table import TABLE
from sapwood.core.content import Text, Usage
from sapwood.core.cuts import numbered_results
from sapwood.core.decide.drops import last_request
from sapwood.core.history_size import (
    calibrated,
    dropped_stubs,
    live_stubs,
    stubs_save,
    turn_sizes,
)
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
    """The largest items, and the smallest command that takes each out of view."""
    ratio, front = state.ratio(), front_texts(structs.replace(live, loaded=()))

    def count(raw: int) -> Count:
        return calibrated(raw, counter, ratio)

    quoted = [counter.count(framed_quotation(each).text).tokens for each in live.loaded]
    summary = sum(counter.count(part.text).tokens for part in front)
    keep_all = " ".join([TABLE["clear"].typed, *([str(len(live.turns))] if live.turns else [])])
    items = [
        ContextItem(
            "pin",
            f"{pin.name} from {pin.source}" if pin.source else pin.name,
            count(counter.count(pin.text).tokens),
            f"{TABLE['unpin'].typed} {pin.name}",
        )
        for pin in state.pins
    ]
    items += [
        ContextItem(
            "loaded",
            f"turn {each.place or each.source}",
            count(size),
            keep_all,
            count(sum(quoted) + summary),
        )
        for each, size in zip(live.loaded, quoted, strict=True)
    ]
    if front:
        items.append(
            ContextItem(
                "summary",
                "and the last request",
                count(summary),
                keep_all,
                count(sum(quoted) + summary),
            )
        )
    for turn, trimming in zip(live.turns, _trimmings(live, counter, names), strict=True):
        items.append(
            ContextItem(
                f"turn #{turn_place(turn.agent, turn.number, names)}",
                _first_words(turn),
                count(trimming.size),
                trimming.command,
                count(trimming.frees),
            )
        )
    items.sort(key=lambda each: -each.size.tokens)
    return items[:max_parts]


class _Trimming(Struct, frozen=True):
    """The raw size of a turn, the smallest command that removes most of it, and what that frees."""

    size: int
    command: str
    frees: int


def _trimmings(live: LivePath, counter: Counter, names: Names) -> list[_Trimming]:
    """For each turn in view: a drop of its large result, of all its results, or of the turn.

    The turn of the last request cannot be dropped. A clear moves it out of view, with all before.
    """
    drop, clear = TABLE["drop"].typed, TABLE["clear"].typed
    kept, before = last_request(live), 0
    found: list[_Trimming] = []
    pairs = zip(live.turns, turn_sizes(live, counter), live_stubs(live), strict=False)
    for number, (turn, size, shown) in enumerate(pairs, 1):
        before += size
        place = turn_place(turn.agent, turn.number, names)
        saved = _saved_by_result(turn, shown, counter)
        most = max(saved, key=lambda each: saved[each], default=0)
        left = len(live.turns) - number
        if most and 2 * saved[most] >= size:
            found.append(_Trimming(size, f"{drop} {place}.{most}", saved[most]))
        elif saved and (turn is kept or 2 * sum(saved.values()) >= size):
            found.append(_Trimming(size, f"{drop} --results {place}", sum(saved.values())))
        elif turn is not kept:
            found.append(_Trimming(size, f"{drop} {place}", size))
        else:
            found.append(_Trimming(size, f"{clear} {left}" if left else clear, before))
    return found


def _saved_by_result(turn: Turn, shown: Mapping[str, str], counter: Counter) -> dict[int, int]:
    """The raw tokens that a drop of each result would save, by number; those that save some."""
    saved: dict[int, int] = {}
    for number, result in numbered_results(turn):
        if result.call not in shown:
            save = stubs_save(turn, dropped_stubs(turn, (number,)), counter)
            saved |= {number: save} if save > 0 else {}
    return saved


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
