"""Creates and migrates the tables. The file records its schema number in `user_version`.

A released migration is never edited. A file of a newer Sapwood, or of another program, is not
changed.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from sqlite3 import Connection

from sapwood.core.log_values import LogError

NEWEST = 15
"""The schema that this version of Sapwood works with."""

APPLICATION = 0x53617077
"""'Sapw' as the `application_id`: it marks the file as ours."""

MIGRATIONS = Path(__file__).parent / "migrations"

_NEW_WORD_INDEXES = 13
"""The migration after which every word index is made again."""
_OLDEST_SQLITE = (3, 37, 0)
_SWITCHES, _SWITCH_PAUSE = 100, 0.02


def prepare(connection: Connection, path: Path) -> None:
    """Migrates the file to the newest schema and switches it to WAL mode.

    Several processes may do this at once. Raises `LogError`, and changes nothing, if this SQLite
    is too old, or if the file belongs to another program or to a newer Sapwood.
    """
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise LogError(
            f"This Python has SQLite {sqlite3.sqlite_version}; Sapwood needs 3.37 or newer. "
            "Nothing was changed. Use a newer Python."
        )
    require_ours(connection, path)
    _switch_to_wal(connection)
    if _schema(connection) < NEWEST:
        _migrate(connection, path)


def _switch_to_wal(connection: Connection) -> None:
    """Switches the file to WAL mode. SQLite does not wait if another process does so just now."""
    for _ in range(_SWITCHES):
        (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
        if mode == "wal":
            return
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            time.sleep(_SWITCH_PAUSE)
    connection.execute("PRAGMA journal_mode = WAL")


def read_schema_number(path: Path) -> int:
    """The schema of the file; 0 if there is none. Raises `LogError` if it cannot be read."""
    if not path.exists():
        return 0
    try:
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        ) as connection:
            return _schema(connection)
    except sqlite3.Error as error:
        raise LogError(f"'{path}' cannot be read: {error}. It was left unchanged.") from error


def _migrate(connection: Connection, path: Path) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        require_ours(connection, path)  # again, now that no other process can change it
        for number in range(_schema(connection) + 1, NEWEST + 1):
            for statement in _statements(number):
                connection.execute(statement)
            if number == _NEW_WORD_INDEXES:
                _drop_word_indexes(connection)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {NEWEST}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _drop_word_indexes(connection: Connection) -> None:
    found = connection.execute(
        "SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE%' AND name GLOB ?",
        ("words_*",),
    ).fetchall()
    for (name,) in found:
        connection.execute(f"DROP TABLE {name}")


def require_ours(connection: Connection, path: Path) -> None:
    """Raises `LogError` if the file belongs to another program or to a newer Sapwood."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables and application != APPLICATION:
        raise LogError(
            f"'{path}' is another program's database. It was left unchanged. Choose another file."
        )
    if (schema := _schema(connection)) > NEWEST:
        raise LogError(
            f"'{path}' was written by a newer version of Sapwood (schema {schema}; this one "
            f"supports {NEWEST}). It was left unchanged. Upgrade Sapwood to open it."
        )


def _schema(connection: Connection) -> int:
    (schema,) = connection.execute("PRAGMA user_version").fetchone()
    return schema


def _statements(number: int) -> Iterator[str]:
    """The statements of one migration. `executescript` would commit before it runs them."""
    (file,) = MIGRATIONS.glob(f"{number:04}_*.sql")
    statement = ""
    for line in file.read_text(encoding="utf-8").splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
