"""The engine's database as a process sees it that wakes agents, with or without a worker.

Each asynchronous method is one transaction and returns when it is committed.
"""

from pathlib import Path

import sqlalchemy as sa
from msgspec.structs import replace
from sqlalchemy.exc import SQLAlchemyError

from sapwood.core.log_values import AvailabilityListener
from sapwood.engine.dbos.dbos_logging import quiet_dbos_logging
from sapwood.engine.dbos.drive_queue import DriveQueue
from sapwood.engine.dbos.system_database import open_system_database
from sapwood.engine.dbos.transaction_thread import TransactionThread
from sapwood.engine.dbos.wake_requests import WakeRequest, WakeRequestTable, new_drive_id
from sapwood.engine.dbos.workers import WorkerTable
from sapwood.engine.drives import EngineError
from sapwood.engine.limits import DriveLimits

__all__ = ["EngineDatabase"]


class EngineDatabase:
    """The open database: its tables, its queues and the thread that runs transactions.

    Raises `EngineError` when it cannot be opened.
    """

    def __init__(
        self,
        address: str | Path,
        limits: DriveLimits,
        on_availability: AvailabilityListener | None = None,
    ) -> None:
        quiet_dbos_logging()
        try:
            self.system = open_system_database(address)
        except (OSError, SQLAlchemyError) as problem:
            raise EngineError(
                f"The engine's database could not be opened: {problem}. The log was not touched."
            ) from problem
        self.queue = DriveQueue(self.system, limits)
        self.requests = WakeRequestTable(self.system.prefix)
        self.workers = WorkerTable(self.system.prefix)
        self.on_availability = on_availability
        self._transactions = TransactionThread(self.system.sql, on_availability)

    async def wake(self, request: WakeRequest) -> None:
        """Records the wake; a new request is queued for any free worker."""

        def add(connection: sa.Connection) -> None:
            if self.requests.add(connection, request, None, None):
                self.queue.enqueue(connection, request)

        await self._transactions.run(add, request.space, request.agent)

    async def wake_here(self, request: WakeRequest, worker: str, holder: str) -> bool:
        """Records the wake. True if the request is new: `holder` claimed it and must start it."""
        return await self._transactions.run(
            lambda connection: self.requests.add(connection, request, worker, holder),
            request.space,
            request.agent,
        )

    async def wake_later(self, request: WakeRequest, delay: float) -> None:
        """Schedules a wake after so many seconds."""
        await self._transactions.run(
            lambda connection: self.queue.schedule_wake(connection, request, delay)
        )

    async def claim(self, request: WakeRequest, worker: str, holder: str) -> int | None:
        """Makes this holder the one that drives. Returns its wakes, None if it lost the request."""
        return await self._transactions.run(
            lambda connection: self.requests.claim(connection, request, worker, holder),
            request.space,
            request.agent,
        )

    async def finish(self, request: WakeRequest, holder: str, wakes: int) -> int | None:
        """Deletes the request, or returns the new count if more wakes have arrived."""
        return await self._transactions.run(
            lambda connection: self.requests.finish(connection, request, holder, wakes),
            request.space,
            request.agent,
        )

    async def give_back(self, request: WakeRequest) -> None:
        """Queues the request once more, with another drive, for a worker that serves its space."""
        successor = replace(request, drive=new_drive_id())

        def reassign(connection: sa.Connection) -> None:
            if self.requests.reassign(connection, request, successor.drive):
                self.queue.enqueue(connection, successor)

        await self._transactions.run(reassign, request.space, request.agent)

    async def add_worker(self, worker: str) -> None:
        """Makes a worker known to the others."""
        await self._transactions.run(lambda connection: self.workers.add(connection, worker))

    async def remove_worker(self, worker: str) -> None:
        """Removes a worker from the list."""
        await self._transactions.run(lambda connection: self.workers.remove(connection, worker))

    async def close(self) -> None:
        """Finishes the transactions that were given and closes all connections."""
        await self._transactions.close()
        self.queue.close()
        self.system.sql.dispose()
