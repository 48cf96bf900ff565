"""Which conversations there are: of a space, of a folder, and of other programs in that folder.

What lists show of conversations beyond their summaries: how they were trimmed, what they cost.

A conversation is looked at again only if it has changed.
"""

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from msgspec import Struct

from sapwood.conversation.call import OpenSpace
from sapwood.core.content import Usage
from sapwood.core.events import AgentStarted
from sapwood.core.ids import AgentId
from sapwood.core.log_values import AgentSummary
from sapwood.programs.registry import program_executor
from sapwood.programs.transcripts.discovery import discover
from sapwood.programs.transcripts.session_files import FoundSession
from sapwood.programs.transcripts.transcript_events import imported_agent_id
from sapwood.turns.open_agent import open_state

_PAGE = 500
_PAGES = 10
_NEWEST = 50
_RUNS = 200
"""How many runs of scripts are passed over to find a conversation."""
_SESSIONS = 500


async def last_conversation(
    space: OpenSpace, folder: str | None, model: str = ""
) -> AgentId | None:
    """The root agent in this folder that was last written to, here or in the program it is from.

    Without a folder, that of any. With a `model`, only an agent that this model or program answers.
    A run of a script is meant only if there is nothing else.
    """
    found: list[AgentSummary] = []
    after: AgentSummary | None = None
    for _ in range(_PAGES):
        page = await space.log.agents(space.space, after=after, limit=_PAGE)
        found += [
            summary
            for summary in page
            if folder in (None, summary.folder)
            and summary.parent is None
            and summary.status == "running"
            if not model or _same_executor(summary, model)
        ]
        if len(page) < _PAGE:
            break
        after = page[-1]
    found.sort(key=lambda summary: -summary.updated)
    for summary in found[:_RUNS]:
        [first] = await space.log.read(space.space, summary.agent, 1, 1)
        if not (isinstance(first.event, AgentStarted) and first.event.by == "script"):
            return summary.agent
    return found[0].agent if found else None


def _same_executor(summary: AgentSummary, model: str) -> bool:
    wanted, there = program_executor(model), program_executor(summary.model)
    if wanted is None or there is None:
        return summary.model == model and not summary.source
    return wanted.program == there.program


async def newest_agent(space: OpenSpace, folder: str | None) -> AgentId | None:
    """The newest running agent in this folder, or in any, that was not imported."""
    after: AgentSummary | None = None
    while page := await space.log.agents(space.space, status="running", limit=_NEWEST, after=after):
        own = [
            summary.agent
            for summary in page
            if not summary.source and folder in (None, summary.folder)
        ]
        if own:
            return own[0]
        after = page[-1]
    return None


async def sessions_elsewhere(folder: str) -> dict[str, FoundSession]:
    """The sessions of other programs in a folder, newest first, by the path of the transcript."""
    found = await asyncio.to_thread(discover, folder=Path(folder))
    return {str(each.path): each for each in found[:_SESSIONS]}


def without_imported(
    sessions: dict[str, FoundSession], agents: list[AgentSummary]
) -> list[FoundSession]:
    """The sessions that none of these agents was imported from."""
    known = {summary.agent for summary in agents}
    return [
        each for each in sessions.values() if imported_agent_id(each.source, each.id) not in known
    ]


Trim = Literal["", "trimmed", "compacted"]


class ConversationState(Struct, frozen=True):
    """How the context begins: whole, after a trim, or with a summary; and what was spent."""

    trim: Trim = ""
    spent: Usage = Usage(0)


class ConversationStates:
    """Remembers what it has found for each version of each agent."""

    def __init__(self, space: OpenSpace) -> None:
        self._log = space.log
        self._space = space.space
        self._found: dict[AgentId, tuple[int, int, ConversationState]] = {}

    async def of(
        self, agents: Iterable[AgentSummary], max_read: int = 40
    ) -> dict[AgentId, ConversationState]:
        """The known states. Reads up to `max_read` new ones; later calls read the others."""
        looked = 0
        for summary in agents:
            place = (summary.created, summary.version)
            if looked < max_read and self._found.get(summary.agent, ())[:2] != place:
                looked += 1
                self._found[summary.agent] = (*place, await self._look(summary.agent))
        return {agent: state for agent, (_, _, state) in self._found.items()}

    async def _look(self, agent: AgentId) -> ConversationState:
        state = await open_state(self._log, self._space, agent)
        context = state.context
        trim: Trim = "trimmed" if context.head is not None else ""
        return ConversationState("compacted" if context.summary is not None else trim, state.spent)
