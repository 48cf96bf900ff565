"""Bare DBOS, for comparison: workflows of so many empty steps, started directly.

That is its fastest way. Like our log it keeps what it acknowledged through a power cut, as DBOS
does by default; on SQLite it has the write-ahead log that it does not turn on by itself.
"""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import psycopg
import sqlalchemy as sa
from dbos import DBOS, DBOSConfig, DBOSPortableJSONSerializer
from sqlalchemy import event

from sapwood.engine.dbos.place import Place, find_place
from sapwood.engine.dbos.quiet import quieten

__all__ = ["BareWorkflows", "all_recorded", "bare_workflows"]

_IN_FLIGHT = "('ENQUEUED', 'PENDING')"


class BareWorkflows:
    """DBOS, launched."""

    def __init__(self, place: Place, steps: int) -> None:
        self._place = place

        @DBOS.step()
        async def step() -> None:
            pass

        @DBOS.workflow()
        async def workflow() -> None:
            for _ in range(steps):
                await step()

        self._workflow = workflow

    async def one(self, _: int) -> None:
        """A workflow from its start to its end."""
        await (await DBOS.start_workflow_async(self._workflow)).get_result()

    async def settle(self) -> None:
        """Returns when everything is recorded."""
        await all_recorded(self._place)


@asynccontextmanager
async def bare_workflows(address: str, steps: int) -> AsyncGenerator[BareWorkflows]:
    """Workflows of so many steps, in an engine's database of their own for this address."""
    quieten()
    place = await asyncio.to_thread(find_place, address)
    event.listen(place.database, "connect", _flush_sqlite if place.schema is None else _flush)
    place.database.dispose()  # the connections made before know nothing of it
    DBOS(config=_config(place))
    workflows = BareWorkflows(place, steps)
    DBOS.launch()
    try:
        yield workflows
    finally:
        DBOS.destroy(destroy_registry=True)
        place.database.dispose()


async def all_recorded(place: Place) -> None:
    """Returns when no workflow waits or runs."""
    query = sa.text(
        f"SELECT count(*) FROM {place.prefix}workflow_status WHERE status IN {_IN_FLIGHT}"
    )

    def left() -> int:
        with place.database.connect() as connection:
            return connection.execute(query).scalar_one()

    while await asyncio.to_thread(left):  # noqa: ASYNC110  # threads of DBOS's finish them
        await asyncio.sleep(0.002)


def _flush_sqlite(connection: sqlite3.Connection, record: object) -> None:
    connection.execute("PRAGMA synchronous = FULL")


def _flush(connection: psycopg.Connection, record: object) -> None:
    connection.execute("SET synchronous_commit TO on")
    connection.commit()


def _config(place: Place) -> DBOSConfig:
    return DBOSConfig(
        name="bare",
        application_version="bare",
        system_database_engine=place.database,
        dbos_system_schema=place.schema,
        serializer=DBOSPortableJSONSerializer(),
        max_executor_threads=place.threads,
        use_listen_notify=False,
        log_level="WARNING",
    )
