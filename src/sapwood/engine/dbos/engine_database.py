"""The engine's database as a process sees it that has DBOS, with or without a worker."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from sapwood.core.log_values import AvailabilityListener
from sapwood.engine.dbos.dbos_logging import quiet_dbos_logging
from sapwood.engine.dbos.drive_queue import DriveQueue
from sapwood.engine.dbos.system_database import SystemDatabase, open_system_database
from sapwood.engine.dbos.transaction_thread import TransactionThread
from sapwood.engine.drives import EngineError
from sapwood.engine.wake_database import ADVISORY_LOCK, Row, WakeDatabase
from sapwood.engine.wake_requests import WakeRequest


class EngineDatabase:
    """The open database: the wake requests, the queue, and the thread that runs transactions.

    Raises `EngineError` when it cannot be opened.
    """

    def __init__(
        self, address: str | Path, on_availability: AvailabilityListener | None = None
    ) -> None:
        quiet_dbos_logging()
        try:
            self.system = open_system_database(address)
        except (OSError, SQLAlchemyError) as problem:
            raise EngineError(
                f"The engine's database could not be opened: {problem}. The log was not touched."
            ) from problem
        self.queue = DriveQueue(self.system)
        self._on_availability = on_availability
        self._transactions = TransactionThread(self.system.sql, on_availability)
        self.wakes = WakeDatabase(_BatchedSql(self._transactions, self.system), self.system.prefix)

    def wakes_of_heartbeat(self) -> WakeDatabase:
        """The wake requests, in a thread of its own.

        A heartbeat must not wait behind the transactions of many agents.
        """
        transactions = TransactionThread(self.system.sql, self._on_availability)
        return WakeDatabase(_BatchedSql(transactions, self.system), self.system.prefix)

    async def wake_later(self, request: WakeRequest, delay: float) -> None:
        """Schedules a wake after so many seconds."""
        await self._transactions.run(
            lambda connection: self.queue.schedule_wake(connection, request, delay)
        )

    async def close(self) -> None:
        """Finishes the transactions that were given and closes all connections."""
        await self._transactions.close()
        self.queue.close()
        self.system.sql.dispose()


class _BatchedSql:
    """Runs the statements of many agents together, in a few transactions."""

    def __init__(self, transactions: TransactionThread, system: SystemDatabase) -> None:
        self._transactions = transactions
        self._is_postgres = system.schema is not None
        self._statements: dict[str, sa.TextClause] = {}

    async def run(
        self, sql: str, values: Mapping[str, object], *, alone: bool = False
    ) -> Sequence[Row]:
        """Returns the rows."""
        statement = self._statements.setdefault(sql, sa.text(sql))

        def work(connection: sa.Connection) -> Sequence[Row]:
            if alone and self._is_postgres:
                lock = sa.text("SELECT pg_advisory_xact_lock(:number)")
                connection.execute(lock, {"number": ADVISORY_LOCK})
            result = connection.execute(statement, dict(values))
            return list(result.fetchall()) if result.returns_rows else []

        # Without an order it comes before all that lock rows, so that no two wait for each other.
        order = () if alone else (str(values.get("space", "")), str(values.get("agent", "")))
        return await self._transactions.run(work, *order)

    async def close(self) -> None:
        """Finishes the statements that were given, and ends the thread."""
        await self._transactions.close()
