"""`wait`: a tool call that ends when mail arrives, when agents go idle, or when its time is up.

Nobody is kept busy meanwhile. The call stays open in the log, its driver goes home, and whoever
sends mail or ends a turn has the waiting agent looked at again.
"""

from msgspec import Struct

from sapwood.core.calling import ToolOutcome
from sapwood.core.content import ToolCall
from sapwood.core.events import ToolStarted
from sapwood.core.ids import AgentId, Space
from sapwood.core.refusals import Refusal
from sapwood.core.state import State
from sapwood.runtime.finding import find_agent
from sapwood.runtime.fresh import now
from sapwood.runtime.log import Log

__all__ = ["LONGEST", "Parked", "wait_for"]

LONGEST = 3600.0
"""Seconds that a wait lasts at most."""

_USUAL = 60.0
_LOOK_AGAIN = 5.0


class Parked(Struct, frozen=True):
    """The call cannot end yet; look again after so many seconds, or when woken."""

    delay: float


async def wait_for(
    log: Log, space: Space, state: State, call: ToolCall, args: str
) -> ToolOutcome | Parked:
    """Whether the wait is over, and what ended it."""
    if state.inbox:
        count = len(state.inbox)
        return ToolOutcome(f"Mail has arrived: {count} unread. check-mail reads it.")
    names, seconds = _parsed(args)
    agents: list[AgentId] = []
    for name in names:
        found = await find_agent(log, space, name, parent=state.parent)
        if isinstance(found, Refusal):
            return ToolOutcome(found.sentence, error=True)
        agents.append(found)
    busy = [agent for agent in agents if await _is_working(log, space, agent)]
    if agents and not busy:
        return ToolOutcome(f"Idle: {', '.join(agents)}.")
    left = seconds - await _waited(log, space, state, call)
    if left <= 0:
        still = f" Still working: {', '.join(busy)}." if busy else ""
        return ToolOutcome(f"No mail came in {seconds:.0f} seconds.{still}")
    return Parked(min(left, _LOOK_AGAIN))


def _parsed(args: str) -> tuple[list[str], float]:
    words = args.split()
    if words and words[-1].replace(".", "", 1).isdigit():
        return words[:-1], min(float(words[-1]), LONGEST)
    return words, _USUAL


async def _is_working(log: Log, space: Space, agent: AgentId) -> bool:
    facts = await log.facts(space, agent)
    return facts is not None and facts.working


async def _waited(log: Log, space: Space, state: State, call: ToolCall) -> float:
    """Seconds since the call was started, by the log."""
    assert state.open is not None
    for recorded in await log.read(space, state.agent, state.open.first):
        if isinstance(recorded.event, ToolStarted) and recorded.event.call == call.id:
            return (now() - recorded.at) / 1_000_000
    return 0.0
