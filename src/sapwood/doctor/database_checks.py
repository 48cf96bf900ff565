"""Checks the database: whether it can be opened, and whether its events can be read."""

import asyncio
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from sapwood.config.config_file import Config
from sapwood.config.database_address import is_of_plugin, shown_address
from sapwood.config.folders import is_full
from sapwood.core.errors import LogError
from sapwood.core.plural import counted
from sapwood.doctor import Finding
from sapwood.doctor.unreadable_events import Progress, check_events
from sapwood.store.stores import load_store, store_of

_SECONDS = 5.0


class _Database(NamedTuple):
    description: str
    has_tables: bool = False


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
        if database.has_tables:
            found.append(
                await check_events(config.address, config.space, progress, postgres=on_server)
            )
        return found
    except LogError as error:
        return [_broken_database(config.address, f"{place}: {error}")]
    except (sqlite3.Error, OSError) as error:
        return [_broken_database(config.address, f"{place}: its events cannot be read ({error}).")]


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
    from sapwood.store.postgres.schema import NEWEST

    try:
        session = await asyncpg.connect(address, timeout=_SECONDS)
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
        return _Database(f"PostgreSQL {server}, schema {schema}", has_tables=True)
    finally:
        await session.close()
