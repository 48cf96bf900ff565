"""The table that says which cell has which space, for all routers. It is in any database.

Cells know by themselves which spaces they have; the table saves routers the search, and gives each
new space to one cell.
"""

from collections.abc import Iterable

import asyncpg

from sapwood.core.errors import LogError
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
        """The cell of a space; empty if it has none yet."""
        row = await self._pool.fetchrow(_FIND, space)
        return row["cell"] if row else ""

    async def add(self, space: str, cell: str) -> str:
        """Gives a space that has no cell to this one. Returns the cell that it has now."""
        row = await self._pool.fetchrow(_ADD, space, cell)
        return row["cell"] if row else cell

    async def move(self, space: str, cell: str) -> None:
        """Says that another cell has the space now."""
        await self._pool.fetch(_MOVE, space, cell)

    async def enter(self, cells: Iterable[str]) -> None:
        """Enters the names of the cells that a router knows."""
        await self._pool.fetch(_ENTER, list(cells))

    async def require_cell(self, cell: str) -> None:
        """Raises `LogError` if no router has entered a cell of this name."""
        known = [row["cell"] for row in await self._pool.fetch(_CELLS)]
        if cell not in known:
            names = f"They know: {', '.join(known)}" if known else "None has been started yet"
            raise LogError(
                f"No router knows a cell '{cell}'. {names}. Nothing was changed. Correct --cell, "
                f"or start a router first: sapwood route --cell {cell}=URL --directory ADDRESS"
            )

    async def close(self) -> None:
        """Closes the connections."""
        await self._pool.close()
