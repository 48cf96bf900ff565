"""Connections to the server: their settings, and the pool for reads.

Errors of the server and the connection: which are temporary, when to retry, what to report.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import asyncpg

from sapwood.config.database_address import split_pooler
from sapwood.core.errors import SpaceMoved, SpaceStopped
from sapwood.core.ids import Space
from sapwood.core.log_values import AvailabilityListener, LogError, LogUnavailable
from sapwood.metrics import METRICS
from sapwood.store.master_keys import KeyChanged

if TYPE_CHECKING:
    from asyncpg.pool import Pool, PoolConnectionProxy

    Connection = asyncpg.Connection[asyncpg.Record] | PoolConnectionProxy[asyncpg.Record]
    Row = asyncpg.Record


# Each of our statements has one good plan, by index. The planner must not choose another one
# because its statistics still describe an empty table.
_PLANS = {
    "jit": "off",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "max_parallel_workers_per_gather": "0",
}
# A connection sends these settings after it is open, because PgBouncer refuses unknown start-up
# parameters. Through a pooler it sends none: they would be left to the next program.
_SETTINGS = f"""
    SET application_name = 'sapwood';
    SET client_min_messages = warning;
    SET idle_in_transaction_session_timeout = '30s';
    {"; ".join(f"SET {name} = {value}" for name, value in _PLANS.items())};
    SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') = 'off';
"""
_WRITE_SETTINGS = _SETTINGS + "SET plan_cache_mode = force_generic_plan; SET lock_timeout = '2s';"
# A custom plan uses the values, so it reads only the partition that they are in.
_READ_SETTINGS = _SETTINGS + "SET plan_cache_mode = force_custom_plan;"
# A plan over all partitions takes longer to create than to run, so it is kept.
_SCAN_SETTINGS = _SETTINGS + "SET plan_cache_mode = force_generic_plan;"
# Seconds that one attempt waits for an answer, before a new connection is tried.
_CONNECT_SECONDS = 10.0
_WRITE_SECONDS = 30.0
_READ_SECONDS = 300.0  # reading a long log takes long
_CLOSED = "The log is closed. Open it again to continue."
_NOTHING_CHANGED = "Nothing was changed. Is the server up? Then try again."

INDEX_LOCK = "SELECT true FROM pg_advisory_xact_lock(hashtextextended($1, 0))"
"""Takes the lock of a space for those who index it or erase something of it, one at a time."""

T = TypeVar("T")


CONNECT_QUERY = "; ".join(f"SET {name} = {value}" for name, value in _PLANS.items())
"""What a pooler sends to each of its connections: the option `connect_query` of PgBouncer."""

_SET = """
    SELECT name FROM pg_settings WHERE name = 'synchronous_commit' AND setting = 'off'
    OR name = ANY($1) AND setting <> ($2::text[])[array_position($1, name)]
"""


async def require_settings(connection: "Connection") -> None:
    """Raises `LogError` if connections of a pooler have other settings than ours need."""
    rows = await connection.fetch(_SET, list(_PLANS), list(_PLANS.values()))
    if names := ", ".join(row["name"] for row in rows):
        raise LogError(
            f"The pooler's connections have other settings than Sapwood needs: {names}. Nothing "
            "was changed. Add this to the database in pgbouncer.ini and restart PgBouncer: "
            f"connect_query='{CONNECT_QUERY}'. If it is synchronous_commit, turn that on."
        )


_PID = "SELECT pg_backend_pid()"
_UNDECLARED = (
    "This is the address of a connection pooler in transaction mode. Nothing "
    "was changed. Add the address of the server behind it: ?direct=HOST:PORT"
)


class Fetch(Protocol):
    """Runs a statement that reads, and returns all rows."""

    def __call__(self, query: str, *args: object) -> "Awaitable[list[Row]]":
        """Runs `query` with these arguments."""
        ...


class Reader(Protocol):
    """Runs statements that read."""

    async def fetch(self, query: str, *args: object) -> "list[Row]":
        """Runs a statement and returns all rows."""
        ...

    async def fetchrow(self, query: str, *args: object) -> "Row | None":
        """Runs a statement and returns the first row, or None."""
        ...


@contextmanager
def terminated_on_error(connection: "Connection") -> Generator[None]:
    """Terminates the connection if the block raises: for setting a new connection up."""
    try:
        yield
    except BaseException:
        connection.terminate()
        raise


class Server:
    """The address of the database, its availability, and how many seconds to wait for it."""

    def __init__(
        self, dsn: str, patience: float, on_availability: AvailabilityListener | None = None
    ) -> None:
        self.patience = patience
        self.availability = ServerAvailability(on_availability)
        self._address = split_pooler(dsn)
        self.is_pooled = self._address.is_pooled
        self._is_known = False
        self._options: dict[str, Any] = {
            "timeout": min(patience, _CONNECT_SECONDS),
            # Prepared statements are kept: all are ours, and there are few.
            "max_cached_statement_lifetime": 0,
            "max_cacheable_statement_size": 0,
        }

    async def connect(self, *, session: bool = False) -> "Connection":
        """Opens a connection outside of any pool, with the settings for writing.

        A `session` goes past a pooler: what it listens to and locks is its own.
        """
        connection: Connection = await asyncpg.connect(
            self._address.sessions if session else self._address.statements,
            **self._options,
            command_timeout=min(self.patience, _WRITE_SECONDS),
        )
        if session or not self.is_pooled:
            with terminated_on_error(connection):
                await self._set_up(connection, _WRITE_SETTINGS)
        return connection

    def pool(self, size: int, settings: str) -> "Pool[asyncpg.Record]":
        """A pool of connections with these settings. Each is opened when it is needed."""

        async def set_up(connection: "Connection") -> None:
            if not self.is_pooled:
                await self._set_up(connection, settings)

        return asyncpg.create_pool(
            self._address.statements,
            min_size=0,
            max_size=size,
            init=set_up,
            reset=_no_reset,
            command_timeout=min(10 * self.patience, _READ_SECONDS),
            **self._options,
        )

    async def _set_up(self, connection: "Connection", settings: str) -> None:
        """Sends the settings of a session. Raises `LogError` if the connection has none."""
        if not self._is_known:
            await self._refuse_undeclared_pooler(connection)
            self._is_known = True
        await connection.execute(settings)

    async def _refuse_undeclared_pooler(self, connection: "Connection") -> None:
        """Raises `LogError` if the connection goes through a pooler of transactions.

        A pooler gives each client a process number that is not the one of the server. If it pools
        transactions, it lends the process of an idle client to the next one.
        """
        lent = await connection.fetchval(_PID)
        if lent == connection.get_server_pid():
            return
        other: Connection = await asyncpg.connect(self._address.sessions, **self._options)
        try:
            async with other.transaction():
                if lent == await other.fetchval(_PID) or lent != await connection.fetchval(_PID):
                    raise LogError(_UNDECLARED)
        finally:
            other.terminate()


class ReaderPool:
    """Connections for statements that read. Temporary errors are retried.

    `whole_space` is for statements that read every partition.
    """

    def __init__(self, server: Server, size: int, *, whole_space: bool = False) -> None:
        self._server = server
        self._pool = server.pool(size, _SCAN_SETTINGS if whole_space else _READ_SETTINGS)
        self._closed = False

    def of(self, space: Space) -> Reader:
        """Reads for one space. Here the statements alone decide what is read."""
        return self

    async def use(self, action: "Callable[[Connection], Awaitable[T]]") -> T:
        """Runs `action` with a connection; repeats it if the connection is lost."""

        async def once() -> T:
            if self._closed:
                raise LogError(_CLOSED)
            pool = await self._pool  # the first await creates it, without any connection
            began = monotonic()
            async with pool.acquire() as connection:
                METRICS.observe("sapwood_pool_wait_seconds", monotonic() - began)
                return await action(connection)

        server = self._server
        return await with_retries(once, server.availability, server.patience, _NOTHING_CHANGED)

    async def fetch(self, query: str, *args: object) -> "list[Row]":
        return await self.use(lambda connection: connection.fetch(query, *args))

    async def fetchrow(self, query: str, *args: object) -> "Row | None":
        rows = await self.fetch(query, *args)
        return rows[0] if rows else None

    async def close(self) -> None:
        """Waits for running statements, then closes every connection."""
        self._closed = True
        await (await self._pool).close()


async def _no_reset(connection: "Connection") -> None:
    """Resets nothing: our statements change no state of a connection."""


DRIVER_ERRORS = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)
"""Everything that the driver raises when a statement or a connection fails."""

_CONFLICT, _OTHER_KEY = "SW409", "SW423"
_MOVED, _STOPPED = "SW421", "SW503"
_CONNECTION_LOSS = (
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.DiskFullError,  # the server answers, but stores nothing until there is room
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.ReadOnlySQLTransactionError,  # after a failover: this server is now a replica
    asyncpg.InterfaceError,  # this and the next: the connection ended between two statements
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)
_RETRYABLE = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,
    asyncpg.InvalidCachedStatementError,
)
_FIRST_PAUSE, _MAX_PAUSE = 0.02, 1.0


class ServerAvailability:
    """Reports changes of the server's availability. All connections of a log share one."""

    def __init__(self, on_change: AvailabilityListener | None) -> None:
        self._on_change = on_change
        self._away = False

    def lost(self, error: BaseException) -> None:
        """A connection was lost or could not be opened."""
        self._away = True
        if self._on_change:
            self._on_change(_reason(error))

    def answered(self) -> None:
        """The server has answered a statement."""
        if self._away:
            self._away = False
            if self._on_change:
                self._on_change("")


def is_conflict(error: BaseException) -> bool:
    """Whether an append was refused: wrong version, or the command is already stored."""
    return isinstance(error, asyncpg.PostgresError) and (
        error.sqlstate == _CONFLICT or isinstance(error, asyncpg.UniqueViolationError)
    )


def is_connection_loss(error: BaseException) -> bool:
    """Whether the connection is lost, so that the result of its last statement is unknown."""
    # For a value that it cannot encode, the driver raises an InterfaceError and a ValueError.
    return isinstance(error, _CONNECTION_LOSS) and not isinstance(error, ValueError)


def is_temporary(error: BaseException) -> bool:
    """Whether the same statement may succeed if it is repeated."""
    return isinstance(error, _RETRYABLE) or is_connection_loss(error)


def log_error(error: BaseException | str, kept: str) -> LogError:
    """A `LogError` about a driver error, or `LogUnavailable` if the connection is lost.

    `KeyChanged` if a commit was not sealed with the key of its space; `SpaceStopped` and
    `SpaceMoved` if the space is being moved or was moved. `kept` is the sentence about what was
    stored.
    """
    reason = error if isinstance(error, str) else _reason(error)
    if isinstance(error, asyncpg.InvalidSQLStatementNameError):
        reason += " (a pooler must keep prepared statements: PgBouncer from version 1.21 with"
        reason += " max_prepared_statements, or session pooling)"
    sentence = f"PostgreSQL reported an error: {reason}. {kept}"
    if isinstance(error, str):
        return LogError(sentence)
    raised = LogUnavailable(sentence) if is_connection_loss(error) else LogError(sentence)
    if isinstance(error, asyncpg.PostgresError) and error.sqlstate == _OTHER_KEY:
        raised = KeyChanged(sentence)
    elif isinstance(error, asyncpg.PostgresError) and error.sqlstate == _MOVED:
        raised = SpaceMoved(error.detail or "", error.hint or "")
    elif isinstance(error, asyncpg.PostgresError) and error.sqlstate == _STOPPED:
        raised = SpaceStopped(error.detail or "")
    raised.__cause__ = error
    return raised


async def with_retries(
    action: Callable[[], Awaitable[T]], availability: ServerAvailability, seconds: float, kept: str
) -> T:
    """Runs `action`, and repeats it after a temporary error, for at most `seconds`.

    Raises a `LogError` that ends with the sentence `kept` if it does not succeed.
    """
    loop = asyncio.get_running_loop()
    deadline, pause = loop.time() + seconds, _FIRST_PAUSE
    while True:
        try:
            result = await action()
        except DRIVER_ERRORS as error:
            if is_connection_loss(error):
                availability.lost(error)
            if not is_temporary(error) or loop.time() + pause > deadline:
                raise log_error(error, kept) from error
        else:
            availability.answered()
            return result
        await asyncio.sleep(pause)
        pause = min(2 * pause, _MAX_PAUSE)


def _reason(error: BaseException) -> str:
    if isinstance(error, asyncpg.InternalClientError):  # its text is about the driver's states
        return "the connection was lost in the middle of a statement"
    return str(error) or type(error).__name__
