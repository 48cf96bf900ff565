"""Creates and migrates the tables. Each numbered migration runs once.

An empty database gets all of them in one transaction, another one each in its own. A lock makes
processes that open an old or empty database at the same time wait for each other. A released
migration is never edited.
"""

import re
from importlib import resources
from typing import TYPE_CHECKING

import asyncpg

from sapwood.core.log_values import LogError

if TYPE_CHECKING:
    from sapwood.store.postgres.connections import Connection


NEWEST = 11

_FOLDER = resources.files("sapwood.store.postgres") / "migrations"
_OLDEST_SERVER = 14
_LOCK = 0x5A9_100D  # an arbitrary number; it only has to differ from other advisory locks
_TABLE = """
    CREATE SCHEMA IF NOT EXISTS sapwood;
    CREATE TABLE IF NOT EXISTS sapwood.migrations (
        number integer PRIMARY KEY,
        name   text NOT NULL,
        since  timestamptz NOT NULL DEFAULT now()
    );
"""
_AT = "SELECT max(number) FROM sapwood.migrations"
_DONE = "INSERT INTO sapwood.migrations (number, name) VALUES ($1, $2)"
_DONE_WITH_OLDEST = "INSERT INTO sapwood.migrations (number, name, oldest) VALUES ($1, $2, $3)"
# `oldest` is the oldest schema whose programs work with the tables after a migration.
_OLDEST = "SELECT max(coalesce(oldest, number)) FROM sapwood.migrations"


def migrations() -> dict[int, str]:
    """The names of all migrations by their number."""
    names = sorted(file.name for file in _FOLDER.iterdir() if file.name.endswith(".sql"))
    return {int(name.partition("_")[0]): name for name in names}


def script(name: str) -> str:
    """The statements of a migration."""
    return (_FOLDER / name).read_text(encoding="utf-8")


def oldest_of(text: str) -> int:
    """The oldest schema whose programs work with the tables after a migration; 0 if none does.

    The first line of a migration says it.

    >>> oldest_of("-- oldest: 7")
    7
    """
    found = re.match(r"-- oldest: (\d+)", text)
    return int(found[1]) if found else 0


async def migrate(connection: "Connection") -> None:
    """Migrates the database to the newest schema.

    Raises `LogError`, and changes nothing, if the server is too old, if the database is not in
    UTF-8, or if it has a newer schema.
    """
    _require_supported(connection)
    at = await _schema_number(connection)
    await _refuse_newer(connection, at)
    if at == 0:
        # In one transaction, so that no other process sees tables of an older schema meanwhile.
        async with connection.transaction():
            await _run_all(connection)
    elif at < NEWEST:
        await _run_all(connection)


async def require_schema(connection: "Connection") -> None:
    """Creates the tables in an empty database, and checks those of any other.

    Raises `LogError`, and changes nothing, if the database has to be migrated or cannot be used.
    """
    at = await _schema_number(connection)
    if 0 < at < NEWEST:
        raise LogError(
            f"The database has schema {at}, but this version of Sapwood needs {NEWEST}. Nothing "
            "was changed, and programs on the previous version keep working. As the owner of the "
            "tables, type: sapwood migrate --database ADDRESS"
        )
    await migrate(connection)


async def read_schema_number(dsn: str) -> int:
    """The schema of the database at this address; 0 if it is empty. Raises `LogError`."""
    try:
        connection = await asyncpg.connect(dsn, timeout=10)
    except (OSError, TimeoutError, asyncpg.PostgresError) as error:
        raise LogError(f"The database cannot be opened: {error}. Nothing was changed.") from error
    try:
        return await _schema_number(connection)
    finally:
        await connection.close()


async def _run_all(connection: "Connection") -> None:
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        await connection.execute(_TABLE)
    for number, name in migrations().items():
        await _run(connection, number, name)


async def _run(connection: "Connection", number: int, name: str) -> None:
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        at = await _schema_number(connection)
        await _refuse_newer(connection, at)
        if at < number:
            text = script(name)
            await connection.execute(text)
            if oldest := oldest_of(text):
                await connection.execute(_DONE_WITH_OLDEST, number, name, oldest)
            else:
                await connection.execute(_DONE, number, name)


async def _schema_number(connection: "Connection") -> int:
    try:
        return await connection.fetchval(_AT) or 0
    except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError):
        return 0


def _require_supported(connection: "Connection") -> None:
    server, encoding = connection.get_server_version(), connection.get_settings().server_encoding
    if server.major < _OLDEST_SERVER:
        raise LogError(
            f"The server is PostgreSQL {server.major}; Sapwood needs {_OLDEST_SERVER} or newer. "
            "Nothing was changed."
        )
    if encoding != "UTF8":
        raise LogError(
            f"The database is encoded in {encoding}; Sapwood needs one in UTF8. Nothing was "
            "changed. Type: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
        )


async def _refuse_newer(connection: "Connection", at: int) -> None:
    if at > NEWEST and await connection.fetchval(_OLDEST) > NEWEST:
        raise LogError(
            f"The database has schema {at}, from a newer version of Sapwood; this one supports "
            f"{NEWEST}. Nothing was changed. Upgrade Sapwood to open it."
        )
