"""The stores: a value for each kind of address, which everything else asks instead of the address.

Plug-ins add stores by entry points of the group `sapwood.stores`: one for each scheme.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from msgspec import Struct

from sapwood.config.database_address import is_of_plugin
from sapwood.core.errors import LogError, PluginError
from sapwood.core.log_values import AvailabilityListener
from sapwood.plugins import load_plugin

if TYPE_CHECKING:
    from sapwood.turns.log import Log


class StoreOptions(Struct, frozen=True):
    """How a store is opened. A store ignores what it has no use for.

    `patience` is the number of seconds to wait for a database that does not answer, `opening` the
    number of seconds to wait now. `on_availability` is called when it stops answering and when it
    answers again. `token` signs in. `reader` is the address of PostgreSQL for a login that sees
    one space only, by which spaces are then read.
    """

    patience: float = 30.0
    opening: float | None = None
    on_availability: AvailabilityListener | None = None
    token: str = ""
    reader: str = ""


class Store(Protocol):
    """What can be done with the database at an address. All methods raise `LogError`."""

    on_server: bool
    """Whether a database server has it, which processes of several machines can use."""

    async def open(self, address: str, options: StoreOptions) -> "Log":
        """Opens the log. The tables are created or migrated where that needs no further right."""
        ...

    async def back_up(self, address: str, target: Path) -> int:
        """Writes the database into a new file, while others use it; returns its size in bytes."""
        ...

    async def schema(self, address: str) -> tuple[int, int]:
        """The schema of the database, 0 if it is empty, and the one of this version of Sapwood."""
        ...

    async def migrate(self, address: str) -> None:
        """Migrates the tables of the log."""
        ...

    def exists(self, address: str) -> bool:
        """Whether there is a database, as far as can be told without a network."""
        ...


def store_of(address: str | Path) -> Store:
    """The store for an address: `:memory:`, a path, `postgresql://…`, or that of a plug-in."""
    text = str(address)
    if is_of_plugin(text):
        return _PluginStore()
    if "://" in text:
        return _PostgresStore()
    return _TemporaryStore() if text == ":memory:" else _SqliteStore()


class _SqliteStore:
    on_server = False

    async def open(self, address: str, options: StoreOptions) -> "Log":
        from sapwood.store.master_keys import configured_masters
        from sapwood.store.sqlite import SqliteLog

        return await SqliteLog.open(Path(address), masters=configured_masters())

    async def back_up(self, address: str, target: Path) -> int:
        from sapwood.store.sqlite.backup import back_up

        return await asyncio.to_thread(back_up, Path(address), target)

    async def schema(self, address: str) -> tuple[int, int]:
        from sapwood.store.sqlite.schema import NEWEST, read_schema_number

        return await asyncio.to_thread(read_schema_number, Path(address)), NEWEST

    async def migrate(self, address: str) -> None:
        from sapwood.store.sqlite import SqliteLog

        await (await SqliteLog.open(address)).close()

    def exists(self, address: str) -> bool:
        return Path(address).expanduser().is_file()


class _TemporaryStore(_SqliteStore):
    async def open(self, address: str, options: StoreOptions) -> "Log":
        from sapwood.store.sqlite import SqliteLog

        return await SqliteLog.open_temporary()


class _PostgresStore:
    on_server = True

    async def open(self, address: str, options: StoreOptions) -> "Log":
        from sapwood.store.master_keys import configured_masters
        from sapwood.store.postgres import PostgresLog
        from sapwood.store.postgres.cell_directory import configured_fence

        return await PostgresLog.open(
            address,
            patience=options.patience,
            opening=options.opening,
            on_availability=options.on_availability,
            reader=options.reader,
            masters=configured_masters(),
            fence=configured_fence(),
        )

    async def back_up(self, address: str, target: Path) -> int:
        from sapwood.store.postgres.backup import back_up

        return await asyncio.to_thread(back_up, address, target)

    async def schema(self, address: str) -> tuple[int, int]:
        from sapwood.store.postgres.schema import NEWEST, read_schema_number

        return await read_schema_number(address), NEWEST

    async def migrate(self, address: str) -> None:
        from sapwood.store.postgres import PostgresLog

        await (await PostgresLog.open(address, migrate=True)).close()

    def exists(self, address: str) -> bool:
        return True


class _PluginStore:
    """The store of a plug-in opens its logs. It keeps and upgrades them by its own means."""

    on_server = False

    async def open(self, address: str, options: StoreOptions) -> "Log":
        return await load_store(address.partition("://")[0])(address, options)

    async def back_up(self, address: str, target: Path) -> int:
        raise _own_means(address)

    async def schema(self, address: str) -> tuple[int, int]:
        raise _own_means(address)

    async def migrate(self, address: str) -> None:
        raise _own_means(address)

    def exists(self, address: str) -> bool:
        return False


def _own_means(address: str) -> LogError:
    return LogError(
        f"The store for '{address.partition('://')[0]}://' comes with a plug-in, which backs up "
        "and migrates its databases itself. Nothing was changed."
    )


OpenStore = Callable[[str, StoreOptions], "Awaitable[Log]"]
"""What the entry point of a store names: opens the log at an address. Raises `LogError`."""


def load_store(scheme: str) -> OpenStore:
    """Returns the store for addresses `scheme://…`. Raises `LogError` if there is none."""
    try:
        found = load_plugin("stores", scheme)
    except PluginError as error:
        raise LogError(str(error)) from error
    if found is None:
        raise LogError(
            f"There is no store for '{scheme}://'. "
            "Give a path for SQLite, postgresql://… or :memory:."
        )
    return cast("OpenStore", found)
