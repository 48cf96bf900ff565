"""Backs up and migrates a database, and lists and renews the keys of its encrypted spaces."""

import base64
import os
from importlib import resources
from pathlib import Path
from typing import Protocol, runtime_checkable

from msgspec import Struct

from sapwood.core.errors import LogError
from sapwood.core.ids import Space
from sapwood.private_files import replace_file
from sapwood.store.master_keys import MasterKeys, SpaceKey, configured_masters, parse_keys
from sapwood.store.space_cipher import KEY_BYTES
from sapwood.store.stores import store_of
from sapwood.turns.log import Log

_NO_KEY = (
    "No master key is configured. Nothing was changed. Set encryption.key_file to the file that "
    "holds it, or set SAPWOOD_ENCRYPTION_KEY."
)


@runtime_checkable
class KeyedLog(Protocol):
    """A log in a database that has the keys of spaces."""

    async def space_keys(self) -> list[tuple[Space, SpaceKey]]:
        """The wrapped keys of all encrypted spaces, ordered by space."""
        ...

    async def renew_keys(self, masters: MasterKeys) -> int:
        """Wraps the keys of all spaces with the first master key. Returns how many were changed."""
        ...


class EncryptedSpace(Struct, frozen=True):
    """An encrypted space. `master` names the master key; `readable`: this program has it."""

    space: Space
    key: str
    master: str
    readable: bool


async def encrypted_spaces(log: Log) -> list[EncryptedSpace]:
    """The encrypted spaces of a database, ordered by name. Raises `LogError`."""
    masters = configured_masters()
    return [
        EncryptedSpace(space, key.id, key.master, masters is not None and masters.fits(space, key))
        for space, key in await _keyed(log).space_keys()
    ]


async def renew_space_keys(log: Log) -> int:
    """Wraps the keys of all spaces with the first master key of this program.

    Returns how many were changed. Raises `LogError` if a master key of one of them is missing; then
    those before it were changed.
    """
    masters = configured_masters()
    if masters is None:
        raise LogError(_NO_KEY)
    return await _keyed(log).renew_keys(masters)


def add_master_key(file: Path) -> bool:
    """Puts a new master key in front of those in a file. Returns whether the file had some.

    The file is created if it is missing. Raises `LogError` if it has something else, and `OSError`.
    """
    try:
        old = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        old = ""
    if old:
        parse_keys(old, str(file))
    new = base64.b64encode(os.urandom(KEY_BYTES)).decode()
    replace_file(file, f"{new}\n{old}")
    return bool(old)


def _keyed(log: Log) -> KeyedLog:
    if isinstance(log, KeyedLog):
        return log
    raise LogError("Space keys are stored in the database. Name it: --database ADDRESS")


def grants() -> str:
    """SQL that creates roles with few rights, and grants them what they need."""
    return (resources.files("sapwood.store.postgres") / "worker.sql").read_text(encoding="utf-8")


async def back_up(address: str, target: Path) -> int:
    """Writes the database at this address into a new file, while others use it.

    Returns the size of the file in bytes. An SQLite database becomes an SQLite file, which can be
    opened as it is; one of PostgreSQL a file for `pg_restore`. Raises `LogError`.
    """
    return await store_of(address).back_up(address, target)


async def migration_state(address: str) -> tuple[int, int]:
    """The schema of the database, 0 if it is empty, and the one of this version of Sapwood.

    Changes nothing. Raises `LogError` if the database cannot be reached.
    """
    return await store_of(address).schema(address)


async def migrate_database(address: str) -> None:
    """Migrates the log, and on a server the tables of the engine. Raises `LogError`."""
    store = store_of(address)
    await store.migrate(address)
    if not store.on_server:
        return
    from sapwood.engine.wake_database import open_wake_database

    await (await open_wake_database(address)).close()
