"""Decisions that drop turns and tool results from the middle of the live path, or restore them."""

from collections.abc import Sequence

from msgspec import Struct, structs

from sapwood.core.commands import CommandMeta, Drop, Restore
from sapwood.core.content import Note
from sapwood.core.context import ResultCut
from sapwood.core.cuts import Cuts, CutWalk, cuts_of, cuts_without, numbered_results
from sapwood.core.decide.decision import Accepted, DecisionInput, Draft, Refused, accept
from sapwood.core.decide.guards import require_running, require_turn
from sapwood.core.events import ContextCut, ContextRestored, DropDeferred
from sapwood.core.history_size import calibrated, dropped_stubs, live_stubs, stubs_save, turn_sizes
from sapwood.core.ids import AgentId, TurnPlace
from sapwood.core.live_path import LivePath
from sapwood.core.plural import counted
from sapwood.core.refusals import LastRequestStays, UnknownTurn
from sapwood.core.state import State
from sapwood.core.token_count import Count, Counter, show_tokens
from sapwood.core.turn import Turn
from sapwood.core.turn_numbers import in_words


class _Leaving(Struct, frozen=True):
    """What a command drops: whole turns, and for other turns the numbers of results."""

    turns: list[Turn]
    results: dict[int, tuple[int, ...]]
    """By the place of the turn in view: all its dropped results, also those dropped before."""
    new_results: int


def drop(inputs: DecisionInput, command: Drop, meta: CommandMeta) -> Accepted:
    """Drops turns or results. A model's drop takes effect when its turn ends."""
    if meta.actor.role == "model":
        return _defer(inputs, command, meta)
    require_running(inputs.state)
    live = inputs.live
    leaving = _leaving(live, command, inputs.state.agent)
    if kept := last_request(live):
        _require_not(leaving.turns, kept, command)
    if not leaving.turns and not leaving.new_results:
        return Accepted((), _why_nothing(inputs, command))
    draft = Draft(inputs.state, live, meta)
    event = _cut(live, leaving, inputs.counter, draft, command.place or _typed(command))
    draft.add(event)
    size = f", {show_tokens(Count(event.tokens, event.exact))}."
    if not event.tokens and not event.turns:
        size = ", which saves no tokens: the note in its place is just as long."
    back = f"/undo or /bring {event.place.removeprefix('--results ')}"
    return draft.accepted(f"Dropped {_what(event)}{size} {back} brings {_them(event)} back.")


def _defer(inputs: DecisionInput, command: Drop, meta: CommandMeta) -> Accepted:
    require_turn(inputs.state)
    live = inputs.live
    leaving = _leaving(live, command, inputs.state.agent)
    if not leaving.turns and not leaving.new_results:
        return Accepted((), _why_nothing(inputs, command))
    event = DropDeferred(command.places, command.only_results)
    return accept(inputs, meta, event, "This takes effect when the current turn ends.")


def apply_drops(draft: Draft, drops: Sequence[DropDeferred], counter: Counter) -> None:
    """Drops what a model asked for, after its turn has completed, and tells it so.

    The user's last request stays, whatever the model asked for.
    """
    for asked in drops:
        live = draft.live
        if live is None:
            return
        command = Drop(draft.state.agent, asked.places, asked.only_results)
        leaving = _leaving(live, command, draft.state.agent)
        kept = last_request(live)
        if kept is not None and kept in leaving.turns:
            leaving.turns.remove(kept)
        if leaving.turns or leaving.new_results:
            event = _cut(live, leaving, counter, draft, _typed(command))
            places = event.place.removeprefix("--results ")
            note = (
                f"At the end of your last turn you dropped {_what(event)} ({event.place}). "
                f"The command load {places} brings {_them(event)} back."
            )
            draft.add(structs.replace(event, note=note))


def drop_offer(state: State, live: LivePath | None) -> Note | None:
    """A note that tells the model to drop large tool results of older turns, if a setting asks.

    The newest turn is not offered. A program that runs the turns has no command for it.
    """
    limit = state.settings.offer_drops
    if not limit or live is None or state.session is not None:
        return None
    numbers: list[int] = []
    total = 0
    for turn, masked in zip(live.turns[:-1], live_stubs(live), strict=False):
        whole = [result for _, result in numbered_results(turn) if result.call not in masked]
        size = sum(len(turn.shown(result)) for result in whole) // _CHARACTERS
        if turn.agent == state.agent and size >= limit // _LARGE:
            numbers.append(turn.number)
            total += size
    if total <= limit:
        return None
    return Note(
        "program",
        f"Tool results of earlier turns have about {total:,} tokens and are sent with every "
        f"request. Drop those that you do not need any more with the command drop --results, for "
        f"example: drop --results {in_words(numbers).replace(',', '')}. A line stays in their "
        "place, and load brings them back.",
    )


_CHARACTERS = 4
"""Of a token, about."""

_LARGE = 20
"""Turns whose results have less than this part of the limit are not worth a command."""


def _cut(
    live: LivePath, leaving: _Leaving, counter: Counter, draft: Draft, place: str
) -> ContextCut:
    turns = live.turns
    gone = {turn.ref for turn in leaving.turns}
    sizes = turn_sizes(live, counter)
    raw = sum(size for turn, size in zip(turns, sizes, strict=True) if turn.ref in gone)
    masked = live_stubs(live)
    for index, numbers in leaving.results.items():
        turn = turns[index]
        after = masked[index] | dropped_stubs(turn, numbers)
        raw += stubs_save(turn, after, counter) - stubs_save(turn, masked[index], counter)
    return ContextCut(
        live.cuts.changed(
            cuts_of(turns, live.context.tip, live.cuts, leaving.turns),
            [ResultCut(turns[index].ref, numbers) for index, numbers in leaving.results.items()],
            live.context.head,
        ),
        place,
        len(leaving.turns),
        leaving.new_results,
        sum(turn.messages for turn in leaving.turns),
        max(0, calibrated(max(0, raw), counter, draft.state.ratio()).tokens),
        counter.exact,
    )


def _leaving(live: LivePath, command: Drop, own: AgentId) -> _Leaving:
    turns: list[Turn] = []
    results: dict[int, tuple[int, ...]] = {}
    new = 0
    for index, turn in enumerate(live.turns):
        named = [place for place in command.places if _names(place, turn, own)]
        if any(not place.result for place in named) and not command.only_results:
            turns.append(turn)
            continue
        if not named:
            continue
        known = live.cuts.results_of(turn)
        everything = any(not place.result for place in named)
        wanted = {place.result for place in named}
        found = [
            number
            for number, result in numbered_results(turn)
            if number not in known
            and (number in wanted or (everything and _saves(turn, number, len(result.content))))
        ]
        if found:
            results[index] = tuple(sorted({*known, *found}))
            new += len(found)
    return _Leaving(turns, results, new)


def _saves(turn: Turn, number: int, size: int) -> bool:
    """Whether the stub of a result is shorter than the result."""
    (stub,) = dropped_stubs(turn, (number,)).values()
    return len(stub) < size


def _names(place: TurnPlace, turn: Turn, own: AgentId) -> bool:
    return turn.agent == (place.agent or own) and place.first <= turn.number <= place.last


def last_request(live: LivePath) -> Turn | None:
    """The turn in view with the last user request; it cannot be dropped."""
    return next((turn for turn in reversed(live.turns) if turn.is_request), None)


def _require_not(leaving: Sequence[Turn], kept: Turn, command: Drop) -> None:
    if kept not in leaving:
        return
    others = [turn.number for turn in leaving if turn is not kept]
    is_own = not any(place.agent for place in command.places)
    raise Refused(LastRequestStays(kept.number, in_words(others) if is_own else ""))


def _why_nothing(inputs: DecisionInput, command: Drop) -> str:
    """Why a drop changes nothing: every turn that it names is out of view, or has no results."""
    live, own = inputs.live, inputs.state.agent
    for place in command.places:
        if not place.agent and place.last > inputs.state.turns:
            raise Refused(UnknownTurn(str(place), inputs.state.turns))
    in_view = [turn for turn in live.turns for p in command.places if _names(p, turn, own)]
    typed = (command.place or _typed(command)).removeprefix("--results ")
    if in_view and any(place.result for place in command.places):
        return f"Nothing changed: there is no result {typed} in view."
    if in_view:
        return f"Nothing changed: dropping the tool results of {typed} would save no tokens."
    first = next((turn.number for turn in live.turns if turn.agent == own), 0)
    is_old = all(not place.agent and place.last < first for place in command.places)
    if live.summary is not None and (is_old or not first):
        return f"Nothing changed: {typed} left view earlier, and the summary covers it."
    return f"Nothing changed: {typed} is not in view."


def _typed(command: Drop) -> str:
    places = " ".join(map(str, command.places))
    return f"--results {places}" if command.only_results else places


def _what(event: ContextCut | ContextRestored) -> str:
    parts = [counted(event.turns, "turn")] if event.turns else []
    parts += [counted(event.results, "tool result")] if event.results else []
    return " and ".join(parts)


def _them(event: ContextCut | ContextRestored) -> str:
    return "it" if event.turns + event.results == 1 else "them"


def restore(inputs: DecisionInput, command: Restore, meta: CommandMeta) -> Accepted:
    """Brings dropped turns and results back to their places."""
    require_running(inputs.state)
    live, own = inputs.live, inputs.state.agent
    path = inputs.uncut.turns if inputs.uncut is not None else live.turns
    coming = [turn for turn in dropped_turns(path, live.cuts) if _is_named(turn, command, own)]
    back = {turn.ref for turn in coming}
    changes: list[ResultCut] = []
    results = 0
    for turn in path:
        known = live.cuts.results_of(turn)
        named = [place for place in command.places if _names(place, turn, own)]
        wanted = {place.result for place in named}
        stays = 0 not in wanted or turn.ref in back
        left = tuple([number for number in known if stays and number not in wanted])
        if left != known:
            changes.append(ResultCut(turn.ref, left))
            results += len(known) - len(left)
    if not coming and not changes:
        return Accepted((), "Nothing changed: these turns were not dropped.")
    cuts = live.cuts.changed(cuts_without(path, live.cuts, coming), changes)
    place = command.place or " ".join(map(str, command.places))
    event = ContextRestored(cuts, place, len(coming), results)
    where = "its place" if _them(event) == "it" else "their places"
    return accept(inputs, meta, event, f"Brought {_what(event)} back to {where}.")


def _is_named(turn: Turn, command: Restore, own: AgentId) -> bool:
    return any(not place.result and _names(place, turn, own) for place in command.places)


def dropped_turns(path: Sequence[Turn], cuts: Cuts) -> list[Turn]:
    """The turns of a whole path that are cut, the newest first."""
    walk = CutWalk(cuts)
    return [turn for turn in reversed(path) if walk.is_cut(turn.ref)]
