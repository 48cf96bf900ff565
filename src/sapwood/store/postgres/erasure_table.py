"""Statements that erase. The database has functions for them, which alone may change the log."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import asyncpg
import msgspec

from sapwood.core.erased_text import text_without_agent, without_agent
from sapwood.core.erasure import (
    OUTSIDE_KINDS,
    Erasure,
    ErasureItem,
    Hold,
    OutsideData,
    UnfinishedErasure,
    outside_data,
)
from sapwood.core.events.codec import encode
from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import LogError, Receipt
from sapwood.store.postgres.connections import ReaderPool
from sapwood.store.postgres.event_table import COLUMNS, recorded_of
from sapwood.store.postgres.fulltext import INDEX_LOCK, index_events

if TYPE_CHECKING:
    from sapwood.store.postgres.connections import Connection

__all__ = [
    "begin_erasure",
    "clear_space",
    "erase_agent",
    "erase_contents",
    "finish_erasure",
    "forget_agents",
    "insert_hold",
    "list_erasures",
    "list_holds",
    "list_unfinished",
    "release_hold",
]

_ERASURE = "id, at, by, scope, agents, events, contents, rewritten, finished"
_HOLD = "id, at, by, scope, subject, reason, released, released_by"
_UNFINISHED = f"SELECT space, {_ERASURE} FROM sapwood.erasures WHERE finished = 0 ORDER BY at, id"
_ITEMS = "SELECT agent, deleted, outside FROM sapwood.erasing WHERE erasure = $1 ORDER BY agent"
_PLANNED = """
    SELECT scope FROM sapwood.erasing JOIN sapwood.erasures ON id = erasure
    WHERE erasure = $1 AND erasing.space = $2 AND agent = $3 AND NOT deleted
"""
_LOCK = "SELECT true FROM sapwood.agents WHERE space = $1 AND agent = $2 FOR UPDATE"
_OF_KINDS = f"""
    SELECT {COLUMNS} FROM sapwood.events
    WHERE space = $1 AND agent = $2 AND kind = ANY($3) ORDER BY version
"""
_ALL = f"SELECT {COLUMNS} FROM sapwood.events WHERE space = $1 AND agent = $2 ORDER BY version"
_RECEIVERS = """
    SELECT DISTINCT data::json ->> 'to' AS agent FROM sapwood.events
    WHERE space = $1 AND agent = $2 AND kind = 'mail.sent'
"""
_QUOTING = """
    SELECT DISTINCT agent FROM sapwood.events
    WHERE space = $1 AND kind = 'context.loaded' AND data::json -> 'source' ->> 0 = $2
"""
_RECEIPTS = """
    SELECT data FROM sapwood.receipts WHERE space = $1 AND strpos(data, $3) > 0 AND command IN (
        SELECT command FROM sapwood.events WHERE space = $1 AND agent = $2
    )
"""
_receipt = msgspec.json.Decoder(Receipt)
_outside = msgspec.json.Decoder(OutsideData)
_NO_RIGHT = (
    "This database login may not erase. Nothing was erased. The owner of the tables can allow it: "
    "sapwood migrate --print-grants shows how."
)


async def begin_erasure(
    readers: ReaderPool, space: Space, erasure: Erasure, agents: Sequence[AgentId]
) -> None:
    """Stores the record of an erasure and the agents that it is about."""
    await _call(
        readers,
        "SELECT sapwood.begin_erasure($1, $2, $3, $4, $5, $6)",
        *(erasure.id, space, erasure.at, erasure.by, erasure.scope, list(agents)),
    )


async def list_unfinished(readers: ReaderPool) -> list[UnfinishedErasure]:
    """The unfinished erasures of all spaces, with their agents."""
    found: list[UnfinishedErasure] = []
    for space, *record in await readers.fetch(_UNFINISHED):
        items = tuple(
            ErasureItem(AgentId(agent), deleted, _outside.decode(outside))
            for agent, deleted, outside in await readers.fetch(_ITEMS, record[0])
        )
        found.append(UnfinishedErasure(Space(space), Erasure(*record), items))
    return found


async def erase_agent(
    connection: "Connection", space: Space, erasure: str, agent: AgentId
) -> frozenset[AgentId]:
    """Deletes everything of an agent, and plans the erasure of its children.

    Replaces its mail and quotations in the logs of others, and returns these others. Waits for the
    task that indexes the space, lest that task index words which it read before.
    """
    try:
        async with connection.transaction():
            await connection.execute(INDEX_LOCK, space)
            scope = await connection.fetchval(_PLANNED, erasure, space, agent)
            if scope is None:
                return frozenset()
            await connection.fetchval(_LOCK, space, agent)
            rows = await connection.fetch(_OF_KINDS, space, agent, list(OUTSIDE_KINDS))
            outside = outside_data(await recorded_of(connection.fetch, space, rows))
            others = frozenset[AgentId]()
            if scope != "archive":
                others = await _rewrite_others(connection, space, erasure, agent)
            await connection.execute(
                "SELECT sapwood.erase_agent($1, $2, $3, $4)",
                *(erasure, space, agent, msgspec.json.encode(outside).decode()),
            )
            return others
    except asyncpg.InsufficientPrivilegeError as error:
        raise LogError(_NO_RIGHT) from error


async def _rewrite_others(
    connection: "Connection", space: Space, erasure: str, agent: AgentId
) -> frozenset[AgentId]:
    receivers = await connection.fetch(_RECEIVERS, space, agent)
    quoting = await connection.fetch(_QUOTING, space, agent)
    others = sorted({AgentId(row["agent"]) for row in (*receivers, *quoting)} - {agent})
    changed = [
        other for other in others if await _rewrite(connection, space, erasure, agent, other)
    ]
    return frozenset(changed)


async def _rewrite(
    connection: "Connection", space: Space, erasure: str, agent: AgentId, other: AgentId
) -> bool:
    await connection.fetchval(_LOCK, space, other)
    rows = await connection.fetch(_ALL, space, other)
    changed = False
    for recorded in await recorded_of(connection.fetch, space, rows):
        event = without_agent(recorded.event, agent)
        if event is None:
            continue
        encoded = encode(event)
        hashes = [bytes.fromhex(digest) for digest in encoded.contents]
        await connection.execute(
            "SELECT sapwood.rewrite_event($1, $2, $3, $4, $5, $6, $7, $8)",
            *(erasure, space, other, recorded.version, encoded.data, b"".join(hashes) or None),
            *(hashes, [text.encode() for text in encoded.contents.values()]),
        )
        await index_events(connection, space, [msgspec.structs.replace(recorded, event=event)])
        changed = True
    await _rewrite_receipts(connection, space, erasure, agent, other)
    return changed


async def _rewrite_receipts(
    connection: "Connection", space: Space, erasure: str, agent: AgentId, other: AgentId
) -> None:
    """Replaces mail of the agent in the answers to commands of another one."""
    for row in await connection.fetch(_RECEIPTS, space, other, agent):
        receipt = _receipt.decode(row["data"])
        message = text_without_agent(receipt.message, agent)
        if message != receipt.message:
            data = msgspec.json.encode(msgspec.structs.replace(receipt, message=message)).decode()
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


async def list_erasures(readers: ReaderPool, space: Space) -> list[Erasure]:
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


async def list_holds(readers: ReaderPool, space: Space) -> list[Hold]:
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
