"""On PostgreSQL a worker hears of a wake by another process at once, and does not have to look.

After its connection was lost, it looks into the log: a crash loses wakes that were not flushed.
"""

import asyncio

import pytest

from sapwood.core.errors import LogUnavailable
from sapwood.core.ids import AgentId, Space
from sapwood.engine.limits import Intervals
from sapwood.engine.process_engine import ProcessEngine
from tests.postgres_session import execute

SPACE = Space("local")
CUT_ENGINES = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE application_name = 'sapwood engine' AND datname = current_database()"
)


@pytest.mark.parametrize("connection", ["kept", "cut"])
async def test_a_wake_by_another_process_needs_no_look(
    engine_database: str, connection: str
) -> None:
    driven = asyncio.Queue[AgentId]()

    async def drive(space: Space, agent: AgentId) -> None:
        driven.put_nowait(agent)

    never_looks = Intervals(poll=3600, heartbeat=0.1)
    worker = ProcessEngine(engine_database, intervals=never_looks, is_worker=True)
    waking = ProcessEngine(engine_database)
    await worker.launch(drive)
    try:
        if connection == "cut":
            execute(engine_database, CUT_ENGINES)
        await waking.wake(SPACE, AgentId(f"woken-{connection}"))
        async with asyncio.timeout(30):
            assert await driven.get() == f"woken-{connection}"
    finally:
        await waking.close()
        await worker.close()


async def test_after_a_lost_connection_the_agents_with_work_are_woken(engine_database: str) -> None:
    recovered = asyncio.Event()

    async def recover(engine: ProcessEngine) -> None:
        if not recovered.is_set():
            recovered.set()
            raise LogUnavailable("The log is not back yet.")
        await engine.wake(SPACE, AgentId("lost"))

    driven = asyncio.Queue[AgentId]()

    async def drive(space: Space, agent: AgentId) -> None:
        driven.put_nowait(agent)

    worker = ProcessEngine(
        engine_database, intervals=Intervals(heartbeat=0.1), recover=recover, is_worker=True
    )
    await worker.launch(drive)
    try:
        assert not recovered.is_set()
        execute(engine_database, CUT_ENGINES)
        async with asyncio.timeout(30):
            assert await driven.get() == "lost"
    finally:
        await worker.close()
