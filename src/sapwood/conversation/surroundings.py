"""What a screen shows around a conversation: its state, what fills its window, its family."""

import asyncio

from msgspec import Struct

from sapwood.analysis.chapter_report import ChapterReport, DeclaredStatus, JudgedTurns
from sapwood.analysis.chapters.chapter_builder import chapters_of
from sapwood.analysis.declared_notes import goals_of
from sapwood.analysis.session import Session
from sapwood.conversation.call import OpenSpace, Services
from sapwood.conversation.completion import KnownNames, known_names
from sapwood.conversation.context_breakdown import Category, categories
from sapwood.core.budget import Budget, budget_of
from sapwood.core.content import Usage
from sapwood.core.ids import AgentId
from sapwood.core.log_values import AgentSummary
from sapwood.core.settings import Workspace
from sapwood.core.state import State

_FAMILY = 60


class Surroundings(Struct, frozen=True):
    """The agent, what fills its window, its family, and the names that can be completed.

    `cost` is that of the agent in millionths of a dollar; that of a root includes its descendants,
    so also the answers on the side.
    """

    state: State | None
    budget: Budget | None
    agents: tuple[AgentSummary, ...]
    known: KnownNames
    cost: int = 0

    @property
    def is_working(self) -> bool:
        """Whether a turn is open."""
        return self.state is not None and self.state.open is not None


class WindowUse(Struct, frozen=True):
    """What fills the window, in a few figures: cheap enough to show after every event.

    `open_turn` is the number of the open turn, 0 if none is open.
    """

    agent: AgentId
    budget: Budget
    categories: tuple[Category, ...]
    unread: int
    spent: Usage
    open_turn: int


async def window_use(space: OpenSpace, agent: AgentId) -> WindowUse:
    """The use of the window as it is now."""
    opened = await space.dispatcher.open(agent)
    state, live = opened.state, opened.live
    counter = space.counter_for(state.settings.model)
    return WindowUse(
        agent,
        budget_of(state, live, counter),
        tuple(categories(state, live, counter)),
        len(state.inbox),
        state.spent,
        state.turns if state.open else 0,
    )


async def surroundings(services: Services, agent: AgentId | None, folder: str = "") -> Surroundings:
    """The surroundings as they are now; without an agent, only the names, for a folder."""
    space = services.space
    if agent is None:
        custom = await services.read_custom_commands(Workspace(folder))
        return Surroundings(None, None, (), await known_names(space, None, custom))
    opened = await space.dispatcher.open(agent)
    state = opened.state
    budget = budget_of(state, opened.live, space.counter_for(state.settings.model))
    agents = await family_of(space, agent)
    custom = await services.read_custom_commands(services.workspace_of(state))
    known = await known_names(space, state, custom)
    cost = state.spent.cost
    if state.parent is None and len(agents) > 1:
        cost = (await space.dispatcher.account(agent)).cost
    return Surroundings(state, budget, agents, known, cost)


async def family_of(space: OpenSpace, agent: AgentId) -> tuple[AgentSummary, ...]:
    """The root of an agent, then all that descend from the root."""
    ancestors = await space.log.ancestors(space.space, agent)
    root = ancestors[-1] if ancestors else agent
    agents = [root, *(await space.log.descendants(space.space, root))[:_FAMILY]]
    found = [await space.log.summary(space.space, each) for each in agents]
    return tuple(summary for summary in found if summary is not None)


async def chapters_in_view(space: OpenSpace, agent: AgentId) -> ChapterReport:
    """The chapters of what is in view."""
    opened = await space.dispatcher.open(agent)
    state = opened.state
    session = Session("sapwood", state.agent, turns=tuple(opened.live.turns))
    counter = space.counter_for(state.settings.model)
    goals = (*(each.topic for each in state.focus), *goals_of(state.declared))
    stretches = state.judged.stretches
    judged = tuple(JudgedTurns(each.first, each.last, each.status) for each in stretches)
    declared = DeclaredStatus(tuple(dict.fromkeys(goals)), state.background, judged)
    return await asyncio.to_thread(chapters_of, session, counter, declared)
