"""Where the engine keeps its memory: found from the log's address, made if missing.

Nothing here has to survive a power cut, because `wake_all` builds it again from the log. So
commits are ordered and whole but not flushed one by one, which halves the cost of a drive.
"""

import fcntl
import os
import sqlite3
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import sqlalchemy as sa
from dbos import DBOS
from msgspec import Struct
from sqlalchemy import event

from sapwood.engine.errors import EngineError

__all__ = ["SCHEMA", "Place", "find_place"]

SCHEMA = "sapwood_engine"

_SQLITE_MANNERS = (
    "PRAGMA busy_timeout = 30000",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA cache_size = -256",  # of ten connections each would else keep 2 MB of a small file
)
_POSTGRES_MANNERS = (
    "SET synchronous_commit TO off",
    "SET idle_in_transaction_session_timeout TO '60s'",
)
_TABLES = (
    """CREATE TABLE IF NOT EXISTS {prefix}bells (
        space TEXT NOT NULL,
        agent TEXT NOT NULL,
        drive TEXT NOT NULL,
        model TEXT NOT NULL,
        account TEXT NOT NULL,
        rings BIGINT NOT NULL,
        worker TEXT,
        holder TEXT,
        PRIMARY KEY (space, agent))""",
    """CREATE TABLE IF NOT EXISTS {prefix}workers (
        worker TEXT PRIMARY KEY,
        beats BIGINT NOT NULL)""",
)
_ADVISORY_LOCK = 5_970_271_301  # any number that nobody else uses


class Place(Struct, frozen=True):
    """A database with the engine's tables. `prefix` goes before their names."""

    database: sa.Engine
    schema: str | None
    prefix: str
    threads: int


def find_place(address: str | Path) -> Place:
    """The engine's place beside the log at this address, with all tables in it."""
    text = str(address)
    if text.startswith(("postgresql://", "postgres://")):
        return _in_postgres(text)
    if text == ":memory:" or "://" in text:
        raise EngineError(f"There is no durable engine for '{text}'. Use LocalEngine with it.")
    return _beside(Path(text))


def _beside(log: Path) -> Place:
    file = log.with_name(f"{log.stem}.engine{log.suffix}")
    with _alone_in(file.parent):
        if file.exists():
            DBOS.migrate(f"sqlite:///{file}")
        else:
            _make(file)
    database = sa.create_engine(f"sqlite:///{file}", pool_size=6, max_overflow=4)
    event.listen(database, "connect", _greet_sqlite)
    place = Place(database, None, "", threads=4)
    _make_tables(place)
    return place


def _make(file: Path) -> None:
    """Makes the file in one piece: half a schema would be refused at every later launch."""
    handle, name = tempfile.mkstemp(prefix=file.name, dir=file.parent)
    os.close(handle)
    try:
        DBOS.migrate(f"sqlite:///{name}")
        Path(name).rename(file)
    finally:
        Path(name).unlink(missing_ok=True)


@contextmanager
def _alone_in(folder: Path) -> Generator[None]:
    """Keeps other processes that do the same out, without leaving a lock file behind."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _in_postgres(dsn: str) -> Place:
    url = sa.make_url(dsn.replace("postgres://", "postgresql://", 1))
    DBOS.migrate(url.render_as_string(hide_password=False), schema=SCHEMA)
    database = sa.create_engine(
        url.set(drivername="postgresql+psycopg"),
        pool_size=12,
        max_overflow=4,
        pool_pre_ping=True,
        connect_args={"application_name": "sapwood engine", "connect_timeout": 10},
    )
    event.listen(database, "connect", _greet_postgres)
    place = Place(database, SCHEMA, f"{SCHEMA}.", threads=8)
    _make_tables(place)
    return place


def _make_tables(place: Place) -> None:
    with place.database.begin() as connection:
        if place.schema:
            lock = sa.text("SELECT pg_advisory_xact_lock(:number)")
            connection.execute(lock, {"number": _ADVISORY_LOCK})
            connection.execute(sa.text(f"CREATE SCHEMA IF NOT EXISTS {place.schema}"))
        for table in _TABLES:
            connection.execute(sa.text(table.format(prefix=place.prefix)))


def _greet_sqlite(connection: sqlite3.Connection, record: object) -> None:
    connection.isolation_level = "IMMEDIATE"
    for manner in _SQLITE_MANNERS:
        connection.execute(manner)


def _greet_postgres(connection: psycopg.Connection, record: object) -> None:
    with connection.cursor() as cursor:
        for manner in _POSTGRES_MANNERS:
            cursor.execute(manner)
    connection.commit()  # the pool rolls back what it takes back, and a bare SET with it
