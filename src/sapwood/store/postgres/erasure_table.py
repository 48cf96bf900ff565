"""Statements that erase. The database has functions for them, which alone may change the log.

Removes erased rows from the raw files of the server, where PostgreSQL keeps them for later use.

A deleted row stays in its table's file until VACUUM reuses its room, and in the write-ahead log
until that file is removed or written again. `VACUUM FULL` writes each table again.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import asyncpg
import msgspec

from sapwood.core.erasure import (
    MAX_TURN,
    OUTSIDE_KINDS,
    Erasure,
    ErasureItem,
    ErasureReach,
    Hold,
    OutsideData,
    Senders,
    UnfinishedErasure,
    outside_data,
    quoted_turns,
    text_without_agent,
    turn_has_mail,
    without_agent,
)
from sapwood.core.events import SYSTEM, ContextLoaded, MailSent, Recorded, WordsErased
from sapwood.core.ids import AgentId, CommandId, EventRef, Space
from sapwood.core.log_values import AgentSummary, LogError, Receipt, VersionConflict
from sapwood.store.postgres.appender import Appender
from sapwood.store.postgres.commit_queue import CommitJob
from sapwood.store.postgres.connections import INDEX_LOCK, Reader, ReaderPool
from sapwood.store.postgres.event_table import COLUMNS, read_part, recorded_of
from sapwood.store.postgres.fulltext import index_events
from sapwood.store.postgres.key_table import KeyTable, is_closed
from sapwood.store.space_cipher import (
    SpaceCipher,
    encode_event,
    open_outside,
    open_receipt,
    seal_content,
    seal_outside,
    seal_receipt,
)

if TYPE_CHECKING:
    from sapwood.store.postgres.connections import Connection


_ERASURE = "id, at, by, scope, agents, events, contents, rewritten, finished"
_HOLD = "id, at, by, scope, subject, reason, released, released_by"
_UNFINISHED = f"SELECT space, {_ERASURE} FROM sapwood.erasures WHERE finished = 0 ORDER BY at, id"
_ITEMS = "SELECT agent, deleted, outside FROM sapwood.erasing WHERE erasure = $1 ORDER BY agent"
_BEGIN = "SELECT sapwood.begin_erasure($1, $2, $3, $4, $5, $6)"
_ERASE_AGENT = "SELECT sapwood.erase_agent($1, $2, $3, $4)"
_NOT_DELETED = "SELECT agent FROM sapwood.erasing WHERE erasure = $1 AND NOT deleted LIMIT 1"
_ARRIVING = "SELECT agent FROM sapwood.live_words WHERE space = $1 AND agent = ANY($2) LIMIT 1"
_PLANNED = """
    SELECT scope FROM sapwood.erasing JOIN sapwood.erasures ON id = erasure
    WHERE erasure = $1 AND erasing.space = $2 AND agent = $3 AND NOT deleted
"""
_VERSIONS = "SELECT agent, version FROM sapwood.agents WHERE space = $1 AND agent = ANY($2)"
_LOCK = """
    SELECT agent, version, facts FROM sapwood.agents WHERE space = $1 AND agent = ANY($2)
    ORDER BY agent FOR UPDATE
"""
_OF_KINDS = f"""
    SELECT {COLUMNS} FROM sapwood.events
    WHERE space = $1 AND agent = $2 AND kind = ANY($3) ORDER BY version
"""
_ALL = f"SELECT {COLUMNS} FROM sapwood.events WHERE space = $1 AND agent = $2 ORDER BY version"
_RECEIVERS = """
    SELECT DISTINCT data::json ->> 'to' AS agent FROM sapwood.events
    WHERE space = $1 AND agent = $2 AND kind = 'mail.sent'
"""
_QUOTATIONS = """
    SELECT DISTINCT agent, data::json -> 'source' ->> 0 AS source FROM sapwood.events
    WHERE space = $1 AND kind = 'context.loaded'
"""
_QUOTING = f"SELECT {COLUMNS} FROM sapwood.events WHERE space = $1 AND kind = 'context.loaded'"
_AT = "SELECT at FROM sapwood.erasures WHERE id = $1"
_CHILDREN = "SELECT agent FROM sapwood.agents WHERE space = $1 AND parent = ANY($2)"
_BELOW = """
    WITH RECURSIVE kin (agent) AS (
        SELECT agent FROM sapwood.agents WHERE space = $1 AND parent = ANY($2)
        UNION
        SELECT known.agent FROM kin JOIN sapwood.agents AS known
        ON known.space = $1 AND known.parent = kin.agent
    ) SELECT agent FROM kin
"""
_GOING = f"""
    SELECT agent FROM sapwood.erasing WHERE space = $1 AND NOT deleted
    UNION ({_BELOW.replace("ANY($2)", "$2")})
"""
_TELL = """
    WITH grown AS (
        UPDATE sapwood.agents SET version = $3, facts = $4 WHERE space = $1 AND agent = $2
        RETURNING version
    )
    INSERT INTO sapwood.events (space, agent, version, kind, data, at, actor, command)
    SELECT $1, $2, grown.version, $5, $6, $9, $7, $8 FROM grown
"""
_RECEIPTS = """
    SELECT data FROM sapwood.receipts WHERE space = $1 AND strpos(data, $3) > 0 AND command IN (
        SELECT command FROM sapwood.events WHERE space = $1 AND agent = $2
    )
    UNION SELECT data FROM sapwood.receipts WHERE space = $1 AND command = ANY($4)
"""
_receipt = msgspec.json.Decoder(Receipt)
_summary = msgspec.json.Decoder(AgentSummary)
_TRIES = 50
_NO_RIGHT = (
    "This database login is not allowed to erase. Nothing was erased. The owner of the tables can "
    "allow it; to see how, type: sapwood migrate --print-grants"
)


async def begin_erasure(
    readers: ReaderPool, space: Space, erasure: Erasure, agents: Sequence[AgentId]
) -> None:
    """Stores the record of an erasure and the agents that it is about."""
    await _call(readers, _BEGIN, *_begin_arguments(space, erasure, agents))


def _begin_arguments(
    space: Space, erasure: Erasure, agents: Sequence[AgentId]
) -> tuple[object, ...]:
    return (erasure.id, space, erasure.at, erasure.by, erasure.scope, list(agents))


async def list_unfinished(
    readers: ReaderPool, keys: KeyTable | None = None
) -> list[UnfinishedErasure]:
    """The unfinished erasures of all spaces whose key this program has, with their agents."""
    found: list[UnfinishedErasure] = []
    for space, *record in await readers.fetch(_UNFINISHED):
        if await is_closed(readers, space, keys):
            continue
        cipher = None if keys is None else await keys.of(space)
        items = tuple(
            ErasureItem(AgentId(agent), deleted, open_outside(cipher, agent, outside))
            for agent, deleted, outside in await readers.fetch(_ITEMS, record[0])
        )
        found.append(UnfinishedErasure(Space(space), Erasure(*record), items))
    return found


async def erase_agent(
    connection: "Connection",
    space: Space,
    erasure: str,
    agent: AgentId,
    archived: Senders,
    keys: KeyTable | None = None,
) -> frozenset[AgentId]:
    """Deletes everything of an agent, and plans the erasure of its children.

    Replaces its mail and quotations in the logs of others, and those of the agents of whose archive
    it is the stub. Tells it to these others and to their descendants by an event, and returns them.
    Waits for the task that indexes the space, lest that
    task index words which it read before.
    """
    cipher = None if keys is None else await keys.read(space)
    try:
        for attempt in range(_TRIES):
            async with connection.transaction():
                await connection.execute(INDEX_LOCK, space)
                scope = await connection.fetchval(_PLANNED, erasure, space, agent)
                if scope is None:
                    return frozenset()
                words = _ErasedWords(connection, space, erasure, agent, archived, keys, cipher)
                if await words.lock(alone=scope == "archive"):
                    rows = await connection.fetch(_OF_KINDS, space, agent, list(OUTSIDE_KINDS))
                    events = await recorded_of(connection.fetch, space, rows, keys)
                    outside = outside_data(events)
                    told = await words.erase()
                    await connection.execute(
                        _ERASE_AGENT,
                        *(erasure, space, agent, seal_outside(cipher, agent, outside)),
                    )
                    return told
            await asyncio.sleep(0.002 * attempt)
    except asyncpg.InsufficientPrivilegeError as error:
        raise LogError(_NO_RIGHT) from error
    raise LogError(
        f"The erasure is not finished: agents that got mail from '{agent}' kept changing during "
        f"all {_TRIES} attempts. It resumes the next time the database is opened."
    )


async def replace_agents(
    connection: "Connection",
    space: Space,
    erasure: Erasure,
    expected: Mapping[AgentId, int],
    job: CommitJob,
    keys: KeyTable | None,
) -> None:
    """Deletes agents that are at these versions, and stores a commit in their place.

    Does nothing if it was done before, by a connection that was lost. Raises `VersionConflict` if
    something was added to one of the agents.
    """
    cipher = None if keys is None else await keys.read(space)
    wanted = sorted(expected)
    try:
        async with connection.transaction():
            await connection.execute(INDEX_LOCK, space)
            if await connection.fetchval(_AT, erasure.id) is not None:
                return
            await connection.execute(_BEGIN, *_begin_arguments(space, erasure, wanted))
            found = {
                row["agent"]: row["version"] for row in await connection.fetch(_LOCK, space, wanted)
            }
            arriving = await connection.fetchval(_ARRIVING, space, wanted)
            for agent, version in expected.items():
                if found.get(agent) != version or agent == arriving:
                    raise VersionConflict(agent, version)
                rows = await connection.fetch(_OF_KINDS, space, agent, list(OUTSIDE_KINDS))
                events = await recorded_of(connection.fetch, space, rows, keys)
                outside = OutsideData(restored=outside_data(events).archives)
                await connection.execute(
                    _ERASE_AGENT,
                    *(erasure.id, space, agent, seal_outside(cipher, agent, outside)),
                )
            if new := await connection.fetchval(_NOT_DELETED, erasure.id):
                raise VersionConflict(AgentId(new), 0)
            await Appender.append_within(connection, job)
    except asyncpg.InsufficientPrivilegeError as error:
        raise LogError(_NO_RIGHT) from error


class _ErasedWords:
    """Replaces the words of an agent in the logs of others, within a transaction.

    `archived` are agents whose words are replaced too.
    """

    def __init__(
        self,
        connection: "Connection",
        space: Space,
        erasure: str,
        agent: AgentId,
        archived: Senders,
        keys: KeyTable | None,
        cipher: SpaceCipher | None,
    ) -> None:
        self._keys = keys
        self._cipher = cipher
        self._connection = connection
        self._space = space
        self._erasure = erasure
        self._agent = agent
        self._sources: Senders = {agent: frozenset(), **archived}
        self._reach: dict[AgentId, set[AgentId]] = {}
        self._others: set[AgentId] = set()
        self._locked: dict[AgentId, AgentSummary] = {}

    async def lock(self, *, alone: bool) -> bool:
        """Locks the agent and all that its words may have reached, unless `alone`.

        Returns false if one of them was changed meanwhile. A transaction has its number from its
        first lock on, so the versions are read before: else its events could come before earlier
        ones of the same agent in a tail.
        """
        if not alone:
            await self._find()
        wanted = sorted({self._agent, *self._others})
        before = await self._connection.fetch(_VERSIONS, self._space, wanted)
        rows = await self._connection.fetch(_LOCK, self._space, wanted)
        self._locked = {AgentId(row["agent"]): _summary.decode(row["facts"]) for row in rows}
        if alone:
            return True
        found = self._others
        await self._find()
        return found == self._others and {(row["agent"], row["version"]) for row in before} == {
            (row["agent"], row["version"]) for row in rows
        }

    async def erase(self) -> frozenset[AgentId]:
        """Replaces the words. Returns the agents that were told."""
        everyone = set[AgentId]()
        for source, reach in self._reach.items():
            others = sorted(reach & self._others)
            changed = [other for other in others if await self._rewrite(source, other)]
            rows = await self._connection.fetch(_BELOW, self._space, changed)
            told = {*changed, *(AgentId(row["agent"]) for row in rows)} & self._others
            for other in sorted(told):
                await self._tell(source, other)
            everyone |= told
        return frozenset(everyone)

    async def _find(self) -> None:
        fetch, space = self._connection.fetch, self._space
        quotations = await self._quotations()
        for source, known in self._sources.items():
            reach = ErasureReach(source, quotations)
            new = reach.begin({*known, *await self._receivers(source)})
            while new:
                children = await fetch(_CHILDREN, space, list(new))
                new = reach.add(AgentId(row["agent"]) for row in children)
            self._reach[source] = reach.agents
        going = {AgentId(row["agent"]) for row in await fetch(_GOING, space, self._agent)}
        self._others = set[AgentId]().union(*self._reach.values()) - going - {self._agent}

    async def _quotations(self) -> list[tuple[AgentId, AgentId]]:
        """The agents that quote others, each with the one that it quotes."""
        fetch, space = self._connection.fetch, self._space
        if self._cipher is None:
            return [(AgentId(a), AgentId(b)) for a, b in await fetch(_QUOTATIONS, space)]
        rows = await fetch(_QUOTING, space)
        events = await recorded_of(fetch, space, rows, self._keys)
        return [
            (each.agent, each.event.source.agent)
            for each in events
            if isinstance(each.event, ContextLoaded)
        ]

    async def _receivers(self, source: AgentId) -> list[AgentId]:
        """To whom an agent sent mail."""
        fetch, space = self._connection.fetch, self._space
        if self._cipher is None:
            return [AgentId(row["agent"]) for row in await fetch(_RECEIVERS, space, source)]
        rows = await fetch(_OF_KINDS, space, source, [MailSent.kind])
        events = await recorded_of(fetch, space, rows, self._keys)
        return [each.event.to for each in events if isinstance(each.event, MailSent)]

    async def _rewrite(self, source: AgentId, other: AgentId) -> bool:
        connection, space, erasure = self._connection, self._space, self._erasure
        rows = await connection.fetch(_ALL, space, other)
        events = await recorded_of(connection.fetch, space, rows, self._keys)
        quoted = {turn for turn in quoted_turns(events) if await self._has_mail(source, turn)}
        changed: set[CommandId] = set()
        for recorded in events:
            event = without_agent(recorded.event, source, quoted)
            if event is None:
                continue
            changed_event = msgspec.structs.replace(recorded, event=event)
            encoded = encode_event(self._cipher, changed_event)
            hashes = [bytes.fromhex(digest) for digest in encoded.contents]
            texts = [seal_content(self._cipher, *each) for each in encoded.contents.items()]
            await connection.execute(
                "SELECT sapwood.rewrite_event($1, $2, $3, $4, $5, $6, $7, $8)",
                *(erasure, space, other, recorded.version, encoded.data, b"".join(hashes) or None),
                *(hashes, texts),
            )
            await index_events(connection, space, [changed_event], self._cipher)
            changed.add(recorded.command)
        await _rewrite_receipts(connection, space, erasure, source, other, self._cipher, changed)
        return bool(changed)

    async def _has_mail(self, source: AgentId, turn: EventRef) -> bool:
        if turn.agent not in self._reach[source]:
            return False
        events = await read_part(
            *(self._connection.fetch, self._space, turn.agent, turn.version),
            *(None, MAX_TURN, False, self._keys),
        )
        return turn_has_mail(events, source)

    async def _tell(self, source: AgentId, other: AgentId) -> None:
        """Appends the event by which every process notices that its memory is outdated."""
        before = self._locked.get(other)
        if before is None:
            return
        summary = msgspec.structs.replace(before, version=before.version + 1)
        self._locked[other] = summary
        at = await self._connection.fetchval(_AT, self._erasure)
        command = CommandId(f"erasure-{self._erasure}")
        recorded = Recorded(other, summary.version, WordsErased(source), at, SYSTEM, command)
        event = encode_event(self._cipher, recorded)
        await self._connection.execute(
            _TELL,
            *(self._space, other, summary.version, msgspec.json.encode(summary).decode()),
            *(event.kind, event.data, str(SYSTEM), command, at),
        )


async def _rewrite_receipts(
    connection: "Connection",
    space: Space,
    erasure: str,
    agent: AgentId,
    other: AgentId,
    cipher: SpaceCipher | None,
    changed: set[CommandId],
) -> None:
    """Replaces mail of the agent in the answers to commands of another one.

    The receipts of the `changed` commands lose their digest: their content had words of the agent.
    """
    rows = await connection.fetch(_RECEIPTS, space, other, "" if cipher else agent, list(changed))
    for row in rows:
        receipt = open_receipt(cipher, _receipt.decode(row["data"]))
        message = text_without_agent(receipt.message, agent)
        digest = "" if receipt.command in changed else receipt.digest
        kept = msgspec.structs.replace(receipt, message=message, digest=digest)
        if kept != receipt:
            data = msgspec.json.encode(seal_receipt(cipher, kept)).decode()
            await connection.execute(
                "SELECT sapwood.rewrite_receipt($1, $2, $3, $4)",
                *(erasure, space, receipt.command, data),
            )


async def erase_contents(readers: ReaderPool, space: Space, erasure: str) -> None:
    """Deletes the long texts that no event of the space refers to any more."""
    await _call(readers, "SELECT sapwood.erase_contents($1, $2)", erasure, space)


async def clear_space(readers: ReaderPool, space: Space, erasure: str) -> None:
    """Deletes what a space has beside its agents."""
    await _call(readers, "SELECT sapwood.clear_space($1, $2)", erasure, space)


async def forget_agents(readers: ReaderPool, erasure: str) -> None:
    """Deletes the ids of what was erased."""
    await _call(readers, "SELECT sapwood.forget_agents($1)", erasure)


async def finish_erasure(readers: ReaderPool, erasure: str, at: int) -> None:
    """Completes the record."""
    await _call(readers, "SELECT sapwood.finish_erasure($1, $2)", erasure, at)


async def list_erasures(readers: Reader, space: Space) -> list[Erasure]:
    """The records of a space, newest first."""
    query = f"SELECT {_ERASURE} FROM sapwood.erasures WHERE space = $1 ORDER BY at DESC, id"
    return [Erasure(*row) for row in await readers.fetch(query, space)]


async def insert_hold(readers: ReaderPool, space: Space, hold: Hold) -> None:
    """Stores a legal hold."""
    await _call(
        readers,
        "INSERT INTO sapwood.holds (id, space, at, by, scope, subject, reason)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7)",
        *(hold.id, space, hold.at, hold.by, hold.scope, hold.subject, hold.reason),
    )


async def release_hold(readers: ReaderPool, space: Space, hold: str, by: str, at: int) -> bool:
    """Releases a hold; returns false if there is none in force with this id."""
    query = (
        "UPDATE sapwood.holds SET released = $4, released_by = $3"
        " WHERE space = $1 AND id = $2 AND released = 0 RETURNING id"
    )
    return bool(await _call(readers, query, space, hold, by, at))


async def list_holds(readers: Reader, space: Space) -> list[Hold]:
    """The holds of a space, newest first; released ones too."""
    query = f"SELECT {_HOLD} FROM sapwood.holds WHERE space = $1 ORDER BY at DESC, id"
    return [Hold(*row) for row in await readers.fetch(query, space)]


async def _call(readers: ReaderPool, query: str, *args: object) -> "list[asyncpg.Record]":
    try:
        return await readers.fetch(query, *args)
    except LogError as error:
        if isinstance(error.__cause__, asyncpg.InsufficientPrivilegeError):
            raise LogError(_NO_RIGHT) from error
        raise


_TABLES = """
    SELECT format('%I.%I', relnamespace::regnamespace, relname) AS name FROM pg_class
    WHERE relkind = 'r' AND relnamespace::regnamespace::text IN ('sapwood', 'sapwood_engine')
    ORDER BY relname
"""
_STATISTICS = "pg_catalog.pg_statistic"


async def scrub_tables(connection: "Connection") -> str:
    """Writes every table again, one after the other, and begins a new file of the WAL.

    Each table is locked while it is written. Returns what this login may not do; empty if nothing.
    Raises `LogError` if it does not own the tables.
    """
    for row in await connection.fetch(_TABLES):
        try:
            await connection.execute(f"VACUUM (FULL, ANALYZE) {row['name']}", timeout=3_600)
        except asyncpg.InsufficientPrivilegeError as error:
            raise LogError(
                "Only the owner of the tables can rewrite them. Nothing was removed from the "
                "files. Connect as the owner."
            ) from error
    left: list[str] = []
    for statement in (f"VACUUM FULL {_STATISTICS}", "SELECT pg_switch_wal()", "CHECKPOINT"):
        try:
            await connection.execute(statement, timeout=3_600)
        except asyncpg.PostgresError:
            left.append(statement)
    if not left:
        return ""
    return (
        f"A superuser has to run: {'; '.join(left)}. Until then, the files may still contain "
        "erased data."
    )
