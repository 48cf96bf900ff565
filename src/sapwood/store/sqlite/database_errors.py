"""Turns SQLite's errors into messages with a next step for the user."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sapwood.core.log_values import LogError

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
