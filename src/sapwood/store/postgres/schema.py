"""Creates and migrates the tables. Each numbered migration runs once.

An empty database gets all of them in one transaction, another one each in its own. A lock makes
processes that open an old or empty database at the same time wait for each other. A released
migration is never edited.

Keeps the order of events when a database moves to another server.

Events are ordered by transaction number, and each server counts its own transactions. On a new
server, a restored database would give new events lower numbers than old ones. So the table
`epochs` records the server. When it has changed, a new epoch begins: from then on, a shift is
added to every number, so that all are above the largest stored one.

The wall between spaces: a login that sees one space at a time, by row-level security.
"""

import asyncio
import logging
import re
from importlib import resources
from typing import TYPE_CHECKING

import asyncpg

from sapwood.config.database_address import split_pooler
from sapwood.core.ids import Space
from sapwood.core.log_values import AvailabilityListener, LogError
from sapwood.store.postgres.connections import Reader, ReaderPool, Server

if TYPE_CHECKING:
    from sapwood.store.postgres.connections import Connection, Row


NEWEST = 19

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
_log = logging.getLogger("sapwood.database")

_LOCK_TIMEOUT = "2s"
"""How long commits may wait behind a migration that waits for a lock on a table."""

_LOCK_TRIES = 30
_LOCK_PAUSE = 3.0
"""Seconds between two tries, in which commits go through."""

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
        connection = await asyncpg.connect(split_pooler(dsn).sessions, timeout=10)
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
    """Runs a migration if it is still needed, when no long transaction uses its tables."""
    for tried in range(_LOCK_TRIES):
        try:
            return await _run_now(connection, number, name)
        except asyncpg.LockNotAvailableError:
            if not tried:
                _log.warning(
                    "Migration %s waits for a transaction that uses its tables, such as a backup. "
                    "Commits go on meanwhile.",
                    name,
                )
            await asyncio.sleep(_LOCK_PAUSE)
    raise LogError(
        f"Migration {name} was not run, because a transaction has used its tables all the time, "
        "such as a backup or pg_dump. Those before it were run, and programs keep working. When "
        "it has ended, type: sapwood migrate --database ADDRESS"
    )


async def _run_now(connection: "Connection", number: int, name: str) -> None:
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        await connection.execute(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'")
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


_EPOCHS_LOCK = 0x5A9_E90C
_LAST = "SELECT number, server, shift FROM sapwood.epochs ORDER BY number DESC LIMIT 1"
_SERVER = "SELECT system_identifier::text FROM pg_control_system()"
_NOW = "SELECT pg_snapshot_xmax(pg_current_snapshot())"
_LARGEST = """
    SELECT tx FROM (
        (SELECT tx FROM sapwood.events ORDER BY tx DESC LIMIT 1)
        UNION ALL (SELECT tx FROM sapwood.gaps ORDER BY tx DESC LIMIT 1)
    ) AS place ORDER BY tx DESC LIMIT 1
"""
_BEGIN = "INSERT INTO sapwood.epochs (number, server, shift) VALUES ($1, $2, $3)"
_NUMBER = "((pg_current_xact_id()::text::bigint + {shift})::text::xid8)"
_SHIFT = f"""
    ALTER TABLE sapwood.events
        ALTER COLUMN tx SET DEFAULT {_NUMBER},
        DROP CONSTRAINT events_tx,
        ADD CONSTRAINT events_tx CHECK (
            CASE WHEN coalesce(current_setting('sapwood.erasure', true), '') <> '' THEN true
            ELSE tx = {_NUMBER} END
        ) NOT VALID
"""


async def shift_of(connection: "Connection") -> int:
    """The shift to add to the server's transaction numbers.

    Begins a new epoch if the database is on another server than before.
    """
    server = await _server(connection)
    last = await connection.fetchrow(_LAST)
    if last and server in (None, last["server"]):
        return last["shift"]
    try:
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", _EPOCHS_LOCK)
            last = await connection.fetchrow(_LAST)
            if last and server == last["server"]:
                return last["shift"]
            return await _begin(connection, last, server or "unknown")
    except asyncpg.InsufficientPrivilegeError as error:
        raise LogError(
            "The database is on another server than before, as after a restore. Nothing was "
            "changed. As the owner of the tables, type: sapwood migrate --database ADDRESS"
        ) from error


async def _begin(connection: "Connection", last: "asyncpg.Record | None", server: str) -> int:
    number, shift = (last["number"], last["shift"]) if last else (0, 0)
    largest = await connection.fetchval(_LARGEST) or 0
    if largest >= await connection.fetchval(_NOW) + shift:
        shift = largest
        await connection.execute(_SHIFT.format(shift=shift))
    await connection.execute(_BEGIN, number + 1, server, shift)
    return shift


async def _server(connection: "Connection") -> str | None:
    try:
        return await connection.fetchval(_SERVER)
    except asyncpg.InsufficientPrivilegeError:
        return None


_SPACE_WALL_BEGIN = "BEGIN READ ONLY; SELECT set_config('sapwood.space', '{space}', true)"
# `above` is a login to which row-level security does not apply, `open` one that may read a table of
# spaces that has no policy for it.
_LOGIN = """
    SELECT current_user AS name,
        (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user)
            OR pg_has_role(current_user, tableowner, 'USAGE') AS above,
        EXISTS (
            SELECT FROM pg_class AS relation
            JOIN pg_attribute ON attrelid = relation.oid AND attname = 'space'
            WHERE relation.relnamespace = 'sapwood'::regnamespace AND relkind IN ('r', 'p')
                AND has_table_privilege(relation.oid, 'SELECT')
                AND NOT EXISTS (
                    SELECT FROM pg_policy, unnest(polroles) AS role
                    WHERE polrelid = relation.oid AND NOT polpermissive
                        AND pg_has_role(current_user, role, 'USAGE')
                )
        ) AS open
    FROM pg_tables WHERE schemaname = 'sapwood' AND tablename = 'events'
"""


class WalledPool(ReaderPool):
    """Connections of a login that sees one space at a time.

    The space is set for each transaction, so nothing of it is left for the next one. Without a
    space, nothing is seen.
    """

    def of(self, space: Space) -> Reader:
        """Reads for one space: the database lets nothing else through."""
        return _SpaceReader(self, space)


class _SpaceReader:
    def __init__(self, pool: WalledPool, space: Space) -> None:
        self._pool = pool
        self._begin = _SPACE_WALL_BEGIN.format(space=space.replace("'", "''"))

    async def fetch(self, query: str, *args: object) -> "list[Row]":

        async def within(connection: "Connection") -> "list[Row]":
            await connection.execute(self._begin)
            try:
                return await connection.fetch(query, *args)
            finally:
                await connection.execute("COMMIT")

        return await self._pool.use(within)

    async def fetchrow(self, query: str, *args: object) -> "Row | None":
        rows = await self.fetch(query, *args)
        return rows[0] if rows else None


async def walled_server(
    dsn: str, patience: float, on_availability: AvailabilityListener | None
) -> Server:
    """The server at an address whose login sees one space at a time.

    Raises `LogError` if the login sees more.
    """
    server = Server(dsn, patience, on_availability)
    pool = ReaderPool(server, 1)
    try:
        login = await pool.fetchrow(_LOGIN)
    finally:
        await pool.close()
    if login is None or login["above"] or login["open"]:
        name = login["name"] if login else "of the reader"
        raise LogError(
            f"The login {name} is not restricted to one space. As the owner of the tables, type: "
            "sapwood migrate --print-grants | psql ADDRESS. Then give the login the role "
            "sapwood_reader and no other."
        )
    return server
