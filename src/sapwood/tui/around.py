"""Everything that is told around the transcript, gathered at one moment."""

from msgspec import Struct

from sapwood.conversation.completion import KnownNames, known_names
from sapwood.core.budget import Budget, budget_of
from sapwood.core.counting import Counter
from sapwood.core.log import Facts
from sapwood.core.session import Session
from sapwood.core.state import State
from sapwood.garden.drift import Drift
from sapwood.garden.drifting import drift_of
from sapwood.runtime.opening import Opened
from sapwood.tui.desk import Desk
from sapwood.tui.kin import kin_of

__all__ = ["Around", "drift_in_view", "look_around"]


class Around(Struct, frozen=True):
    """The agent, what fills its window, its family, and the names that can be completed."""

    state: State | None
    budget: Budget | None
    agents: tuple[Facts, ...]
    known: KnownNames

    @property
    def is_working(self) -> bool:
        """Whether a turn is open."""
        return self.state is not None and self.state.open is not None


async def look_around(desk: Desk) -> Around:
    """As of now, whoever wrote last."""
    held, opened = desk.connection, await desk.opened()
    if opened is None:
        return Around(None, None, (), await known_names(held, None))
    state = opened.state
    budget = budget_of(state, opened.live, held.counter_for(state.settings.model))
    agents = await kin_of(held, state.agent)
    return Around(state, budget, agents, await known_names(held, state))


def drift_in_view(opened: Opened, counter: Counter) -> Drift:
    """How far what is in view has gone from what it was about."""
    state = opened.state
    session = Session("sapwood", state.agent, turns=tuple(opened.live.turns))
    return drift_of(session, counter, [each.topic for each in state.focus])
