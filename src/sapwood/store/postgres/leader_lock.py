"""A lock that one process at a time has, for work that only one of them should do."""

from typing import TYPE_CHECKING

import asyncpg

from sapwood.store.postgres.connections import Server
from sapwood.store.postgres.database_errors import DRIVER_ERRORS, log_error

if TYPE_CHECKING:
    from sapwood.store.postgres.connections import Connection


_TRY = "SELECT pg_try_advisory_lock(hashtextextended($1, 7))"


class AdvisoryLock:
    """A lock of the server, on a connection of its own. It ends with the connection."""

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection

    async def is_held(self) -> bool:
        """Whether the connection is still there, and with it the lock."""
        try:
            return bool(await self._connection.fetchval("SELECT true"))
        except DRIVER_ERRORS:
            return False

    async def release(self) -> None:
        """Lets another process have it."""
        try:
            await self._connection.close(timeout=5)
        except (*DRIVER_ERRORS, TimeoutError):
            self._connection.terminate()


async def try_lock(server: Server, task: str) -> AdvisoryLock | None:
    """The lock of a task; None if another process has it. Raises `LogError`."""
    connection: Connection | None = None
    try:
        connection = await server.connect()
        if await connection.fetchval(_TRY, f"sapwood {task}"):
            return AdvisoryLock(connection)
        await connection.close()
    except (*DRIVER_ERRORS, asyncpg.PostgresError) as error:
        if connection is not None:
            connection.terminate()
        raise log_error(error, "Nothing was changed.") from error
    return None
