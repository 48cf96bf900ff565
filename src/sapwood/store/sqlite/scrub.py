"""Removes erased data from the raw files: free pages, remains inside of pages, the WAL file."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from sapwood.core.log_values import LogError
from sapwood.store.sqlite.connections import BUSY_SECONDS, connect
from sapwood.store.sqlite.database_errors import translated_errors

_PAUSE_SECONDS = 0.02


def scrub(path: Path, patience: float = BUSY_SECONDS) -> None:
    """Writes the whole database file again without what was deleted, and empties the WAL file.

    Other processes can read meanwhile, and wait to write. Takes time in proportion to the size of
    the file. Raises `LogError` if a reader in another process keeps the WAL file from being emptied
    for `patience` seconds; the erased data may be in that file then.
    """
    with translated_errors(path), closing(connect(path)) as connection:
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("VACUUM")
        until = time.monotonic() + patience
        while not _is_emptied(connection):
            if time.monotonic() > until:
                raise LogError(
                    f"Another process is reading '{path}', so '{path}-wal' could not be emptied. "
                    "The data is erased, but that file may still contain it. Stop that process; "
                    "the next start of Sapwood empties the file."
                )
            time.sleep(_PAUSE_SECONDS)


def _is_emptied(connection: sqlite3.Connection) -> bool:
    try:
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError:
        return False
    return not busy
