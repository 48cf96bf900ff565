"""Takes the words of erased agents out of archives in object storage.

The stub of an archive names the agents of other conversations whose words the archive has: those
that sent mail to it, and those whose turns it quotes. So an erasure reads only the archives that
have something of it.
"""

from collections.abc import Collection, Iterable, Sequence

import msgspec
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
    is_archive_of,
    read_archive,
    write_again,
)
from sapwood.lifecycle.erasable_log import ErasableLog
from sapwood.turns.clock_and_ids import new_record_id, now

_Log = tuple[AgentSummary, list[Recorded]]
_PAGE = 1_000
_TRIES = 5


async def erase_archived_words(log: ErasableLog, space: Space, erased: Collection[AgentId]) -> None:
    """Replaces the words of erased agents in the archives of a space. Raises `LogError`."""
    page = await log.agents(space, label=ARCHIVE_SOURCES, limit=_PAGE)
    while page:
        for stub in page:
            if found := _sources(stub) & {*erased}:
                await _erase_in(log, space, stub, found)
        page = await log.agents(space, label=ARCHIVE_SOURCES, after=page[-1], limit=_PAGE)


def _sources(stub: AgentSummary) -> set[AgentId]:
    entry = stub.metadata.get(ARCHIVE_SOURCES)
    return {*msgspec.json.decode(entry, type=list[AgentId])} if entry else set()


async def _erase_in(
    log: ErasableLog, space: Space, stub: AgentSummary, erased: Iterable[AgentId]
) -> None:
    """Writes the object of a stub again, and tells the stub: nobody restores what was read before.

    An object that is gone has no words.
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
    names = sorted(erased)
    after = [
        (summary, [await _without(log, space, each, names) for each in events])
        for summary, events in agents
    ]
    if after != agents:
        after = _told(agents, after, erased)
        await write_again(log, space, address, after)
    await _tell(log, space, stub.agent, names)


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


async def _tell(log: ErasableLog, space: Space, stub: AgentId, erased: Sequence[AgentId]) -> None:
    for _ in range(_TRIES):
        summary = await log.summary(space, stub)
        if summary is None or not archive_address(summary):
            return
        command = CommandId(f"erasure-{new_record_id()}")
        events = tuple(
            Recorded(stub, summary.version + n, WordsErased(agent), now(), SYSTEM, command)
            for n, agent in enumerate(erased, 1)
        )
        told = structs.replace(summary, version=summary.version + len(events))
        append = Append(stub, summary.version, events, told)
        try:
            await log.commit(space, Commit((append,), Receipt(command)))
        except VersionConflict:
            continue
        return
