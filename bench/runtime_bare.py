"""Bare DBOS, for comparison: workflows of empty steps, started directly.

This is the fastest way to use it. Like our log it keeps acknowledged work through a power failure,
which is the default of DBOS. On SQLite it uses a write-ahead log, which is not the default of DBOS.
"""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import psycopg
import sqlalchemy as sa
from dbos import DBOS, DBOSConfig, DBOSPortableJSONSerializer
from sqlalchemy import event

from sapwood.engine.dbos.system_database import (
    SystemDatabase,
    open_system_database,
    quiet_dbos_logging,
)

_IN_FLIGHT = "('ENQUEUED', 'PENDING')"


class BareWorkflows:
    """DBOS, launched."""

    def __init__(self, system: SystemDatabase, steps: int) -> None:
        self._system = system

        @DBOS.step()
        async def step() -> None:
            pass

        @DBOS.workflow()
        async def workflow() -> None:
            for _ in range(steps):
                await step()

        self._workflow = workflow

    async def one(self, _: int) -> None:
        """Runs a workflow from its start to its end."""
        await (await DBOS.start_workflow_async(self._workflow)).get_result()

    async def settle(self) -> None:
        """Waits until everything is recorded."""
        await all_recorded(self._system)


@asynccontextmanager
async def bare_workflows(address: str, steps: int) -> AsyncGenerator[BareWorkflows]:
    """Workflows with this number of steps, in their own engine database for this address."""
    quiet_dbos_logging()
    system = await asyncio.to_thread(open_system_database, address)
    event.listen(system.sql, "connect", _flush_sqlite if system.schema is None else _flush)
    system.sql.dispose()  # the connections made before know nothing of it
    DBOS(config=_config(system))
    workflows = BareWorkflows(system, steps)
    DBOS.launch()
    try:
        yield workflows
    finally:
        DBOS.destroy(destroy_registry=True)
        system.sql.dispose()


async def all_recorded(system: SystemDatabase) -> None:
    """Waits until no agent waits or is driven, and no workflow runs."""
    query = sa.text(
        f"SELECT (SELECT count(*) FROM {system.prefix}bells) + (SELECT count(*)"
        f" FROM {system.prefix}workflow_status WHERE status IN {_IN_FLIGHT})"
    )

    def left() -> int:
        with system.sql.connect() as connection:
            return connection.execute(query).scalar_one()

    while await asyncio.to_thread(left):  # noqa: ASYNC110  # threads of DBOS's finish them
        await asyncio.sleep(0.002)


def _flush_sqlite(connection: sqlite3.Connection, record: object) -> None:
    connection.execute("PRAGMA synchronous = FULL")


def _flush(connection: psycopg.Connection, record: object) -> None:
    connection.execute("SET synchronous_commit TO on")
    connection.commit()


def _config(system: SystemDatabase) -> DBOSConfig:
    return DBOSConfig(
        name="bare",
        application_version="bare",
        system_database_engine=system.sql,
        dbos_system_schema=system.schema,
        serializer=DBOSPortableJSONSerializer(),
        max_executor_threads=system.threads,
        use_listen_notify=False,
        log_level="WARNING",
    )
