"""The tokens of servers in the database: every server of the database knows them.

A server remembers a token for some seconds. A trigger of the table notifies all servers when tokens
are removed, so a revoked token is refused everywhere at once.

What principals and spaces have used of their limits, counted together by all servers.
"""

import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sapwood.config.server_tokens import (
    MAX_SESSIONS,
    TokenKind,
    TokenRecord,
    TokenScope,
    new_token,
    token_hash,
)
from sapwood.store.postgres.commit_notifier import CommitNotifier, CommitSignal
from sapwood.store.postgres.connections import ReaderPool

if TYPE_CHECKING:
    from sapwood.store.postgres.connections import Row


_COLUMNS = "id, hash, name, space, scopes, created, expires, kind"
_INSERT = f"INSERT INTO sapwood.tokens ({_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
_EXPIRED = "DELETE FROM sapwood.tokens WHERE expires > 0 AND expires < $1"
_FIND = f"SELECT {_COLUMNS} FROM sapwood.tokens WHERE hash = $1"
_IS_VALID = "SELECT 1 FROM sapwood.tokens WHERE id = $1 AND (expires = 0 OR expires > $2)"
_ALL = f"SELECT {_COLUMNS} FROM sapwood.tokens ORDER BY created, id"
_PARENT = "CASE kind WHEN 'session' THEN substring(id from '^(.*)\\.[^.]*$') END"
"""As `TokenRecord.parent`."""
_NAMED = "(id = $1 OR (name = $1 AND space = coalesce($2::text, space)))"
_REVOKE = f"""
DELETE FROM sapwood.tokens WHERE {_NAMED}
OR {_PARENT} IN (SELECT id FROM sapwood.tokens WHERE {_NAMED}) RETURNING {_COLUMNS}"""
_SURPLUS = f"""
DELETE FROM sapwood.tokens WHERE id IN (
    SELECT id FROM sapwood.tokens
    WHERE kind = 'session' AND coalesce({_PARENT}, '') = $1
    ORDER BY created DESC, id = $2 DESC, id OFFSET $3
)"""
_TOPIC = "tokens"
_KEPT = 10_000
_KEPT_SECONDS = 5.0
"""For how long a token is remembered, in case a notification is lost."""
_CLEAN_SECONDS = 86_400
"""Expired tokens are listed for a day."""


class TokenTable:
    """The tokens in the table `tokens`."""

    def __init__(self, readers: ReaderPool, notifier: CommitNotifier) -> None:
        self._readers = readers
        self._notifier = notifier
        self._known: OrderedDict[str, tuple[float, TokenRecord]] = OrderedDict()
        self._removed: CommitSignal | None = None

    async def create(
        self,
        name: str,
        space: str,
        scopes: tuple[TokenScope, ...],
        *,
        seconds: int = 0,
        kind: TokenKind = "token",
        parent: str = "",
    ) -> tuple[str, TokenRecord]:
        """Makes a token. Returns it, to be shown once, and what is stored of it."""
        value, record = new_token(name, space, scopes, seconds, kind, parent)
        await self._readers.fetch(
            _INSERT,
            *(record.id, record.hash, record.name, record.space, list(record.scopes)),
            *(record.created, record.expires, record.kind),
        )
        await self._readers.fetch(_EXPIRED, record.created - _CLEAN_SECONDS)
        if kind == "session":
            await self._readers.fetch(_SURPLUS, parent, record.id, MAX_SESSIONS)
        return value, record

    async def find(self, value: str) -> TokenRecord | None:
        if not value.startswith("sw_"):
            return None
        digest, now = token_hash(value), time.time()
        self._forget_removed()
        known = self._known.get(digest)
        if known is not None and now < known[0]:
            return known[1] if known[1].is_valid(now) else None
        row = await self._readers.fetchrow(_FIND, digest)
        if row is None:
            self._known.pop(digest, None)
            return None
        record = _record(row)
        parent = record.stored_parent
        if parent and await self._readers.fetchrow(_IS_VALID, parent, int(now)) is None:
            return None
        self._known[digest] = (now + _KEPT_SECONDS, record)
        self._known.move_to_end(digest)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return record if record.is_valid(now) else None

    async def records(self) -> tuple[TokenRecord, ...]:
        return tuple(_record(row) for row in await self._readers.fetch(_ALL))

    async def revoke(self, id_or_name: str, space: str | None = None) -> tuple[TokenRecord, ...]:
        gone = await self._readers.fetch(_REVOKE, id_or_name, space)
        self._known.clear()
        return tuple(_record(row) for row in gone)

    def _forget_removed(self) -> None:
        """Forgets what is remembered if tokens were removed, or if that may have been missed."""
        if self._removed is None:
            self._removed = self._notifier.signal(_TOPIC)
        if self._removed.is_set():
            self._removed.clear()
            self._known.clear()


def _record(row: "Row") -> TokenRecord:
    identity, digest, name, space, scopes, *rest = row
    return TokenRecord(identity, digest, name, space, tuple(scopes), *rest)


# In the order of the keys, so that servers do not wait for each other in a circle.
_COUNT = """
    INSERT INTO sapwood.request_limits AS known (key, due)
    SELECT used.key, extract(epoch FROM clock_timestamp()) + used.seconds
    FROM unnest($1::text[], $2::double precision[]) AS used (key, seconds)
    ON CONFLICT (key) DO UPDATE SET due = excluded.due
        + greatest(0, known.due - extract(epoch FROM clock_timestamp())::double precision)
    RETURNING key, due - extract(epoch FROM clock_timestamp())::double precision AS ahead
"""
_FORGET = """
    DELETE FROM sapwood.request_limits WHERE due < extract(epoch FROM clock_timestamp()) - 60
"""


class LimitTable:
    """The table `request_limits`."""

    def __init__(self, readers: ReaderPool) -> None:
        self._readers = readers

    async def count(self, used: Mapping[str, float]) -> dict[str, float]:
        """Adds what this server let pass, in seconds for each key.

        Returns by how many seconds each key is ahead now, over all servers.
        """
        keys = sorted(used)
        rows = await self._readers.fetch(_COUNT, keys, [used[key] for key in keys])
        return {row["key"]: row["ahead"] for row in rows}

    async def forget(self) -> None:
        """Removes the rows of those who have used nothing for a minute."""
        await self._readers.fetch(_FORGET)
