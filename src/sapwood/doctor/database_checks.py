"""Checks the database: whether it can be opened, and whether its events can be read.

Searches a database for events that this version of Sapwood cannot read.

It only reads: it runs no migration and does not touch the search index. It starts with the newest
events and stops after a number of events or seconds.
"""

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from sapwood.config.config_file import CellConfig, Config
from sapwood.config.database_address import is_of_plugin, shown_address, split_pooler
from sapwood.config.folders import is_full
from sapwood.core.errors import KeyMissing, LogError
from sapwood.core.events import Recorded, UnreadableEvent
from sapwood.core.ids import Space
from sapwood.core.plural import counted
from sapwood.doctor import Finding
from sapwood.store.stores import load_store, store_of

if TYPE_CHECKING:
    from sapwood.store.postgres.move_table import UnfinishedMove

MAX_EVENTS = 500_000
MAX_SECONDS = 30.0
_PAGE = 1_000
_SHOWN, _MAX_SPACES = 5, 10_000
_SQLITE_KEYS = "SELECT 1 FROM sqlite_master WHERE name = 'space_keys'"
_POSTGRES_KEYS = "SELECT to_regclass('sapwood.space_keys') IS NOT NULL"
_QUIET_SECONDS = 1.0

Progress = Callable[[int], None]
"""Is called with the number of events read so far, about once a second."""


class Scan(Struct):
    """How many events were read, those that cannot be, and whether there are more to look at.

    `closed` says why events of an encrypted space could not be looked at; empty if there are none.
    """

    read: int = 0
    found: list[Recorded] = []
    cut: bool = False
    closed: str = ""

    def take(self, events: Sequence[Recorded]) -> None:
        """Adds a page."""
        self.read += len(events)
        self.found += [each for each in events if isinstance(each.event, UnreadableEvent)]


class _Clock:
    """Decides when to stop, and reports progress."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._began = self._told = time.monotonic()

    def is_over(self, scan: Scan) -> bool:
        now = time.monotonic()
        if self._progress is not None and now - self._told >= _QUIET_SECONDS:
            self._told = now
            self._progress(scan.read)
        scan.cut = scan.read >= MAX_EVENTS or now - self._began >= MAX_SECONDS
        return scan.cut


async def check_events(
    address: str, space: str, progress: Progress | None = None, *, postgres: bool
) -> Finding:
    """What `sapwood doctor` says about the events of a database."""
    if postgres:
        scan = await scan_postgres(address, Space(space), progress)
    else:
        scan = await asyncio.to_thread(scan_sqlite, Path(address), progress)
    return _finding(scan)


def scan_sqlite(path: Path, progress: Progress | None = None) -> Scan:
    """Reads the events of a file, of all its spaces, the newest first."""
    from sapwood.store.master_keys import StoredKeys, configured_masters
    from sapwood.store.sqlite.connections import KeyedConnection
    from sapwood.store.sqlite.event_table import Row, read_all_before, recorded_of

    masters = configured_masters()
    scan, clock, before = Scan(found=[]), _Clock(progress), 2**62
    address = f"{path.expanduser().absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, factory=KeyedConnection)) as file:
        if masters is not None and file.execute(_SQLITE_KEYS).fetchone():
            file.keys = StoredKeys(masters)

        def of_one_space(rows: list[Row]) -> Iterator[Recorded]:
            for space, some in groupby(rows, key=lambda row: row[1]):
                try:
                    yield from recorded_of(file, space, list(some))
                except KeyMissing as error:
                    scan.closed = str(error)

        while rows := read_all_before(file, before, _PAGE):
            scan.take(list(of_one_space(rows)))
            before = rows[-1][0]
            if clock.is_over(scan):
                break
    return scan


async def scan_postgres(address: str, space: Space, progress: Progress | None = None) -> Scan:
    """Reads the events of one space of a server, the newest first."""
    import asyncpg

    from sapwood.store.master_keys import configured_masters
    from sapwood.store.postgres.event_table import read_newest
    from sapwood.store.postgres.key_table import KeyTable

    masters = configured_masters()
    scan, clock, place = Scan(found=[]), _Clock(progress), None
    session = await asyncpg.connect(split_pooler(address).sessions, timeout=5)
    try:
        has_keys = masters is not None and await session.fetchval(_POSTGRES_KEYS)
        keys = KeyTable(session, masters) if masters is not None and has_keys else None
        while True:
            events, place = await read_newest(session.fetch, space, place, _PAGE, keys)
            scan.take(events)
            if place is None or clock.is_over(scan):
                return scan
    except KeyMissing as error:
        scan.closed = str(error)
        return scan
    finally:
        await session.close()


def _finding(scan: Scan) -> Finding:
    part = "the newest " if scan.cut else ""
    if scan.closed and not scan.found:
        said = (
            f"{part}{scan.read:,} can be read, but those in encrypted spaces cannot: {scan.closed}"
        )
        return Finding("events", "broken", said, "sapwood config set encryption.key_file FILE")
    if not scan.found:
        return Finding("events", "ok", f"{part}{scan.read:,} can be read")
    newer = [each for each in scan.found if _is_newer(each)]
    damaged = [each for each in scan.found if not _is_newer(each)]
    told = [f"{len(scan.found):,} of {part}{scan.read:,} cannot be read and are ignored"]
    if newer:
        told.append(f"{_places(newer)} came from a newer version of Sapwood")
    if damaged:
        told.append(f"damaged: {_places(damaged)}")
    then = "pip install --upgrade sapwood" if newer else "restore the database from a backup"
    return Finding("events", "broken", "; ".join(told), then)


def _is_newer(recorded: Recorded) -> bool:
    return isinstance(recorded.event, UnreadableEvent) and recorded.event.newer


def _places(events: Sequence[Recorded]) -> str:
    """Where the first few stand, of which kind they are, and why they cannot be read."""
    shown = [f"{each.ref} ({each.kind}{_why(each)})" for each in events[:_SHOWN]]
    more = len(events) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def _why(recorded: Recorded) -> str:
    event = recorded.event
    return f": {event.reason}" if isinstance(event, UnreadableEvent) and not event.newer else ""


_SECONDS = 5.0


class _Database(NamedTuple):
    description: str
    has_tables: bool = False
    moves: "Sequence[UnfinishedMove]" = ()
    spaces: Sequence[Space] = ()


async def check_database(config: Config, progress: Progress | None) -> list[Finding]:
    """Checks that the database can be opened, and that this version can read its events.

    A database that does not exist is not created. `progress` is called while events are read.
    """
    place, on_server = shown_address(config.address), store_of(config.address).on_server
    try:
        if is_of_plugin(config.address):
            load_store(config.address.partition("://")[0])
            database = _Database("the store of a plug-in")
        elif on_server:
            database = await _postgres(config.address)
        else:
            database = await asyncio.to_thread(_sqlite, config.address)
        found = [Finding("database", "ok", f"{place}: {database.description}")]
        found += map(_move_finding, database.moves)
        if config.cell.directory and database.spaces:
            found.append(await _cell_finding(config.cell, database.spaces))
        if database.has_tables:
            found.append(
                await check_events(config.address, config.space, progress, postgres=on_server)
            )
        return found
    except LogError as error:
        return [_broken_database(config.address, f"{place}: {error}")]
    except (sqlite3.Error, OSError) as error:
        return [_broken_database(config.address, f"{place}: its events cannot be read ({error}).")]


def _move_finding(move: "UnfinishedMove") -> Finding:
    space = move.space
    if move.running:
        return Finding("move", "ok", f"the space '{space}' is being moved now")
    again = f"sapwood move {space} --to ADDRESS"
    if move.state == "moved":
        where = f"the cell '{move.cell}'" if move.cell else "another database"
        said = f"the space '{space}' is in {where}, and some of its rows are still here"
        return Finding("move", "broken", f"interrupted: {said}", again)
    if move.state == "arriving":
        said = f"the space '{space}' has not arrived here, and nobody can use this copy"
        again = f"sapwood move {space} --database SOURCE --to ADDRESS (this one)"
    else:
        said = f"the space '{space}' is still used here, and another database has a copy"
    return Finding("move", "broken", f"interrupted: {said}", f"{again}, or add --take-back")


async def _cell_finding(cell: CellConfig, spaces: Sequence[Space]) -> Finding:
    """Whether the routers have other places for the spaces of this database."""
    from sapwood.store.postgres.cell_directory import CellDirectory

    directory = await CellDirectory.open(cell.directory)
    try:
        elsewhere = await directory.elsewhere(spaces, cell.name)
    finally:
        await directory.close()
    if not elsewhere:
        return Finding("cell", "ok", f"{cell.name}: the routers know of no other place")
    shown = [f"'{space}' in {where}" for space, where in list(elsewhere.items())[:_SHOWN]]
    more = f" and {len(elsewhere) - len(shown):,} more" if len(elsewhere) > len(shown) else ""
    return Finding(
        "cell",
        "broken",
        f"{cell.name}: the routers have {', '.join(shown)}{more}, and they are here too, as after "
        "a restore from an old backup. Servers and workers of this cell refuse them",
        f"only if this one is right: sapwood move SPACE --to ADDRESS --cell {cell.name}",
    )


def _broken_database(address: str, message: str) -> Finding:
    folder = Path(address).expanduser().parent
    if is_full(folder):
        return Finding("database", "broken", f"the disk of {folder} is full", f"df {folder}")
    return Finding("database", "broken", message, "sapwood config set database …")


def _sqlite(address: str) -> _Database:
    from sapwood.store.sqlite.schema import APPLICATION, NEWEST

    if address == ":memory:":
        return _Database("in memory, lost at the end of each command")
    path = Path(address).expanduser()
    if not path.exists():
        return _missing_file(path)
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as file:
            (application,) = file.execute("PRAGMA application_id").fetchone()
            (schema,) = file.execute("PRAGMA user_version").fetchone()
            if application != APPLICATION and schema:
                raise LogError("it belongs to another program.")
            agents = _count(file) if schema else 0
    except sqlite3.Error as error:
        raise LogError(f"it cannot be read ({error}).") from error
    if schema > NEWEST:
        raise LogError(
            f"its schema {schema} is newer than this version of Sapwood supports ({NEWEST})."
        )
    if not os.access(path, os.W_OK):
        raise LogError("it cannot be written.")
    description = f"schema {schema}, {counted(agents, 'agent')}"
    return _Database(description, has_tables=bool(schema))


def _count(file: sqlite3.Connection) -> int:
    (agents,) = file.execute("SELECT count(*) FROM agents").fetchone()
    return agents


def _missing_file(path: Path) -> _Database:
    folder = next(each for each in path.absolute().parents if each.exists())
    if not os.access(folder, os.W_OK):
        raise LogError(f"it does not exist, and {folder} cannot be written.")
    return _Database("does not exist yet; the first agent creates it")


async def _postgres(address: str) -> _Database:
    try:
        import asyncpg
    except ModuleNotFoundError:
        raise LogError(
            "the driver is not installed. Type: pip install 'sapwood[postgres]'"
        ) from None
    from sapwood.store.postgres.move_table import served_spaces, unfinished_moves
    from sapwood.store.postgres.schema import NEWEST

    try:
        session = await asyncpg.connect(split_pooler(address).sessions, timeout=_SECONDS)
    except (
        asyncpg.PostgresError,
        asyncpg.InterfaceError,
        OSError,
        TimeoutError,
        ValueError,
    ) as error:
        raise LogError(f"it cannot be reached ({str(error) or type(error).__name__}).") from error
    try:
        server = session.get_server_version().major
        try:
            schema = await session.fetchval("SELECT max(number) FROM sapwood.migrations")
        except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError):
            return _Database(f"PostgreSQL {server}, empty; the first agent creates the tables")
        if schema > NEWEST:
            raise LogError(
                f"its schema {schema} is newer than this version of Sapwood supports ({NEWEST})."
            )
        about = f"PostgreSQL {server}, schema {schema}"
        if schema < NEWEST:
            return _Database(about, has_tables=True)
        moves = await unfinished_moves(session, _SHOWN)
        spaces = await served_spaces(session, _MAX_SPACES)
        return _Database(about, has_tables=True, moves=moves, spaces=spaces)
    finally:
        await session.close()
