"""Which conversations there are: of a space, of a folder, and of other programs in that folder."""

import asyncio
from pathlib import Path

from sapwood.conversation.call import OpenSpace
from sapwood.core.ids import AgentId
from sapwood.core.log_values import AgentSummary
from sapwood.sources import FoundSession, discover
from sapwood.sources.source_programs import imported_agent_id

__all__ = ["last_conversation", "newest_agent", "sessions_elsewhere", "without_imported"]

_PAGE = 500
_PAGES = 10
_NEWEST = 50
_SESSIONS = 500


async def last_conversation(space: OpenSpace, folder: str) -> AgentId | None:
    """The root agent in this folder that was last written to, here or in the program it is from."""
    best: AgentSummary | None = None
    after: AgentSummary | None = None
    for _ in range(_PAGES):
        page = await space.log.agents(space.space, after=after, limit=_PAGE)
        for facts in page:
            fits = facts.folder == folder and facts.parent is None and facts.status == "running"
            if fits and (best is None or facts.updated > best.updated):
                best = facts
        if len(page) < _PAGE:
            break
        after = page[-1]
    return best.agent if best else None


async def newest_agent(space: OpenSpace) -> AgentId | None:
    """The newest running agent that was not imported."""
    after: AgentSummary | None = None
    while page := await space.log.agents(space.space, status="running", limit=_NEWEST, after=after):
        own = [facts.agent for facts in page if not facts.source]
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
