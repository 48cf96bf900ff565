"""Takes the words of erased agents out of archives in object storage.

The stub of an archive names the agents of other conversations whose words the archive has: those
that sent mail to it, and those whose turns it quotes. So an erasure reads only the archives that
have something of it.
"""

from collections.abc import AsyncGenerator, Collection, Iterable, Sequence

from msgspec import structs

from sapwood.core.erasure import (
    ARCHIVE_SOURCES,
    MAX_TURN,
    quoted_turns,
    turn_has_mail,
    without_agent,
)
from sapwood.core.errors import LogError, VersionConflict
from sapwood.core.events import SYSTEM, Recorded, WordsErased
from sapwood.core.ids import AgentId, CommandId, EventRef, Space
from sapwood.core.log_values import AgentSummary, Append, Commit, Receipt
from sapwood.lifecycle.archive import (
    archive_address,
    delete_object,
    is_archive_of,
    read_archive,
    write_again,
)
from sapwood.lifecycle.archive_stub import sources_in
from sapwood.lifecycle.erasable_log import ErasableLog
from sapwood.turns.clock_and_ids import new_record_id, now

_Log = tuple[AgentSummary, list[Recorded]]
_PAGE = 1_000
_TRIES = 5


async def refuse_restores(log: ErasableLog, space: Space, erased: Collection[AgentId]) -> None:
    """Refuses restores that have read an archive with words of these agents before.

    Those that read it later see that the erasure is not finished.
    """
    async for stub, found in _stubs(log, space, erased):
        await _tell(log, space, stub, found)


async def erase_archived_words(log: ErasableLog, space: Space, erased: Collection[AgentId]) -> None:
    """Replaces the words of erased agents in the archives of a space.

    An archive that fails does not keep the others waiting. Raises the first `LogError`.
    """
    problem: LogError | None = None
    async for stub, found in _stubs(log, space, erased):
        try:
            await _erase_in(log, space, stub, found)
        except LogError as error:
            problem = problem or error
    if problem is not None:
        raise problem


async def _stubs(
    log: ErasableLog, space: Space, erased: Collection[AgentId]
) -> AsyncGenerator[tuple[AgentSummary, list[AgentId]]]:
    """The stubs of archives with words of these agents, each with those agents."""
    page = await log.agents(space, label=ARCHIVE_SOURCES, limit=_PAGE)
    while page:
        for stub in page:
            if found := sources_in(stub) & {*erased}:
                yield stub, sorted(found)
        page = await log.agents(space, label=ARCHIVE_SOURCES, after=page[-1], limit=_PAGE)


async def _erase_in(
    log: ErasableLog, space: Space, stub: AgentSummary, erased: Sequence[AgentId]
) -> None:
    """Writes the object of a stub again, and tells the stub: nobody restores what was read before.

    An object that is gone has no words. One that no stub needs any more is deleted again.
    """
    address = archive_address(stub)
    if not is_archive_of(address, space, stub.agent):
        return
    try:
        agents = await read_archive(log, space, address)
    except LogError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return
        raise
    after = [
        (summary, [await _without(log, space, each, erased) for each in events])
        for summary, events in agents
    ]
    if after != agents:
        after = _told(agents, after, erased)
        await write_again(log, space, address, after)
    if not await _tell(log, space, stub, erased):
        await delete_object(address)


def _told(before: Iterable[_Log], after: Iterable[_Log], erased: Iterable[AgentId]) -> list[_Log]:
    """These logs, with an event for each erased agent at the end of those that have changed.

    It is also added to those that were forked from them. By it, every process notices that what it
    read before the logs were archived is outdated when they come back. Parents come first.
    """
    command = CommandId(f"erasure-{new_record_id()}")
    told: list[_Log] = []
    outdated: set[AgentId] = set()
    for old, (summary, events) in zip(before, after, strict=True):
        if old == (summary, events) and summary.parent not in outdated:
            told.append(old)
            continue
        outdated.add(summary.agent)
        new = [
            Recorded(summary.agent, summary.version + n, WordsErased(agent), now(), SYSTEM, command)
            for n, agent in enumerate(sorted(erased), 1)
        ]
        grown = structs.replace(summary, version=summary.version + len(new))
        told.append((grown, [*events, *new]))
    return told


async def _without(
    log: ErasableLog,
    space: Space,
    recorded: Recorded,
    erased: Iterable[AgentId],
) -> Recorded:
    for agent in erased:
        quoted = {
            turn
            for turn in quoted_turns([recorded])
            if await _may_have_mail(log, space, turn, agent)
        }
        event = without_agent(recorded.event, agent, quoted)
        if event is not None:
            recorded = structs.replace(recorded, event=event)
    return recorded


async def _may_have_mail(log: ErasableLog, space: Space, turn: EventRef, sender: AgentId) -> bool:
    events = await log.read(space, turn.agent, turn.version, limit=MAX_TURN)
    return not events or turn_has_mail(events, sender)


async def _tell(
    log: ErasableLog, space: Space, stub: AgentSummary, erased: Sequence[AgentId]
) -> bool:
    """Adds an event for each erased agent to a stub. Returns false if its archive has none now.

    Raises `VersionConflict` if others change the stub all the time.
    """
    tries = 0
    while True:
        summary = await log.summary(space, stub.agent)
        if summary is None or archive_address(summary) != archive_address(stub):
            return False
        command = CommandId(f"erasure-{new_record_id()}")
        events = tuple(
            Recorded(stub.agent, summary.version + n, WordsErased(agent), now(), SYSTEM, command)
            for n, agent in enumerate(erased, 1)
        )
        told = structs.replace(summary, version=summary.version + len(events))
        append = Append(stub.agent, summary.version, events, told)
        try:
            await log.commit(space, Commit((append,), Receipt(command)))
        except VersionConflict:
            tries += 1
            if tries == _TRIES:
                raise
        else:
            return True
