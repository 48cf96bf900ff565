"""What going back would change: the turns that leave view and those that come back."""

from collections.abc import Sequence

from msgspec import Struct

from sapwood.conversation.call import OpenSpace
from sapwood.core.command_table import TABLE
from sapwood.core.context import Context
from sapwood.core.context_diff import diff
from sapwood.core.history_size import calibrated, size_of
from sapwood.core.ids import AgentId
from sapwood.core.token_count import Count
from sapwood.core.turn import Turn
from sapwood.runtime.open_agent import OpenAgent, read_live

__all__ = ["RewindPlace", "RewindPreview", "preview_rewind", "rewind_places"]


class RewindPlace(Struct, frozen=True):
    """A place to go back to: the line to type, the mark's name and version, and its context.

    The place before the last context command has no mark.
    """

    line: str
    context: Context
    mark: str = ""
    version: int = 0


class RewindPreview(Struct, frozen=True):
    """The turns that would leave view and come back, each with their size in all."""

    leaving: tuple[Turn, ...]
    leaving_size: Count
    returning: tuple[Turn, ...]
    returning_size: Count
    shared: int
    front_differs: bool
    same: bool


async def rewind_places(space: OpenSpace, agent: AgentId) -> tuple[RewindPlace, ...]:
    """The last context command to take back, then the marks, newest first."""
    state = (await space.dispatcher.open(agent)).state
    places: list[RewindPlace] = []
    if state.undo:
        places.append(RewindPlace(TABLE["undo"].typed, state.undo[-1].context))
    for mark in reversed(state.marks):
        if mark.name:
            line = f"{TABLE['rewind'].typed} {mark.name}"
            places.append(RewindPlace(line, mark.context, mark.name, mark.version))
    return tuple(places)


async def preview_rewind(space: OpenSpace, agent: AgentId, place: RewindPlace) -> RewindPreview:
    """What going to a place would change."""
    opened = await space.dispatcher.open(agent)
    there = await read_live(space.log, space.space, opened.state, context=place.context)
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
