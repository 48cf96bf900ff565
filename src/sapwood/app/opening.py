"""From the address of a database to a log that is open.

Each kind of store is imported only when it is asked for.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from sapwood.app.config import Config
from sapwood.core.errors import LogError
from sapwood.runtime.log import Log

__all__ = ["is_full", "is_postgres", "open_log", "prepare_folder", "shown_address"]

_LITTLE = 100_000
"""Bytes with which nothing can be done any more."""


def is_postgres(address: str | Path) -> bool:
    """Whether the address is that of a server."""
    return str(address).startswith(("postgresql://", "postgres://"))


def shown_address(address: str) -> str:
    """The address without its password, for screens and log files.

    >>> shown_address("postgresql://ada:secret@db.example/team")
    'postgresql://ada:…@db.example/team'
    """
    if "://" not in address:
        return address
    parts = urlsplit(address)
    user, _, host = parts.netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    place = f"{name}:…@{host}" if colon else parts.netloc
    query = "&".join(
        "password=…" if each.startswith("password=") else each for each in parts.query.split("&")
    )
    return parts._replace(netloc=place, query=query).geturl()


def is_full(folder: Path) -> bool:
    """Whether no space is left there; what cannot be asked is not full."""
    try:
        return shutil.disk_usage(folder).free <= _LITTLE
    except OSError:
        return False


def prepare_folder(config: Config) -> None:
    """Makes the folder of the database that is used when none was configured."""
    if config.database:
        return
    folder = Path(config.address).parent
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise LogError(
            f"The folder {folder} cannot be made: {error.strerror}. "
            "Name a database elsewhere with --database or SAPWOOD_DATABASE."
        ) from error


async def open_log(
    address: str | Path,
    *,
    patience: float = 30.0,
    opening: float | None = None,
    tell: Callable[[bool], None] | None = None,
) -> Log:
    """Opens `:memory:`, a path (an SQLite file, made if missing), or `postgresql://…`.

    `patience` is how many seconds to wait for a server that is away, `opening` how many to wait
    now; `tell` hears False when it is away and True when it is back.
    """
    text = str(address)
    if text == ":memory:":
        from sapwood.store.memory import MemoryLog

        return MemoryLog()
    if is_postgres(text):
        from sapwood.store.postgres import PostgresLog

        return await PostgresLog.open(text, patience=patience, opening=opening, tell=tell)
    if "://" in text:
        scheme = text.partition("://")[0]
        raise LogError(
            f"There is no store for '{scheme}://'. "
            "Give a path for SQLite, postgresql://… or :memory:."
        )
    from sapwood.store.sqlite import SqliteLog

    return await SqliteLog.open(Path(text))
