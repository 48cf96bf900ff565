"""Connections to the database file, and the pool of threads that read it.

A lock that one process at a time has, for work that only one of them should do.

Turns SQLite's errors into messages with a next step for the user.
"""

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import Connection
from threading import local
from typing import TypeVar

from sapwood.core.log_values import LogError
from sapwood.private_files import release_lock
from sapwood.private_files import try_lock as try_file
from sapwood.store.master_keys import StoredKeys

T = TypeVar("T")

BUSY_SECONDS = 10.0
"""How long to wait for another process that is writing; its commits take milliseconds."""

_THREADS = 4

TEMPORARY = "sapwood-temporary.db"
"""The name of a file that is deleted when it is closed, and never flushed to disk."""


class KeyedConnection(Connection):
    """A connection that knows the keys of encrypted spaces; None if the program has no keys."""

    keys: StoredKeys | None = None


def connect(
    path: Path, busy_seconds: float = BUSY_SECONDS, keys: StoredKeys | None = None
) -> Connection:
    """Opens a connection in autocommit mode. Any thread may use it, but only one at a time."""
    connection = sqlite3.connect(
        path,
        timeout=busy_seconds,
        isolation_level=None,
        check_same_thread=False,
        factory=KeyedConnection,
    )
    connection.keys = keys
    set_flush(connection, path, at_commit=True)
    return connection


def set_flush(connection: Connection, path: Path, at_commit: bool) -> None:
    """Sets whether a commit waits until the disk has it."""
    # With WAL the level NORMAL keeps the file intact, but a power failure loses commits.
    level = "OFF" if path.name == TEMPORARY else "FULL" if at_commit else "NORMAL"
    connection.execute(f"PRAGMA synchronous = {level}")


def connect_to_read(
    path: Path, busy_seconds: float = BUSY_SECONDS, keys: StoredKeys | None = None
) -> Connection:
    """Opens a connection that cannot write."""
    connection = connect(path, busy_seconds, keys)
    connection.execute("PRAGMA query_only = ON")
    return connection


def make_private(path: Path) -> None:
    """Creates the file if it is missing. Only its owner can read it: it holds conversations."""
    # Never open an existing file here: closing the handle would release SQLite's locks on it.
    # An error is ignored, because SQLite reports it when it opens the file.
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))


class SqliteReaderPool:
    """Threads that only read, so that a slow read blocks neither the event loop nor the writer.

    Each thread opens its own connection when it is first needed.
    """

    def __init__(self, path: Path, keys: StoredKeys | None = None) -> None:
        self._path = path
        self._keys = keys
        self._pool = ThreadPoolExecutor(_THREADS, "sapwood-reader")
        self._thread_local = local()
        self._opened: list[Connection] = []
        self._closed = False

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Runs `work` on a connection that sees everything committed before this call.

        Raises `LogError` if the log is closed or SQLite fails.
        """
        if self._closed:
            raise closed_error()
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._read, work)

    async def close(self) -> None:
        """Waits until running reads have finished, then closes the file."""
        self._closed = True
        await asyncio.to_thread(self._pool.shutdown)
        while self._opened:
            self._opened.pop().close()

    def _read(self, work: Callable[[Connection], T]) -> T:
        with translated_errors(self._path):
            connection: Connection | None = getattr(self._thread_local, "connection", None)
            if connection is None:
                connection = self._thread_local.connection = connect_to_read(
                    self._path, keys=self._keys
                )
                self._opened.append(connection)
            return work(connection)


class FileLock:
    """A lock on a file beside the database. It ends with the process, however that ends."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    async def is_held(self) -> bool:
        """Always true: nobody can take the lock away."""
        return True

    async def release(self) -> None:
        release_lock(self._handle)


def try_lock(path: Path, task: str) -> FileLock | None:
    """The lock of a task; None if another process has it. Raises `OSError`."""
    handle = try_file(path.with_name(f"{path.name}.{task}.lock"))
    return None if handle is None else FileLock(handle)


_SAFE = "Everything acknowledged before is kept."


@contextmanager
def translated_errors(path: Path) -> Generator[None]:
    """Raises a `LogError` with a next step in place of any `sqlite3.Error`."""
    try:
        yield
    except sqlite3.Error as error:
        raise translate_error(error, path)  # noqa: B904 # `translate_error` sets the cause


def translate_error(error: Exception, path: Path) -> Exception:
    """Returns a `LogError` for a `sqlite3.Error`, and any other error unchanged."""
    if not isinstance(error, sqlite3.Error):
        return error
    log_error = LogError(_message(error, path))
    log_error.__cause__ = error
    return log_error


def closed_error() -> LogError:
    """The error for a call after `close`."""
    return LogError("The log is closed. Nothing was stored. Open it again to continue.")


def _message(error: sqlite3.Error, path: Path) -> str:
    # Extended names start with the primary name: SQLITE_IOERR_WRITE, SQLITE_READONLY_DBMOVED.
    name = getattr(error, "sqlite_errorname", None) or ""
    kind = "_".join(name.split("_")[:2])
    match kind:
        case "SQLITE_FULL":
            return (
                f"The disk with '{path}' is full. Nothing from this command was stored. {_SAFE} "
                "Free some space and run the command again."
            )
        case "SQLITE_READONLY":
            return (
                f"'{path}' cannot be written. Nothing from this command was stored. {_SAFE} Allow "
                "writing to the file and its folder, then open it again."
            )
        case "SQLITE_CANTOPEN":
            return (
                f"'{path}' cannot be opened. Nothing was changed. Check that its folder exists and "
                "that you can read and write there."
            )
        case "SQLITE_NOTADB":
            return (
                f"'{path}' is not a database. It was left unchanged. Choose another file, or "
                "restore this one from a backup."
            )
        case "SQLITE_CORRUPT":
            return (
                f"'{path}' is corrupted ({error}). Nothing from this command was stored. Keep a "
                "copy of the file, then restore it from a backup."
            )
        case "SQLITE_BUSY" | "SQLITE_LOCKED":
            return (
                f"Another process has been writing to '{path}' for too long. Nothing from this "
                f"command was stored. {_SAFE} Stop that process or wait for it, then try again."
            )
        case "SQLITE_IOERR":
            return (
                f"The disk with '{path}' failed ({error}). It is unknown whether this command was "
                f"stored; running it again is safe. {_SAFE} Check the disk first."
            )
        case _:
            return (
                f"SQLite reported an error for '{path}' ({error}). Nothing from this command was "
                f"stored. {_SAFE} If it happens again, please report it."
            )
