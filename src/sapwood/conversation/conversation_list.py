"""Which conversations there are: of a space, of a folder, and of other programs in that folder."""

import asyncio
from pathlib import Path

from sapwood.conversation.call import OpenSpace
from sapwood.core.events import AgentStarted
from sapwood.core.ids import AgentId
from sapwood.core.log_values import AgentSummary
from sapwood.programs.registry import program_executor
from sapwood.programs.transcripts.discovery import discover
from sapwood.programs.transcripts.session_files import FoundSession
from sapwood.programs.transcripts.transcript_events import imported_agent_id

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
            facts
            for facts in page
            if folder in (None, facts.folder) and facts.parent is None and facts.status == "running"
            if not model or _same_executor(facts, model)
        ]
        if len(page) < _PAGE:
            break
        after = page[-1]
    found.sort(key=lambda facts: -facts.updated)
    for facts in found[:_RUNS]:
        [first] = await space.log.read(space.space, facts.agent, 1, 1)
        if not (isinstance(first.event, AgentStarted) and first.event.by == "script"):
            return facts.agent
    return found[0].agent if found else None


def _same_executor(facts: AgentSummary, model: str) -> bool:
    wanted, there = program_executor(model), program_executor(facts.model)
    if wanted is None or there is None:
        return facts.model == model and not facts.source
    return wanted.program == there.program


async def newest_agent(space: OpenSpace, folder: str | None) -> AgentId | None:
    """The newest running agent in this folder, or in any, that was not imported."""
    after: AgentSummary | None = None
    while page := await space.log.agents(space.space, status="running", limit=_NEWEST, after=after):
        own = [facts.agent for facts in page if not facts.source and folder in (None, facts.folder)]
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
    known = {facts.agent for facts in agents}
    return [
        each for each in sessions.values() if imported_agent_id(each.source, each.id) not in known
    ]
