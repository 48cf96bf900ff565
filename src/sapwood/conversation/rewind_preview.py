"""What going back would change: the turns that leave view and those that come back."""

from collections.abc import Sequence

from msgspec import Struct

from sapwood.conversation.call import OpenSpace
from sapwood.conversation.turn_lookup import context_before
from sapwood.core.command_table import TABLE
from sapwood.core.content import Text
from sapwood.core.context import Context, undo_step
from sapwood.core.context_diff import diff
from sapwood.core.history_size import calibrated, size_of
from sapwood.core.ids import AgentId, TurnRef
from sapwood.core.token_count import Count
from sapwood.core.turn import Turn
from sapwood.turns.open_agent import OpenAgent, read_live


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
    command = to_turn or TABLE["rewind"].typed
    for turn in reversed(opened.live.turns):
        words = " ".join(part.text for part in turn.prompt if isinstance(part, Text))
        prompt = " ".join(words[:500].split())
        places.append(RewindPlace(f"{command} {turn.first}", None, turn=turn.ref, prompt=prompt))
    return tuple(places)


async def preview_rewind(space: OpenSpace, agent: AgentId, place: RewindPlace) -> RewindPreview:
    """What going to a place would change."""
    opened = await space.dispatcher.open(agent)
    context = place.context
    if context is None and place.turn is not None:
        context = await context_before(space, opened, place.turn)
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
