"""What can be wrong with a file, in words for the person who has to act."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sapwood.core.log import LogError

__all__ = ["closed", "explain", "explained"]

_KEPT = "Everything acknowledged before is kept."


@contextmanager
def explained(path: Path) -> Generator[None]:
    """Turns an error of the driver into a `LogError` that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain(error, path)  # noqa: B904 # it is the cause already


def explain(error: Exception, path: Path) -> Exception:
    """The same error, in words if it is the driver's."""
    if not isinstance(error, sqlite3.Error):
        return error
    explained = LogError(_words(error, path))
    explained.__cause__ = error
    return explained


def closed() -> LogError:
    """The answer to a call that comes too late."""
    return LogError("The log is closed. Nothing was stored. Open it again to go on.")


def _words(error: sqlite3.Error, path: Path) -> str:
    # The extended names begin with the primary ones: SQLITE_IOERR_WRITE, SQLITE_READONLY_DBMOVED.
    name = getattr(error, "sqlite_errorname", None) or ""
    kind = "_".join(name.split("_")[:2])
    match kind:
        case "SQLITE_FULL":
            return (
                f"The disk under '{path}' is full. Nothing of this command was stored. {_KEPT} "
                "Free some space and give the command again."
            )
        case "SQLITE_READONLY":
            return (
                f"'{path}' cannot be written. Nothing of this command was stored. {_KEPT} "
                "Allow writing to the file and its folder, then open it again."
            )
        case "SQLITE_CANTOPEN":
            return (
                f"'{path}' cannot be opened. Nothing was changed. "
                "Check that its folder exists and that you may read and write there."
            )
        case "SQLITE_NOTADB":
            return (
                f"'{path}' is not a database. It was left as it is. "
                "Choose another file, or restore this one from a backup."
            )
        case "SQLITE_CORRUPT":
            return (
                f"'{path}' is damaged ({error}). Nothing of this command was stored. "
                "Copy the file away, then restore it from a backup."
            )
        case "SQLITE_BUSY" | "SQLITE_LOCKED":
            return (
                f"Another process has been writing to '{path}' for too long. Nothing of this "
                f"command was stored. {_KEPT} End that process or wait for it, then try again."
            )
        case "SQLITE_IOERR":
            return (
                f"The disk under '{path}' failed ({error}). Whether this command was stored is "
                f"unknown; giving it again is safe. {_KEPT} Check the disk first."
            )
        case _:
            return (
                f"'{path}' refused ({error}). Nothing of this command was stored. {_KEPT} "
                "If it happens again, please report it."
            )
