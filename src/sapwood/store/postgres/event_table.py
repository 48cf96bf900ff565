"""Statements that read events, with their long texts put back, and those for snapshots."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from sapwood.core.events import Recorded, WordsErased
from sapwood.core.ids import AgentId, CommandId, EventRef, Space
from sapwood.core.log_values import Snapshot
from sapwood.store.postgres.connections import Fetch, Reader, ReaderPool
from sapwood.store.postgres.key_table import KeyTable
from sapwood.store.space_cipher import (
    SpaceCipher,
    decode_event,
    open_content,
    open_snapshot,
    seal_snapshot,
)

if TYPE_CHECKING:
    from sapwood.store.postgres.connections import Connection, Row


class EventPlace(NamedTuple):
    """The place of an event in the order of the commits of all spaces. Never leaves the store."""

    tx: int = 0
    position: int = 0


COLUMNS = "agent, version, kind, data, contents, at, actor, command"
MAX_BIGINT = 2**63 - 1

_FORWARD = f"""
    SELECT {COLUMNS} FROM sapwood.events
    WHERE space = $1 AND agent = $2 AND version BETWEEN $3 AND $4
    ORDER BY version LIMIT $5
"""
_BACKWARD = _FORWARD.replace("ORDER BY version", "ORDER BY version DESC")
_REFS = f"""
    SELECT event.{COLUMNS.replace(", ", ", event.")}
    FROM unnest($2::text[], $3::bigint[]) AS asked (agent, version),
    LATERAL (
        -- One by one: without statistics of a new table, a join would read all of it.
        SELECT * FROM sapwood.events
        WHERE space = $1 AND agent = asked.agent AND version = asked.version LIMIT 1
    ) AS event
"""
_NEWEST = f"""
    SELECT {COLUMNS}, tx, position FROM sapwood.events
    WHERE space = $1 AND ($2::xid8 IS NULL OR (tx, position) < ($2, $3))
    ORDER BY tx DESC, position DESC LIMIT $4
"""
_CONTENTS = "SELECT hash, data FROM sapwood.contents WHERE space = $1 AND hash = ANY($2)"
_HASH_BYTES = 32


async def read_part(
    fetch: Fetch,
    space: Space,
    agent: AgentId,
    first: int,
    last: int | None,
    limit: int | None,
    backward: bool,
    keys: KeyTable | None = None,
) -> list[Recorded]:
    """Events of one agent from version `first` to `last`, newest first if `backward`."""
    rows = await fetch(
        _BACKWARD if backward else _FORWARD,
        *(space, agent, first, MAX_BIGINT if last is None else last, limit),
    )
    return await recorded_of(fetch, space, rows, keys)


async def read_refs(
    fetch: Fetch, space: Space, refs: Sequence[EventRef], keys: KeyTable | None = None
) -> dict[EventRef, Recorded]:
    """Single events of any agents, by their reference."""
    agents, versions = [ref.agent for ref in refs], [ref.version for ref in refs]
    rows = await fetch(_REFS, space, agents, versions)
    return {each.ref: each for each in await recorded_of(fetch, space, rows, keys)}


async def read_newest(
    fetch: Fetch,
    space: Space,
    before: "EventPlace | None",
    limit: int,
    keys: KeyTable | None = None,
) -> "tuple[list[Recorded], EventPlace | None]":
    """The events of a space before a place, newest first, and the place for the next page.

    The place is None at the end. Events that are committed meanwhile may be missing.
    """
    place = (None, None) if before is None else before
    rows = await fetch(_NEWEST, space, *place, limit)
    events = await recorded_of(fetch, space, rows, keys)
    last = EventPlace(rows[-1]["tx"], rows[-1]["position"]) if len(rows) == limit else None
    return events, last


async def recorded_of(
    fetch: Fetch, space: Space, rows: "Sequence[Row]", keys: KeyTable | None = None
) -> list[Recorded]:
    """Decodes rows that start with `COLUMNS`, and puts their long texts back."""
    hashes = {digest for row in rows if row["contents"] for digest in _split(row["contents"])}
    cipher = None if keys is None else await keys.of_texts(space, (row["data"] for row in rows))
    contents = await _contents(fetch, space, hashes, cipher) if hashes else {}
    return [_recorded(space, row, contents, cipher) for row in rows]


async def _contents(
    fetch: Fetch, space: Space, hashes: Iterable[bytes], cipher: SpaceCipher | None
) -> dict[bytes, str]:
    rows = await fetch(_CONTENTS, space, sorted(hashes))
    texts: dict[bytes, str] = {}
    for row in rows:
        text = open_content(cipher, row["hash"].hex(), row["data"])
        if text is not None:  # a damaged text is handled like a missing one
            texts[row["hash"]] = text
    return texts


def _recorded(
    space: Space, row: "Row", contents: Mapping[bytes, str], cipher: SpaceCipher | None
) -> Recorded:
    agent, version, kind, data, hashes, at, actor, command = row[:8]
    known = [digest for digest in _split(hashes) if digest in contents] if hashes else ()
    texts = {digest.hex(): contents[digest] for digest in known} if hashes else None
    place = (AgentId(agent), version, kind, at, actor, CommandId(command))
    return decode_event(cipher, space, place, data, texts)


def _split(hashes: bytes) -> list[bytes]:
    return [hashes[n : n + _HASH_BYTES] for n in range(0, len(hashes), _HASH_BYTES)]


_NEWEST_SNAPSHOT = """
    SELECT version, data FROM sapwood.snapshots
    WHERE space = $1 AND agent = $2 AND schema = $3 AND version <= $4
    ORDER BY version DESC LIMIT 1
"""
_KNOWN = "SELECT true FROM sapwood.agents WHERE space = $1 AND agent = $2 FOR KEY SHARE"
_INSERT_SNAPSHOT = """
    INSERT INTO sapwood.snapshots (space, agent, schema, version, data)
    SELECT $1, $2, $3, $4, $5 WHERE NOT EXISTS (
        SELECT FROM sapwood.events
        WHERE space = $1 AND agent = $2 AND version > $4 AND kind = $6
    ) ON CONFLICT DO NOTHING
"""


async def find_snapshot(
    readers: Reader,
    space: Space,
    agent: AgentId,
    schema: str,
    at: int | None,
    cipher: SpaceCipher | None = None,
) -> Snapshot | None:
    """The newest snapshot of this schema, at or before version `at` if given."""
    row = await readers.fetchrow(
        _NEWEST_SNAPSHOT, space, agent, schema, MAX_BIGINT if at is None else at
    )
    if row is None:
        return None
    return open_snapshot(cipher, Snapshot(agent, row["version"], schema, row["data"]))


async def insert_snapshot(
    readers: ReaderPool, space: Space, snapshot: Snapshot, cipher: SpaceCipher | None = None
) -> None:
    """Stores a snapshot, unless one of the same agent, schema and version exists.

    Stores nothing if there is no such agent, or if words of another one were erased after it: then
    the snapshot may have them. The lock waits for an erasure that is under way.
    """

    snapshot = seal_snapshot(cipher, snapshot)

    async def insert(connection: "Connection") -> None:
        async with connection.transaction():
            if await connection.fetchval(_KNOWN, space, snapshot.agent):
                await connection.execute(
                    _INSERT_SNAPSHOT,
                    *(space, snapshot.agent, snapshot.schema, snapshot.version, snapshot.data),
                    WordsErased.kind,
                )

    await readers.use(insert)
