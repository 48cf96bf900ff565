"""The database in which the engine stores its state, found from the log's address.

The database, its schema and its tables are created when they are missing. Nothing in it has to
survive a power cut, because `wake_all` rebuilds it from the log. So commits are atomic and ordered
but not flushed to disk one by one, which halves the cost of a drive.

Keeps DBOS from writing to the terminal.

Its log records go the usual way of Python logging, from WARNING on. Records are dropped when they
report as trouble what is normal here: drives that were cancelled or that continue in another
worker. Records about a database that is away are dropped too, because each DBOS thread would log a
traceback every second; `TransactionThread` logs that once.
"""

import logging
import os
import sqlite3
import tempfile
from pathlib import Path

import psycopg
import sqlalchemy as sa
from dbos import DBOS
from msgspec import Struct
from sqlalchemy import event

from sapwood.config.database_address import is_of_plugin
from sapwood.engine.drives import EngineError
from sapwood.engine.wake_requests import SCHEMA, SQLITE_SETTINGS, TABLES, engine_file
from sapwood.private_files import lock_held

_SQLITE_SETTINGS = (
    *SQLITE_SETTINGS,
    "PRAGMA foreign_keys = ON",
    "PRAGMA cache_size = -256",  # else each of ten connections keeps 2 MB of a small file
)
_POSTGRES_SETTINGS = (
    "SET synchronous_commit TO off",
    "SET idle_in_transaction_session_timeout TO '60s'",
)
_ADVISORY_LOCK = 5_970_271_301  # any number that no other program uses


class SystemDatabase(Struct, frozen=True):
    """An open database with the engine's tables.

    `prefix` stands before the names of tables; `threads` is how many DBOS may use.
    """

    sql: sa.Engine
    schema: str | None
    prefix: str
    threads: int


def open_system_database(address: str | Path) -> SystemDatabase:
    """Opens the engine's database beside the log at this address, and creates what is missing.

    Raises `EngineError` for a log that no durable engine can serve.
    """
    text = str(address)
    file = engine_file(address)
    if file is not None:
        return _open_sqlite(file)
    if text == ":memory:" or is_of_plugin(text):
        raise EngineError(f"There is no durable engine for '{text}'. Use LocalEngine instead.")
    return _open_postgres(text)


def find_system_database(address: str | Path) -> SystemDatabase | None:
    """Opens the engine's database if there is one; creates and changes nothing."""
    file = engine_file(address)
    if file is not None:
        if not file.exists():
            return None
        database = sa.create_engine(f"sqlite:///{file}")
        event.listen(database, "connect", _configure_sqlite)
        return SystemDatabase(database, None, "", threads=1)
    if str(address) == ":memory:":
        return None
    database = _postgres_engine(str(address), pool_size=2)
    if not sa.inspect(database).has_table("bells", schema=SCHEMA):
        database.dispose()
        return None
    return SystemDatabase(database, SCHEMA, f"{SCHEMA}.", threads=1)


def _open_sqlite(file: Path) -> SystemDatabase:
    with lock_held(file.parent):  # the folder itself, so that no lock file is left behind
        if file.exists():
            DBOS.migrate(f"sqlite:///{file}")
        else:
            _create_file(file)
    database = sa.create_engine(f"sqlite:///{file}", pool_size=6, max_overflow=4)
    event.listen(database, "connect", _configure_sqlite)
    system = SystemDatabase(database, None, "", threads=4)
    _create_tables(system)
    return system


def _create_file(file: Path) -> None:
    """Creates the file in one step: DBOS refuses a file with half a schema at every launch."""
    handle, name = tempfile.mkstemp(prefix=file.name, dir=file.parent)
    os.close(handle)
    try:
        DBOS.migrate(f"sqlite:///{name}")
        Path(name).rename(file)
    finally:
        Path(name).unlink(missing_ok=True)


def _open_postgres(dsn: str) -> SystemDatabase:
    url = sa.make_url(dsn.replace("postgres://", "postgresql://", 1))
    DBOS.migrate(url.render_as_string(hide_password=False), schema=SCHEMA)
    database = _postgres_engine(dsn, pool_size=12)
    system = SystemDatabase(database, SCHEMA, f"{SCHEMA}.", threads=8)
    _create_tables(system)
    return system


def _postgres_engine(dsn: str, pool_size: int) -> sa.Engine:
    url = sa.make_url(dsn.replace("postgres://", "postgresql://", 1))
    database = sa.create_engine(
        url.set(drivername="postgresql+psycopg"),
        pool_size=pool_size,
        max_overflow=4,
        pool_pre_ping=True,
        connect_args={"application_name": "sapwood engine", "connect_timeout": 10},
    )
    event.listen(database, "connect", _configure_postgres)
    return database


def _create_tables(system: SystemDatabase) -> None:
    """Creates our own tables, unless they exist: a worker may not have the right to create."""
    if all(sa.inspect(system.sql).has_table(name, schema=system.schema) for name in TABLES):
        return
    with system.sql.begin() as connection:
        if system.schema:
            lock = sa.text("SELECT pg_advisory_xact_lock(:number)")
            connection.execute(lock, {"number": _ADVISORY_LOCK})
            connection.execute(sa.text(f"CREATE SCHEMA IF NOT EXISTS {system.schema}"))
        for table in TABLES.values():
            connection.execute(sa.text(table.format(prefix=system.prefix)))


def _configure_sqlite(connection: sqlite3.Connection, record: object) -> None:
    connection.isolation_level = "IMMEDIATE"
    for setting in _SQLITE_SETTINGS:
        connection.execute(setting)


def _configure_postgres(connection: psycopg.Connection, record: object) -> None:
    with connection.cursor() as cursor:
        for setting in _POSTGRES_SETTINGS:
            cursor.execute(setting)
    connection.commit()  # else the pool rolls the settings back with the transaction


LOG_LEVEL = "WARNING"
_EXPECTED = (
    "Asyncio task cancelled",
    "is no longer owned by this execution",
    "was cancelled during execution",
    "no longer the latest version",
    "Duplicate registration of function",
    "Could not connect to postgres database to verify existence",
    "Contention detected in queue thread",
    "OperationalError",
    "Database connection failed",
    "cannot schedule new futures after shutdown",
)


def quiet_dbos_logging() -> None:
    """Gives the logger of DBOS a null handler, so that it adds none itself, and a filter."""
    logger = logging.getLogger("dbos")
    logger.setLevel(LOG_LEVEL)
    if not any(isinstance(handler, logging.NullHandler) for handler in logger.handlers):
        logger.addHandler(logging.NullHandler())
    if _is_unexpected not in logger.filters:
        logger.addFilter(_is_unexpected)


def _is_unexpected(record: logging.LogRecord) -> bool:
    message = f"{record.getMessage()} {record.exc_info[1] if record.exc_info else ''}"
    return not any(expected in message for expected in _EXPECTED)
