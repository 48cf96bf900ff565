"""Sessions on the server: how one is opened, and the pool that reads use."""

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import asyncpg

from sapwood.core.log import LogError
from sapwood.store.postgres.faults import patiently
from sapwood.store.postgres.presence import Presence, Tell

if TYPE_CHECKING:
    from asyncpg.pool import Pool, PoolConnectionProxy

    Session = asyncpg.Connection[asyncpg.Record] | PoolConnectionProxy[asyncpg.Record]
    Row = asyncpg.Record

__all__ = ["Fetch", "Readers", "Server", "terminating"]

# Sent after the start of a session and not with it, because PgBouncer refuses what it does not
# know there. Our statements have one good plan each, by index; statistics of a table that was
# empty a moment ago must not talk the planner out of it.
_ALWAYS = """
    SET application_name = 'sapwood';
    SET client_min_messages = warning;
    SET idle_in_transaction_session_timeout = '30s';
    SET jit = off;
    SET enable_seqscan = off;
    SET enable_hashjoin = off;
    SET enable_mergejoin = off;
    SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') = 'off';
"""
_WRITING = _ALWAYS + "SET plan_cache_mode = force_generic_plan; SET lock_timeout = '2s';"
# A plan made for the values at hand knows which partition they are in.
_READING = _ALWAYS + "SET plan_cache_mode = force_custom_plan;"
# A plan over all partitions takes longer to make than to run.
_SCANNING = _ALWAYS + "SET plan_cache_mode = force_generic_plan;"
# Seconds for one attempt, where nobody says no and nobody answers: then a new session is tried.
_CONNECTING = 10.0
_WRITE = 30.0
_READ = 300.0  # a long log takes its time
_CLOSED = "The log is closed. Open it again to go on."
_FAILED = "Nothing was changed. Is the server up? Then try again."

T = TypeVar("T")


class Fetch(Protocol):
    """Runs a statement that reads: on any session, or on one that is held."""

    def __call__(self, query: str, *args: object) -> "Awaitable[list[Row]]":
        """All rows."""
        ...


@contextmanager
def terminating(session: "Session") -> Generator[None]:
    """Ends a session at once if it cannot be set up."""
    try:
        yield
    except BaseException:
        session.terminate()
        raise


class Server:
    """Where the database is, whether it answers, and how many seconds we wait for it."""

    def __init__(self, dsn: str, patience: float, tell: Tell | None = None) -> None:
        self.patience = patience
        self.presence = Presence(tell)
        self._options: dict[str, Any] = {
            "dsn": dsn,
            "timeout": min(patience, _CONNECTING),
            # Statements stay prepared: all are ours, and there are few.
            "max_cached_statement_lifetime": 0,
            "max_cacheable_statement_size": 0,
        }

    async def connect(self) -> "Session":
        """A session of one's own, for writing."""
        session: Session = await asyncpg.connect(
            **self._options, command_timeout=min(self.patience, _WRITE)
        )
        with terminating(session):
            await session.execute(_WRITING)
        return session

    def pool(self, size: int, settings: str) -> "Pool[asyncpg.Record]":
        """Sessions for reading, opened when they are needed."""

        async def set_up(session: "Session") -> None:
            await session.execute(settings)

        return asyncpg.create_pool(
            min_size=0,
            max_size=size,
            init=set_up,
            reset=_leave_alone,
            command_timeout=min(10 * self.patience, _READ),
            **self._options,
        )


class Readers:
    """Statements that read. A fault that passes is waited out.

    `across` is for statements that look at a whole space and so at every partition.
    """

    def __init__(self, server: Server, size: int, *, across: bool = False) -> None:
        self._server = server
        self._pool = server.pool(size, _SCANNING if across else _READING)
        self._closed = False

    async def use(self, action: "Callable[[Session], Awaitable[T]]") -> T:
        """Lends a session, from the start again if it is lost on the way."""

        async def once() -> T:
            if self._closed:
                raise LogError(_CLOSED)
            pool = await self._pool  # made once; sessions come when they are asked for
            async with pool.acquire() as session:
                return await action(session)

        server = self._server
        return await patiently(once, server.presence, server.patience, _FAILED)

    async def fetch(self, query: str, *args: object) -> "list[Row]":
        """All rows."""
        return await self.use(lambda session: session.fetch(query, *args))

    async def fetchrow(self, query: str, *args: object) -> "Row | None":
        """The first row, if there is one."""
        rows = await self.fetch(query, *args)
        return rows[0] if rows else None

    async def close(self) -> None:
        """Waits for what is being read, then closes."""
        self._closed = True
        await (await self._pool).close()


async def _leave_alone(session: "Session") -> None:
    """Our statements leave nothing behind, so there is nothing to reset."""
