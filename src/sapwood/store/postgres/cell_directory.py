"""The table that says which cell has which space, for all routers. It is in any database.

Cells know by themselves which spaces they have; the table saves routers the search, and gives each
new space to one cell. It also knows of spaces that left after a backup which was restored since.
"""

import os
from collections.abc import Iterable, Mapping, Sequence

import asyncpg

from sapwood.config.config_file import ConfigError, load_config, read_config
from sapwood.core.errors import LogError, SpaceMoved
from sapwood.core.ids import Space
from sapwood.store.postgres.connections import DRIVER_ERRORS, ReaderPool, Server, log_error

_TABLE = """
    CREATE SCHEMA IF NOT EXISTS sapwood_router;
    CREATE TABLE IF NOT EXISTS sapwood_router.spaces (
        space text COLLATE "C" PRIMARY KEY,
        cell  text COLLATE "C" NOT NULL,
        since timestamptz NOT NULL DEFAULT now()
    );
    CREATE TABLE IF NOT EXISTS sapwood_router.cells (cell text COLLATE "C" PRIMARY KEY);
"""
_LOCK = "SELECT pg_advisory_xact_lock(5970271303)"
_FIND = "SELECT cell FROM sapwood_router.spaces WHERE space = $1"
_ADD = """
    INSERT INTO sapwood_router.spaces (space, cell) VALUES ($1, $2)
    ON CONFLICT (space) DO UPDATE SET cell = spaces.cell RETURNING cell
"""
_MOVE = """
    INSERT INTO sapwood_router.spaces (space, cell) VALUES ($1, $2)
    ON CONFLICT (space) DO UPDATE SET cell = excluded.cell, since = now()
"""
_ENTER = """
    INSERT INTO sapwood_router.cells SELECT unnest($1::text[]) ON CONFLICT DO NOTHING
"""
_ELSEWHERE = """
    SELECT space, cell FROM sapwood_router.spaces WHERE space = ANY($1) AND cell <> $2
    ORDER BY space
"""
_CELLS = "SELECT cell FROM sapwood_router.cells ORDER BY cell"


class CellDirectory:
    """The cells of spaces, in a table. Every method raises `LogError`."""

    def __init__(self, pool: ReaderPool) -> None:
        self._pool = pool

    @classmethod
    async def open(cls, address: str) -> "CellDirectory":
        """Opens the table in the database at this address, and creates it if it is missing."""
        server = Server(address, 5.0)
        try:
            connection = await server.connect()
            try:
                async with connection.transaction():
                    await connection.execute(_LOCK)
                    await connection.execute(_TABLE)
            except asyncpg.InsufficientPrivilegeError:
                await connection.fetch(_FIND, "")  # it is there, and this login may only use it
            finally:
                await connection.close()
        except DRIVER_ERRORS as error:
            raise log_error(error, "Nothing was changed.") from error
        return cls(ReaderPool(server, 4))

    async def find(self, space: str) -> str:
        row = await self._pool.fetchrow(_FIND, space)
        return row["cell"] if row else ""

    async def add(self, space: str, cell: str) -> str:
        row = await self._pool.fetchrow(_ADD, space, cell)
        return row["cell"] if row else cell

    async def move(self, space: str, cell: str) -> None:
        await self._pool.fetch(_MOVE, space, cell)

    async def elsewhere(self, spaces: Sequence[Space], cell: str) -> dict[Space, str]:
        """The spaces among these that another cell has than this one, each with that cell."""
        rows = await self._pool.fetch(_ELSEWHERE, spaces, cell)
        return {Space(row["space"]): row["cell"] for row in rows}

    async def enter(self, cells: Iterable[str]) -> None:
        """Enters the names of the cells that a router knows."""
        await self._pool.fetch(_ENTER, list(cells))

    async def require_cell(self, cell: str) -> None:
        """Raises `LogError` if no router has entered a cell of this name."""
        known = [row["cell"] for row in await self._pool.fetch(_CELLS)]
        if cell not in known:
            names = f"They know: {', '.join(known)}" if known else "None has been started yet"
            raise LogError(
                f"No router knows the cell '{cell}'. {names}. Nothing was changed. Correct --cell, "
                f"or start a router first: sapwood route --cell {cell}=URL --directory ADDRESS"
            )

    async def close(self) -> None:
        """Closes the connections."""
        await self._pool.close()


class CellFence:
    """Refuses the spaces that the table has in another cell than this one.

    A database that was restored from an old backup does not know which spaces have left it since.
    The table is asked once for each space.
    """

    def __init__(self, address: str, cell: str) -> None:
        self._address = address
        self._cell = cell
        self._directory: CellDirectory | None = None
        self._here: set[Space] = set()

    async def require_here(self, space: Space) -> None:
        """Raises `SpaceMoved` if another cell has the space, `LogError` if the table is away."""
        if space in self._here:
            return
        if self._directory is None:
            self._directory = await CellDirectory.open(self._address)
        cell = await self._directory.find(space)
        if cell not in ("", self._cell):
            raise SpaceMoved(space, cell)
        self._here.add(space)

    def forget(self, space: Space) -> None:
        """The space has left this database: the table is asked again if it is seen here."""
        self._here.discard(space)

    async def close(self) -> None:
        """Closes the connections."""
        if self._directory is not None:
            await self._directory.close()


def configured_fence(environ: Mapping[str, str] = os.environ) -> CellFence | None:
    """The fence of this program by the settings of its cell; None if it has none.

    Raises `LogError` if the configuration cannot be read.
    """
    try:
        if "cell" not in read_config(environ):
            return None  # most programs: nothing to parse
        cell = load_config(environ).cell
    except ConfigError as error:
        raise LogError(f"Sapwood cannot tell which cell this is: {error}") from error
    if cell.directory and not cell.name:
        raise LogError(
            "Sapwood cannot tell which cell this is: cell.directory is set and cell.name is not. "
            "Type: sapwood config set cell.name NAME"
        )
    return CellFence(cell.directory, cell.name) if cell.directory else None
