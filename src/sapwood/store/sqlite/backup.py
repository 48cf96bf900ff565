"""Copies the database file while other processes read and write it."""

import sqlite3
from contextlib import closing
from pathlib import Path

from sapwood.core.log_values import LogError
from sapwood.private_files import new_file
from sapwood.store.sqlite.connections import connect_to_read, translated_errors
from sapwood.store.sqlite.schema import require_ours


def back_up(path: Path, target: Path) -> int:
    """Writes everything that is committed now into a new file. Returns its size in bytes.

    `VACUUM INTO` reads in one transaction: writers go on, and the copy has none of their later
    commits, nor bytes of what was deleted before. The copy gets its name when it is complete and
    checked. Raises `LogError` if the name is taken, or if the file cannot be read or written.
    """
    path = path.expanduser().absolute()
    if not path.exists():
        raise LogError(f"'{path}' does not exist. Nothing was written.")
    if target.exists():
        raise LogError(f"'{target}' already exists. Nothing was written. Choose another name.")
    try:
        with new_file(target) as part:
            with translated_errors(path), closing(connect_to_read(path)) as connection:
                require_ours(connection, path)
                connection.execute("PRAGMA query_only = OFF")  # VACUUM INTO counts as a write
                connection.execute("VACUUM INTO ?", (str(part),))
            _require_sound(part)
    except OSError as error:
        raise LogError(
            f"'{target}' cannot be written: {error.strerror}. Nothing was written."
        ) from error
    return target.stat().st_size


def _require_sound(part: Path) -> None:
    with translated_errors(part), closing(sqlite3.connect(part)) as copy:
        (found,) = copy.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok":
        raise LogError(f"The copy is corrupted: {found}. It was deleted. Check the disk.")
