"""Changes that were given with `--later`: made as soon as nobody has the session open."""

import asyncio

from msgspec import Struct

from sapwood.conversation.session_changes import SessionChanges, not_applied
from sapwood.core.errors import RefusedError
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Failure
from sapwood.core.program_session import ProgramSession
from sapwood.core.refusals import SessionInUse
from sapwood.programs.agent_provider import SessionBusy


class LateChange(Struct, frozen=True):
    """What became of a change of this session after it was closed.

    `problem` says why the session does not have it; empty if it has. `again`: another attempt may
    make it. `new_session` is the id of the session that has it instead, if one was made.
    """

    session: str
    problem: str = ""
    again: bool = False
    new_session: str = ""


async def sync_when_closed(
    changes: SessionChanges, agent: AgentId, *, attempts: int, seconds: float
) -> LateChange | None:
    """Brings a session to the present history as soon as nobody has it open.

    Looks this many times, with a pause between. Returns None if nothing was to be changed, or if
    the session was open each time.
    """
    if not await changes.has_session(agent) or not await changes.is_behind(agent):
        return None
    session = await changes.session(agent)
    for attempt in range(attempts):
        if attempt:
            await asyncio.sleep(seconds)
        try:
            async with changes.exclusive(agent):
                await changes.prepare(agent)
                return await _applied(changes, agent, session)
        except SessionBusy:
            continue
        except RefusedError as refused:
            if not isinstance(refused.refusal, SessionInUse):
                return LateChange(session.id, refused.refusal.sentence)
    return None


async def _applied(changes: SessionChanges, agent: AgentId, before: ProgramSession) -> LateChange:
    """Makes the change now. Raises `SessionBusy`."""
    try:
        after = await changes.apply(agent)
    except Failure as error:
        if not await changes.is_behind(agent):
            return LateChange(before.id)  # what it has since made the change unnecessary
        return LateChange(before.id, not_applied(before, error), again=True)
    if after.id == before.id:
        return LateChange(before.id)
    problem = await changes.next_step(agent, before, after)
    return LateChange(before.id, problem, new_session=after.id)
