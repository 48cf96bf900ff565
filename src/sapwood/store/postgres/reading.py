"""Events out of the database: parts of one log, and the texts that were kept apart."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

from sapwood.core.events import SYSTEM, Actor, Recorded
from sapwood.core.events.codec import decode, unreadable
from sapwood.core.ids import AgentId, CommandId, EventRef, Space
from sapwood.core.log import Cursor
from sapwood.store.postgres.sessions import Fetch

if TYPE_CHECKING:
    from sapwood.store.postgres.sessions import Row

__all__ = ["COLUMNS", "FOREVER", "read", "read_newest", "read_refs", "recorded_from"]

COLUMNS = "agent, version, kind, data, contents, at, actor, command"
FOREVER = 2**63 - 1

_FORWARD = f"""
    SELECT {COLUMNS} FROM sapwood.events
    WHERE space = $1 AND agent = $2 AND version BETWEEN $3 AND $4
    ORDER BY version LIMIT $5
"""
_BACKWARD = _FORWARD.replace("ORDER BY version", "ORDER BY version DESC")
_REFS = f"""
    SELECT event.{COLUMNS.replace(", ", ", event.")}
    FROM unnest($2::text[], $3::bigint[]) AS asked (agent, version)
    JOIN sapwood.events AS event
        ON event.space = $1 AND event.agent = asked.agent AND event.version = asked.version
"""
_NEWEST = f"""
    SELECT {COLUMNS}, tx, position FROM sapwood.events
    WHERE space = $1 AND ($2::xid8 IS NULL OR (tx, position) < ($2, $3))
    ORDER BY tx DESC, position DESC LIMIT $4
"""
_CONTENTS = "SELECT hash, data FROM sapwood.contents WHERE space = $1 AND hash = ANY($2)"
_HASH_BYTES = 32


async def read(
    fetch: Fetch,
    space: Space,
    agent: AgentId,
    first: int,
    last: int | None,
    limit: int | None,
    backward: bool,
) -> list[Recorded]:
    """Versions `first` to `last` of one log."""
    rows = await fetch(
        _BACKWARD if backward else _FORWARD,
        *(space, agent, first, FOREVER if last is None else last, limit),
    )
    return await recorded_from(fetch, space, rows)


async def read_refs(
    fetch: Fetch, space: Space, refs: Sequence[EventRef]
) -> dict[EventRef, Recorded]:
    """Single events of any logs."""
    agents, versions = [ref.agent for ref in refs], [ref.version for ref in refs]
    rows = await fetch(_REFS, space, agents, versions)
    return {each.ref: each for each in await recorded_from(fetch, space, rows)}


async def read_newest(
    fetch: Fetch, space: Space, before: Cursor | None, limit: int
) -> tuple[list[Recorded], Cursor | None]:
    """The events of a space before a place, the newest first, and where to go on; None at the end.

    For a look through the log as it is now: what is being committed meanwhile may be passed over.
    """
    place = (None, None) if before is None else (before.transaction, before.position)
    rows = await fetch(_NEWEST, space, *place, limit)
    events = await recorded_from(fetch, space, rows)
    last = Cursor(rows[-1]["tx"], rows[-1]["position"]) if len(rows) == limit else None
    return events, last


async def recorded_from(fetch: Fetch, space: Space, rows: "Sequence[Row]") -> list[Recorded]:
    """Rows that start with `COLUMNS`, as events, their long texts put back."""
    hashes = {digest for row in rows if row["contents"] for digest in _split(row["contents"])}
    contents = await _contents(fetch, space, hashes) if hashes else {}
    return [_recorded(row, contents) for row in rows]


async def _contents(fetch: Fetch, space: Space, hashes: Iterable[bytes]) -> dict[bytes, str]:
    rows = await fetch(_CONTENTS, space, sorted(hashes))
    texts: dict[bytes, str] = {}
    for row in rows:
        with suppress(UnicodeDecodeError):  # what is damaged is as good as missing
            texts[row["hash"]] = row["data"].decode()
    return texts


def _recorded(row: "Row", contents: Mapping[bytes, str]) -> Recorded:
    agent, version, kind, data, hashes, at, actor, command = row[:8]
    known = [digest for digest in _split(hashes) if digest in contents] if hashes else ()
    texts = {digest.hex(): contents[digest] for digest in known} if hashes else None
    event, who = decode(kind, data, texts), _actor(actor)
    if who is None:
        event, who = unreadable(kind, data, "it is not known who did it"), SYSTEM
    return Recorded(AgentId(agent), version, event, at, who, CommandId(command))


def _split(hashes: bytes) -> list[bytes]:
    return [hashes[n : n + _HASH_BYTES] for n in range(0, len(hashes), _HASH_BYTES)]


@lru_cache(maxsize=256)
def _actor(text: str) -> Actor | None:
    try:
        return Actor.parse(text)
    except ValueError:
        return None
