"""What differs between two contexts of one agent."""

from msgspec import Struct

from sapwood.app.connection import Connection
from sapwood.core.content import Text
from sapwood.core.diff import ContextDiff, diff
from sapwood.core.errors import RefusedError, SapwoodError
from sapwood.core.ids import AgentId
from sapwood.core.live import Live
from sapwood.core.refusals import UnknownMark, nearest
from sapwood.core.turn import Turn
from sapwood.display.text import cut
from sapwood.runtime.opening import Opened, open_agent, read_live

__all__ = ["Compared", "compare"]


class Compared(Struct, frozen=True):
    """Two contexts by what they were called, and what differs between them."""

    left: str
    right: str
    found: ContextDiff

    def lines(self, width: int) -> list[str]:
        """The difference as lines, those of one side behind a sign."""
        found = self.found
        if found.same:
            return [f"{self.left} and {self.right} show the model the same."]
        lines = [_turn("-", turn, width) for turn in found.only_left]
        lines += [_turn("+", turn, width) for turn in found.only_right]
        lines.append(f"{found.shared} turn{'' if found.shared == 1 else 's'} in both.")
        if found.front_differs:
            lines.append("What stands before the turns differs: summary or carried request.")
        if found.mask_differs:
            lines.append("Other tool results are masked.")
        return lines


async def compare(
    connection: Connection, agent: AgentId, left: str, right: str | None = None
) -> Compared:
    """The difference between two places, or between one and now.

    A place is the name of a mark, or a version of the log.
    """
    opened = await connection.dispatcher.open(agent)
    one = await _live(connection, opened, left)
    other = opened.live if right is None else await _live(connection, opened, right)
    return Compared(left, right or "now", diff(one, other))


async def _live(connection: Connection, opened: Opened, place: str) -> Live:
    log, space, state = connection.log, connection.space, opened.state
    if place.isdigit():
        if not 1 <= int(place) <= state.version:
            raise SapwoodError(f"The log of {state.agent} ends at version {state.version}.")
        return (await open_agent(log, space, state.agent, int(place))).live
    for mark in reversed(state.marks):
        if mark.name == place:
            return await read_live(log, space, state, context=mark.context)
    names = [mark.name for mark in state.marks if mark.name]
    raise RefusedError(UnknownMark(place, nearest(place, names)))


def _turn(sign: str, turn: Turn, width: int) -> str:
    words = " ".join(part.text for part in turn.prompt if isinstance(part, Text))
    return cut(f"{sign} {turn.agent}:{turn.first} {words}", width)
