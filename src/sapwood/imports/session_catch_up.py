"""Records turns that a person made in the program itself, in the agent that Sapwood runs there.

Such turns come after the newest turn whose rows the log knows. Nothing is recorded if a command has
moved the context since the session was last in step: then the next prompt syncs it. A turn that the
program is still running is recorded when it has ended.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from contextlib import aclosing
from pathlib import Path

from sapwood.core.commands import RecordTurn
from sapwood.core.events import NativeRecorded, Recorded, SessionSynced, TurnRecorded
from sapwood.core.ids import AgentId, Space, TranscriptRange
from sapwood.imports.import_commands import IMPORTER
from sapwood.programs import registry
from sapwood.programs.transcripts.discovery import NotATranscript
from sapwood.programs.transcripts.session_reader import read_events
from sapwood.programs.transcripts.transcript_events import TranscriptTurn, imported_command_id
from sapwood.turns.clock_and_ids import command_meta
from sapwood.turns.dispatch import Dispatcher
from sapwood.turns.log import Log

_FIRST_PAGE, _PAGE = 8, 512
"""Recorded turns are large events, and one of the newest events is most often the wanted one."""
_SAID = b'"user"'


async def catch_up(
    dispatcher: Dispatcher,
    log: Log,
    space: Space,
    agent: AgentId,
    is_in_use: Callable[[], Awaitable[bool]],
) -> int:
    """Records the turns that are new in the agent's session. Returns how many there were.

    If the last one has not ended, `is_in_use` says whether a process has the session open.
    """
    state = (await dispatcher.open(agent)).state
    held = state.session
    if held is None or state.origin is not None or state.open is not None or state.notes:
        return 0
    if not held.session.path or held.context != state.context:
        return 0
    known = await _newest_passage(log, space, agent, held.session.id)
    if known is None:
        return 0
    own = await own_rows(log, space, agent)
    program, path = held.session.program, Path(held.session.path)
    new = await asyncio.to_thread(_turns_after, path, program, known, own)
    if new and new[-1].status == "open" and await is_in_use():
        new.pop()
    for turn in new:
        record = RecordTurn(
            agent,
            turn.prompt,
            turn.items,
            "interrupted" if turn.status == "open" else turn.status,
            turn.reason,
            TranscriptRange(turn.first.key, turn.last.key, turn.last.offset),
        )
        once = imported_command_id(program, held.session.id, f"turn of {agent}", turn.first.key)
        await dispatcher.dispatch(record, command_meta(IMPORTER, command=once))
    return len(new)


async def _newest_passage(
    log: Log, space: Space, agent: AgentId, session: str
) -> TranscriptRange | None:
    """The rows of the newest turn of this session that the agent's log knows."""
    async with aclosing(_newest_first(log, space, agent)) as newest:
        async for recorded in newest:
            event = recorded.event
            if isinstance(event, NativeRecorded) and event.rows.session.id == session:
                return event.rows.passage
            if isinstance(event, TurnRecorded) and event.passage is not None:
                return event.passage
    return None


async def _newest_first(log: Log, space: Space, agent: AgentId) -> AsyncGenerator[Recorded]:
    """The events of an agent, the newest first."""
    last, limit = None, _FIRST_PAGE
    while page := await log.read(space, agent, 1, last, limit=limit, backward=True):
        for recorded in page:
            yield recorded
        last, limit = page[-1].version - 1, min(limit * 4, _PAGE)


def _turns_after(
    path: Path, program: str, known: TranscriptRange, own: Collection[str]
) -> list[TranscriptTurn]:
    try:
        if not _may_have_more(path, program, known):
            return []
        events = read_events(path, program, own)
    except (OSError, NotATranscript):
        return []
    turns = [each for each in events if isinstance(each, TranscriptTurn)]
    places = [place for place, turn in enumerate(turns) if turn.last.key == known.last]
    if not places:
        places = [place for place, turn in enumerate(turns) if turn.first.key == known.first]
    return [turn for turn in turns[places[-1] + 1 :] if turn.first.key not in own] if places else []


def _may_have_more(path: Path, program: str, known: TranscriptRange) -> bool:
    """Whether a prompt may follow the known rows: a long transcript is not read for nothing."""
    sessions = registry.program(program).sessions
    if sessions.in_database or len(sessions.parts_of(path)) > 1:
        return True
    with path.open("rb") as file:
        file.seek(known.place)
        return _SAID in file.read().partition(b"\n")[2]


async def own_rows(log: Log, space: Space, agent: AgentId) -> tuple[str, ...]:
    """The keys of the rows that Sapwood appended since the newest imported turn of an agent."""
    found: list[str] = []
    async with aclosing(_newest_first(log, space, agent)) as newest:
        async for recorded in newest:
            if isinstance(recorded.event, TurnRecorded):
                break
            if isinstance(recorded.event, SessionSynced):
                found += recorded.event.rows
    return tuple(found)
