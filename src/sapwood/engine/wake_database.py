"""Wake requests through the libraries of the log: sqlite3 and asyncpg, no others.

The tables are in an SQLite file beside the log, or in the schema `sapwood_engine` of its PostgreSQL
database. They are created when they are missing. Nothing in them has to survive a power cut,
because `wake_all` finds the same agents in the log; so commits are not flushed to disk.
"""

import asyncio
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from msgspec import Struct, to_builtins

from sapwood.config.database_address import is_of_plugin, split_pooler
from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import AvailabilityListener
from sapwood.engine.drives import EngineError
from sapwood.engine.limits import DriveLimits
from sapwood.engine.wake_requests import (
    SCHEMA,
    SQLITE_SETTINGS,
    TABLES,
    TABLES_OF_DBOS,
    WakeRequest,
    WakeSql,
    engine_file,
)
from sapwood.private_files import create_file, lock_held

if TYPE_CHECKING:
    from asyncpg import Connection


_T = TypeVar("_T")
Row = Sequence[Any]
_CHANNEL = "sapwood_wakes"
ADVISORY_LOCK = 5_970_271_302  # any number that no other program uses


class Claim(Struct, frozen=True):
    """A request that this process has claimed: for which drive, and after how many wakes.

    Without a holder nobody drives the agent: the process that has claimed it wakes it later.
    """

    holder: str | None
    wakes: int


class SqlDatabase(Protocol):
    """Runs one statement at a time, each in a transaction of its own."""

    connections: int
    """How many connections there were so far, one after the other."""

    async def run(
        self, sql: str, values: Mapping[str, object], *, alone: bool = False
    ) -> Sequence[Row]:
        """Returns the rows. `alone`: no other process runs such a statement at the same time."""
        ...

    async def notify(self) -> None:
        """Tells the workers that a request waits, if the database can; else they find it soon."""
        ...

    async def close(self) -> None:
        """Closes the connection."""
        ...


class WakeDatabase:
    """The wake requests and the workers. Every method raises `EngineError` if it cannot answer."""

    def __init__(self, database: SqlDatabase, sql: WakeSql) -> None:
        self._database = database
        self._sql = sql

    @property
    def connections(self) -> int:
        """How many connections there were so far, one after the other."""
        return self._database.connections

    async def wake(self, request: WakeRequest) -> None:
        """Records a wake, for any process."""
        await self._database.run(self._sql.wake, _values(request))
        await self._database.notify()

    async def wake_here(self, request: WakeRequest, worker: str, holder: str) -> bool:
        """Records a wake. True if `holder` has claimed it: it is new, and its space is here."""
        values = {**_values(request), "worker": worker, "holder": holder}
        rows = await self._database.run(self._sql.wake_here, values)
        return rows[0][0] == holder

    async def waiting(self, limits: DriveLimits, max_requests: int) -> list[WakeRequest]:
        """The requests that no process has claimed, at most so many of each space."""
        values = {**limit_values(limits), "most": max_requests}
        rows = await self._database.run(self._sql.waiting, values)
        return [WakeRequest(*row) for row in rows]

    async def claim(
        self, request: WakeRequest, new: str, worker: str, holder: str, limits: DriveLimits
    ) -> Claim | None:
        """Claims a request that waits, for the drive `new`; None if it is too late or too many."""
        names = {"drive": request.drive, "new": new, "worker": worker, "holder": holder}
        values = {**_key(request), **names, **limit_values(limits)}
        rows = await self._database.run(self._sql.claim_waiting, values, alone=limits.counts_keys)
        return Claim(holder, rows[0][0]) if rows else None

    async def finish(self, request: WakeRequest, claim: Claim) -> int | None:
        """Deletes the request, or returns the new count if more wakes have arrived.

        Returns None if it was deleted, or if another process has claimed it.
        """
        return await self._end(self._sql.delete, request, claim)

    async def rest(self, request: WakeRequest, claim: Claim) -> int | None:
        """Keeps the request without a drive, or returns the new count if more wakes have arrived.

        Returns None if it rests, or if another process has claimed it.
        """
        return await self._end(self._sql.rest, request, claim)

    async def resume(self, request: WakeRequest, worker: str, holder: str) -> Claim | None:
        """Claims a request that rests with this worker; None if it does not any more."""
        values = {**_key(request), "drive": request.drive, "worker": worker, "holder": holder}
        rows = await self._database.run(self._sql.resume, values)
        return Claim(holder, rows[0][0]) if rows else None

    async def _end(self, sql: str, request: WakeRequest, claim: Claim) -> int | None:
        values = {**_key(request), "holder": claim.holder}
        if await self._database.run(sql, {**values, "rings": claim.wakes}):
            return None
        rows = await self._database.run(self._sql.count, values)
        return rows[0][0] if rows else None

    async def release(self, request: WakeRequest) -> None:
        """Gives a claimed request to any other process."""
        await self._database.run(self._sql.release, {**_key(request), "drive": request.drive})

    async def release_all(self, worker: str) -> None:
        """Does this for all requests of a worker."""
        await self._database.run(self._sql.release_all, {"worker": worker})

    async def release_orphans(self) -> None:
        """Does this for the requests of workers that are not in the list any more."""
        await self._database.run(self._sql.release_orphans, {})

    async def claimed(self, worker: str) -> dict[tuple[Space, AgentId], tuple[WakeRequest, Claim]]:
        """The requests that a worker has claimed."""
        rows = await self._database.run(self._sql.claimed, {"worker": worker})
        found = [(WakeRequest(*row[:5]), Claim(*row[5:])) for row in rows]
        return {(request.space, request.agent): (request, claim) for request, claim in found}

    async def add_worker(self, worker: str) -> None:
        """Makes a worker known to the others."""
        await self._database.run(self._sql.add_worker, {"worker": worker})

    async def beat(self, worker: str) -> bool:
        """Raises a worker's count. Returns False if others had removed it; it is added again."""
        if await self._database.run(self._sql.beat, {"worker": worker}):
            return True
        await self.add_worker(worker)
        return False

    async def workers(self) -> dict[str, int]:
        """The count of every worker."""
        rows = await self._database.run(self._sql.workers, {})
        return {row[0]: row[1] for row in rows}

    async def remove_worker(self, worker: str) -> None:
        """Removes a worker from the list."""
        await self._database.run(self._sql.remove_worker, {"worker": worker})

    async def remove_dead(self, worker: str, beats: int) -> bool:
        """Removes a worker whose count is still `beats`. True for only one of all who try."""
        values = {"worker": worker, "beats": beats}
        return bool(await self._database.run(self._sql.remove_dead, values))

    async def close(self) -> None:
        """Closes the connection."""
        await self._database.close()


def _key(request: WakeRequest) -> dict[str, object]:
    return {"space": request.space, "agent": request.agent}


def limit_values(limits: DriveLimits) -> dict[str, object]:
    """The limits as the statements want them: 0 is none."""
    names = ("per_space", "per_model", "per_user")
    return {name: getattr(limits, name) or 0 for name in names}


def _values(request: WakeRequest) -> dict[str, object]:
    return to_builtins(request)


async def open_wake_database(
    address: str | Path,
    on_availability: AvailabilityListener | None = None,
    on_wake: Callable[[], None] | None = None,
) -> WakeDatabase:
    """Opens the tables beside the log at this address, and creates what is missing.

    With PostgreSQL, `on_wake` is called when a process has recorded a wake for any other. Raises
    `EngineError` if it cannot be opened.
    """
    if str(address) == ":memory:" or is_of_plugin(str(address)):
        raise EngineError(f"No other process can open the log '{address}'. Use LocalEngine.")
    file = engine_file(address)
    try:
        if file is not None:
            return WakeDatabase(await _Sqlite.open(file), WakeSql(""))
        server = _Postgres(str(address), on_availability, on_wake)
        has_moves = await server.create_tables()
        return WakeDatabase(server, WakeSql(f"{SCHEMA}.", has_moves=has_moves))
    except (OSError, sqlite3.Error) as problem:
        raise EngineError(
            f"The engine's database could not be opened: {problem}. The log was not touched."
        ) from problem


async def erase_wakes(address: str, space: Space, agent: AgentId) -> None:
    """Deletes the wake request of an agent, whoever has claimed it, if there are any requests.

    A drive that runs finds no work any more, and stores nothing at its end. Tables in which earlier
    versions stored agents are emptied.
    """
    file = engine_file(address)
    database: SqlDatabase
    if file is None:
        database, prefix = _Postgres(address, None), f"{SCHEMA}."
        query = f"SELECT tablename FROM pg_tables WHERE schemaname = '{SCHEMA}'"
    elif file.exists():
        database, prefix = await _Sqlite.open(file), ""
        query = "SELECT name FROM sqlite_master WHERE type = 'table'"
    else:
        return
    try:
        tables = {name for (name,) in await database.run(query, {})}
        if tables >= TABLES.keys():
            await database.run(WakeSql(prefix).erase, {"space": space, "agent": agent})
        for table in TABLES_OF_DBOS:
            if table in tables:
                await database.run(f"DELETE FROM {prefix}{table}", {})
    finally:
        await database.close()


def scrub_engine(address: str) -> None:
    """Writes an SQLite file of the engine again without deleted rows, and empties its WAL file."""
    file = engine_file(address)
    if file is None or not file.exists():
        return
    with closing(sqlite3.connect(file, timeout=10.0, isolation_level=None)) as connection:
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


class _Sqlite:
    """A connection in a thread of its own."""

    def __init__(self, connection: sqlite3.Connection, thread: ThreadPoolExecutor) -> None:
        self._connection = connection
        self._thread = thread
        self.connections = 1

    @classmethod
    async def open(cls, file: Path) -> "_Sqlite":
        """Opens or creates the file."""
        thread = ThreadPoolExecutor(1, thread_name_prefix="sapwood-engine-sql")
        try:
            connection = await _in(thread, lambda: _opened(file))
        except BaseException:
            thread.shutdown(wait=False)
            raise
        return cls(connection, thread)

    async def run(
        self, sql: str, values: Mapping[str, object], *, alone: bool = False
    ) -> Sequence[Row]:
        """Returns the rows. SQLite lets one process write at a time."""
        try:
            return await _in(self._thread, lambda: self._connection.execute(sql, values).fetchall())
        except sqlite3.Error as problem:
            raise EngineError(f"The engine's database does not answer: {problem}") from problem

    async def notify(self) -> None:
        """SQLite cannot."""

    async def close(self) -> None:
        """Closes the connection and ends the thread."""
        await _in(self._thread, self._connection.close)
        self._thread.shutdown(wait=False)


async def _in(thread: ThreadPoolExecutor, work: Callable[[], _T]) -> _T:
    return await asyncio.get_running_loop().run_in_executor(thread, work)


def _opened(file: Path) -> sqlite3.Connection:
    with lock_held(file.parent):  # the folder itself, so that no lock file is left behind
        return _connected(file)


def _connected(file: Path) -> sqlite3.Connection:
    if not file.exists():
        create_file(file, b"")  # SQLite would let others read it
    connection = sqlite3.connect(file, timeout=30, isolation_level=None)
    try:
        for statement in (*SQLITE_SETTINGS, *(each.format(prefix="") for each in TABLES.values())):
            connection.execute(statement)
    except BaseException:
        connection.close()
        raise
    return connection


class _Postgres:
    """One connection, opened again when it was cut."""

    def __init__(
        self,
        dsn: str,
        on_availability: AvailabilityListener | None,
        on_wake: Callable[[], None] | None = None,
    ) -> None:
        self._address = split_pooler(dsn)
        self._on_availability = on_availability
        self._on_wake = on_wake
        self._connection: Connection | None = None
        self.connections = 0
        self._one_at_a_time = asyncio.Lock()
        self._numbered: dict[str, tuple[str, list[str]]] = {}

    async def create_tables(self) -> bool:
        """Creates our own tables, unless they exist: a role may not have the right to create.

        Returns whether there is a log beside them that knows of moves.
        """
        exist = " AND ".join(f"to_regclass('{SCHEMA}.{name}') IS NOT NULL" for name in TABLES)
        query = f"SELECT {exist}, to_regclass('sapwood.moves') IS NOT NULL"
        ((have_all, has_moves),) = await self.run(query, {})
        if not have_all:
            tables = [each.format(prefix=f"{SCHEMA}.") for each in TABLES.values()]
            script = [_locked(ADVISORY_LOCK), f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}", *tables]
            await self._tried(lambda connection: connection.execute(";".join(script)))
        return has_moves

    async def run(
        self, sql: str, values: Mapping[str, object], *, alone: bool = False
    ) -> Sequence[Row]:
        """Returns the rows."""
        numbered, names = self._numbered.setdefault(sql, _numbered(sql))
        arguments = [values[name] for name in names]

        async def fetched(connection: "Connection") -> Sequence[Row]:
            if not alone:
                return [tuple(row) for row in await connection.fetch(numbered, *arguments)]
            async with connection.transaction():
                await connection.execute(_locked(ADVISORY_LOCK))
                return [tuple(row) for row in await connection.fetch(numbered, *arguments)]

        return await self._tried(fetched)

    async def notify(self) -> None:
        """A transaction of its own: in one that writes, the others would wait for its commit."""
        await self._tried(lambda connection: connection.execute(f"NOTIFY {_CHANNEL}"))

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()  # nothing is under way

    async def _tried(self, work: Callable[["Connection"], Any]) -> Any:
        """Does the work, a second time with a new connection if the first one was cut."""
        from asyncpg import InterfaceError, PostgresError

        errors = (OSError, InterfaceError, PostgresError)
        async with self._one_at_a_time:
            if self._connection is not None:
                try:
                    return await work(self._connection)
                except errors:
                    await self.close()
            try:
                found = await work(await self._connected())
            except errors as problem:
                await self.close()
                self._report(str(problem))
                away = f"The engine's database does not answer: {problem}"
                if "unsupported startup parameter" in str(problem):
                    away = (
                        "The database is behind a pooler such as PgBouncer, but its address does "
                        "not say so. Add the address of the database itself: "
                        "postgresql://…?direct=HOST:PORT"
                    )
                raise EngineError(away) from problem
            self._report("")
            return found

    async def _connected(self) -> "Connection":
        import asyncpg

        if self._connection is None:
            # One that listens has a session of its own. A pooler lends connections to others too,
            # so through it commits are flushed.
            pooled = self._address.is_pooled and self._on_wake is None
            self._connection = await asyncpg.connect(
                self._address.statements if pooled else self._address.sessions,
                timeout=10,
                command_timeout=30,
                server_settings={
                    "application_name": "sapwood engine",
                    **({} if pooled else {"synchronous_commit": "off"}),
                },
            )
            self.connections += 1
            if self._on_wake is not None:
                await self._connection.add_listener(_CHANNEL, self._on_notification)
                self._on_wake()  # for what came while there was no connection
        return self._connection

    def _on_notification(self, *_: object) -> None:
        if self._on_wake is not None:
            self._on_wake()

    def _report(self, problem: str) -> None:
        if self._on_availability is not None:
            self._on_availability(problem)


def _locked(number: int) -> str:
    return f"SELECT pg_advisory_xact_lock({number})"


def _numbered(sql: str) -> tuple[str, list[str]]:
    """A statement with the parameters of asyncpg, and the names of these parameters.

    >>> _numbered("SELECT :b, :a, :b")
    ('SELECT $1, $2, $1', ['b', 'a'])
    """
    names: list[str] = []

    def numbered(found: "re.Match[str]") -> str:
        if found[1] not in names:
            names.append(found[1])
        return f"${names.index(found[1]) + 1}"

    return re.sub(r"(?<!:):(\w+)", numbered, sql), names
