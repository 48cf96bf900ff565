"""What cutting the history before a turn would leave in view, and what it would cost.

A cut keeps the last turns and nothing else of the history: `/clear N`. The provider's cache serves
the fixed front of the request after it; the turns that stay are written to the cache once. If the
last call was so long ago that the cache has ended, the next call writes all of it.

What going back would change: the turns that leave view and those that come back.

What a drop from the middle would save and cost. The cache serves the request up to the first turn
that is dropped; what follows is written once more, and thinking in it loses its signature.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct

from sapwood.conversation.agent_lookup import names_in
from sapwood.conversation.call import OpenSpace
from sapwood.core.budget import budget_of
from sapwood.core.command_table import TABLE
from sapwood.core.content import Text, Thinking, Usage
from sapwood.core.context import Context, undo_step
from sapwood.core.context_diff import diff
from sapwood.core.decide.drops import last_request
from sapwood.core.history_size import calibrated, size_of, turn_sizes
from sapwood.core.ids import AgentId, TurnRef
from sapwood.core.live_path import LivePath
from sapwood.core.model_calls import LastCall, Lifetime
from sapwood.core.token_count import ZERO, Count, Counter, show
from sapwood.core.turn import Reply, Turn
from sapwood.core.turn_numbers import turn_place
from sapwood.models.model_facts import cache_seconds, price_of
from sapwood.turns.clock_and_ids import now
from sapwood.turns.context_before_turn import context_before
from sapwood.turns.open_agent import OpenAgent, read_live

_WORTH_SAYING = 20_000
"""A smaller context costs a few cents, whatever the cache holds."""
_TRIMMED = 40_000
"""The size to which a trim is offered."""
_MAX_TURNS = 200
"""How many turns are looked at for the trim that is offered after a pause."""


class Cut(Struct, frozen=True):
    """The history with its last `keep` turns: the line to type, its size and its costs.

    `turn` is the first turn that stays, as people name it, such as `3`.
    Costs are in millionths of a dollar; None if the price is not known. `once` is the input of the
    next call, `later` that of each call after it.
    """

    keep: int
    line: str
    turn: str
    title: str
    size: Count
    total: Count
    once: int | None
    later: int | None


class CutPlan(Struct, frozen=True):
    """Every place at which the history can be cut, oldest first, and how things are now.

    `fixed` is what stays in every request. `now` is the cost of the next call as things are.
    `earlier` counts turns in view before which no cut is listed. `is_cold`: the cache has ended;
    `back` is then what coming back costs.
    """

    agent: AgentId
    fixed: Count
    total: Count
    now: int | None
    cuts: tuple[Cut, ...]
    cap: int = 0
    window: int = 0
    earlier: int = 0
    is_cold: bool = False
    back: "ReturnCost | None" = None


class ReturnCost(Struct, frozen=True):
    """What the next call costs after a pause in which the provider's cache has ended.

    Costs are in millionths of a dollar; None if the price is not known. `keep` is the number of
    turns of the trim that is offered, 0 if there is none; `kept_tokens` and `kept_cost` are those
    of the next call after it.
    """

    tokens: int
    cost: int | None
    keep: int = 0
    kept_tokens: int = 0
    kept_cost: int | None = None

    def sentence(self, command: str) -> str:
        """What coming back costs, and how to trim first. `command` has `{}` for the command.

        >>> ReturnCost(214_000, 1_600_000, 8, 40_000, 300_000).sentence("/{}")
        '214k tokens are cold: about $1.60; trimmed to 40k: $0.30. To trim, type: /clear 8'
        """
        line = f"{_short(self.tokens)} tokens are cold"
        line += f": about {_dollars(self.cost)}" if self.cost is not None else ""
        if not self.keep:
            return f"{line}."
        line += f"; trimmed to {_short(self.kept_tokens)}"
        line += f": {_dollars(self.kept_cost)}" if self.kept_cost is not None else ""
        return f"{line}. To trim, type: {command.format(f'clear {self.keep}')}"


def return_cost(
    model: str, lifetime: Lifetime, total: int, sizes: Sequence[int]
) -> ReturnCost | None:
    """What a call with `total` tokens costs without a cache, and a trim that costs less.

    `sizes` are the tokens of the turns, the newest last. None for a small context.
    """
    if total < _WORTH_SAYING:
        return None
    price = input_price(model, lifetime)
    fixed, kept, keep = max(0, total - sum(sizes)), 0, 0
    for size in reversed(sizes):
        if keep and fixed + kept + size > _TRIMMED:
            break
        kept, keep = kept + size, keep + 1
    trimmed = fixed + kept
    if keep == len(sizes) or trimmed > total // 2:
        return ReturnCost(total, price(total, 0))
    return ReturnCost(total, price(total, 0), keep, trimmed, price(trimmed, 0))


def session_return_cost(
    model: str, lifetime: Lifetime, used: int | None, live: LivePath, counter: Counter
) -> tuple[ReturnCost, int] | None:
    """The cost for the session of another program, and how many seconds its cache is kept."""
    seconds = cache_seconds(model, lifetime) if model else None
    if not seconds or not used:
        return None
    cost = return_cost(model, lifetime, used, turn_sizes(live, counter, _MAX_TURNS))
    return None if cost is None else (cost, seconds)


def _short(tokens: int) -> str:
    return show(Count(tokens, exact=True))


def _dollars(cost: int) -> str:
    return f"${cost / 1_000_000:.2f}"


async def cut_plan(
    space: OpenSpace, agent: AgentId, max_turns: int = 100, *, priced: bool = True
) -> CutPlan:
    """The cuts of what is in view now, before each of the newest `max_turns` turns.

    Without `priced`, only the next call has a price: prices take a millisecond each.
    """
    opened = await space.dispatcher.open(agent)
    state, live = opened.state, opened.live
    counter = space.counter_for(state.settings.model)
    budget = budget_of(state, live, counter)
    fixed = budget.system + budget.tools + budget.pins
    model, last = state.settings.model, state.last_call
    is_cold = _is_cold(model, last)
    price = input_price(model, last.lifetime)
    sizes = [
        calibrated(raw, counter, state.ratio()) for raw in turn_sizes(live, counter, max_turns)
    ]
    names = await names_in(space, opened)
    kept = ZERO
    cuts: list[Cut] = []
    for keep, size in enumerate(reversed(sizes), 1):
        kept = kept + size
        total = fixed + kept
        turn = live.turns[-keep]
        whole = keep == len(live.turns)
        cuts.append(
            Cut(
                keep,
                f"{TABLE['clear'].typed} {keep}",
                turn_place(turn.agent, turn.number, names),
                _title(turn),
                size,
                budget.total if whole else total,
                price(total.tokens, _cached(total if whole else fixed, is_cold))
                if priced
                else None,
                price(total.tokens, total.tokens) if priced else None,
            )
        )
    return CutPlan(
        agent,
        fixed,
        budget.total,
        price(budget.total.tokens, _cached(budget.total, is_cold)),
        tuple(reversed(cuts)),
        state.settings.cap,
        state.settings.window,
        len(live.turns) - len(sizes),
        is_cold,
        return_cost(model, last.lifetime, budget.total.tokens, [size.tokens for size in sizes])
        if is_cold
        else None,
    )


async def cost_of_return(space: OpenSpace, agent: AgentId) -> ReturnCost | None:
    """What the next prompt costs if the cache of the last call has ended; None if it has not."""
    state = (await space.dispatcher.open(agent)).state
    if not _is_cold(state.settings.model, state.last_call):
        return None
    return (await cut_plan(space, agent, priced=False)).back


def _is_cold(model: str, last: LastCall) -> bool:
    """Whether the cache of the last call has ended."""
    seconds = cache_seconds(model, last.lifetime)
    return bool(last.at) and seconds is not None and now() - last.at > seconds * 1_000_000


def _cached(size: Count, is_cold: bool) -> int:
    return 0 if is_cold else size.tokens


def input_price(model: str, lifetime: Lifetime) -> Callable[[int, int], int | None]:
    """The price of a request's input, by its size and by how much of it the cache holds."""
    for_an_hour = cache_seconds(model, lifetime) != cache_seconds(model)

    def price(tokens: int, cached: int) -> int | None:
        written = tokens - cached
        hour = written if for_an_hour else 0
        used = Usage(input=tokens, cache_read=cached, cache_write=written, cache_hour=hour)
        found = price_of(model, used)
        return found.millionths if found else None

    return price


class DropPlace(Struct, frozen=True):
    """A turn that can be dropped: how people name it, the beginning of its prompt, its size."""

    turn: str
    title: str
    size: Count


class DropPreview(Struct, frozen=True):
    """What dropping turns saves and costs.

    `size` is what leaves, `total` what is sent after it. Costs are in millionths of a dollar; None
    if the price is not known. `now` is the input of the next call as things are, `once` that of the
    next call after the drop, `before` and `later` those of the calls after these. `rewritten` are
    the tokens after the first dropped turn, `thoughts` the signed thoughts in them. `cheaper` are
    the turns of the selection without its oldest ones, whose drop writes less again.
    """

    turns: int
    size: Count
    total: Count
    now: int | None
    once: int | None
    before: int | None
    later: int | None
    rewritten: Count
    thoughts: int
    cheaper: tuple[str, ...] = ()

    @property
    def pays_after(self) -> int | None:
        """The number of calls after which the drop has saved more than it cost; None if unknown."""
        if self.now is None or self.once is None or self.before is None or self.later is None:
            return None
        extra, saved = self.once - self.now, self.before - self.later
        if extra <= 0:
            return 1
        return None if saved <= 0 else 1 + -(-extra // saved)


async def drop_places(space: OpenSpace, agent: AgentId) -> tuple[DropPlace, ...]:
    """The turns in view that can be dropped, newest first: all but that of the last request."""
    opened = await space.dispatcher.open(agent)
    names, sizes = await names_in(space, opened), _turn_counts(space, opened)
    found = [
        DropPlace(turn_place(turn.agent, turn.number, names), _title(turn), size)
        for turn, size in zip(opened.live.turns, sizes, strict=True)
        if turn is not last_request(opened.live)
    ]
    return tuple(reversed(found))


async def preview_drop(space: OpenSpace, agent: AgentId, places: Sequence[str]) -> DropPreview:
    """What dropping these turns would save and cost."""
    opened = await space.dispatcher.open(agent)
    state, live = opened.state, opened.live
    budget = budget_of(state, live, space.counter_for(state.settings.model))
    names, sizes = await names_in(space, opened), _turn_counts(space, opened)
    named = [turn_place(turn.agent, turn.number, names) for turn in live.turns]
    gone = [named.index(place) for place in places if place in named]
    first = min(gone, default=len(named))
    leaving = sum([sizes[place] for place in gone], ZERO)
    after = sum([size for at, size in enumerate(sizes) if at > first and at not in gone], ZERO)
    total = Count(max(0, budget.total.tokens - leaving.tokens), budget.total.exact)
    is_cold = _is_cold(state.settings.model, state.last_call)
    price = input_price(state.settings.model, state.last_call.lifetime)
    kept = Count(max(0, total.tokens - after.tokens), total.exact)
    later = [at for at in gone if at > first + _run(gone, first)]
    return DropPreview(
        len(gone),
        leaving,
        total,
        price(budget.total.tokens, _cached(budget.total, is_cold)),
        price(total.tokens, _cached(kept, is_cold)),
        price(budget.total.tokens, budget.total.tokens),
        price(total.tokens, total.tokens),
        after,
        sum(
            isinstance(part, Thinking) and bool(part.signature)
            for at, turn in enumerate(live.turns)
            if at > first and at not in gone
            for item in turn.items
            if isinstance(item, Reply)
            for part in item.parts
        ),
        tuple([named[at] for at in sorted(later)]),
    )


def _run(gone: Sequence[int], first: int) -> int:
    """How many further places follow `first` without a gap."""
    count = 0
    while first + count + 1 in gone:
        count += 1
    return count


def _turn_counts(space: OpenSpace, opened: OpenAgent) -> list[Count]:
    state = opened.state
    counter = space.counter_for(state.settings.model)
    return [calibrated(raw, counter, state.ratio()) for raw in turn_sizes(opened.live, counter)]


def _title(turn: Turn) -> str:
    words = " ".join(part.text for part in turn.prompt if isinstance(part, Text))
    return " ".join(words[:200].split()) or "a wake-up"


class RewindPlace(Struct, frozen=True):
    """A place to go back to: the line to type, the mark's name and version, and its context.

    The place before the last context command has neither mark nor version. A place before a turn
    has that `turn` and its `prompt`; its context is read when it is needed.
    """

    line: str
    context: Context | None
    mark: str = ""
    version: int = 0
    turn: TurnRef | None = None
    prompt: str = ""


class RewindPreview(Struct, frozen=True):
    """The turns that would leave view and come back, each with their size in all."""

    leaving: tuple[Turn, ...]
    leaving_size: Count
    returning: tuple[Turn, ...]
    returning_size: Count
    shared: int
    front_differs: bool
    same: bool


async def rewind_places(
    space: OpenSpace, agent: AgentId, to_turn: str = ""
) -> tuple[RewindPlace, ...]:
    """The last context command to take back, then the marks, then the turns in view, newest first.

    `to_turn` is the command that goes back to a turn, by default /rewind.
    """
    opened = await space.dispatcher.open(agent)
    state = opened.state
    places: list[RewindPlace] = []
    if state.undo:
        before, _ = undo_step(state.undo[-1], state.context, state.marks)
        places.append(RewindPlace(TABLE["undo"].typed, before))
    for mark in reversed(state.marks):
        if mark.name:  # the place of an unnamed mark is that of the turn after it
            line = f"{TABLE['rewind'].typed} {mark.name}"
            places.append(RewindPlace(line, mark.context, mark.name, mark.version))
    command, names = to_turn or TABLE["rewind"].typed, await names_in(space, opened)
    for turn in reversed(opened.live.turns):
        words = " ".join(part.text for part in turn.prompt if isinstance(part, Text))
        prompt = " ".join(words[:500].split())
        line = f"{command} {turn_place(turn.agent, turn.number, names)}"
        places.append(RewindPlace(line, None, turn=turn.ref, prompt=prompt))
    return tuple(places)


async def preview_rewind(space: OpenSpace, agent: AgentId, place: RewindPlace) -> RewindPreview:
    """What going to a place would change."""
    opened = await space.dispatcher.open(agent)
    context = place.context
    if context is None and place.turn is not None:
        context = await context_before(space.log, space.space, opened, place.turn)
    there = await read_live(space.log, space.space, opened.state, context=context)
    found = diff(opened.live, there)
    return RewindPreview(
        found.only_left,
        _size(space, opened, found.only_left),
        found.only_right,
        _size(space, opened, found.only_right),
        found.shared,
        found.front_differs,
        found.same,
    )


def _size(space: OpenSpace, opened: OpenAgent, turns: Sequence[Turn]) -> Count:
    state = opened.state
    counter = space.counter_for(state.settings.model)
    raw = sum((turn.size or size_of(turn, counter)).tokens for turn in turns)
    return calibrated(raw, counter, state.ratio())
