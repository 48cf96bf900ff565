"""A worker runs with a role that can create nothing, if the owner has migrated the database."""

import asyncpg
import pytest

from sapwood.app.maintenance import migrate_database, migration_state
from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import LogError
from sapwood.engine.process_engine import ProcessEngine
from sapwood.store.postgres import PostgresLog
from tests.engine.backends import FAST
from tests.engine.drive_recorder import DriveRecorder
from tests.engine.eventually import eventually
from tests.store.contract import start
from tests.store.postgres.roles import granted_roles, login

ADA, SPACE = AgentId("ada"), Space("local")


async def test_a_worker_without_the_right_to_create(
    engine_database: str, postgres_dsn: str
) -> None:
    await migrate_database(engine_database)
    before, newest = await migration_state(engine_database)
    assert before == newest
    role = "sapwood_lean IN ROLE sapwood_worker"
    async with granted_roles(postgres_dsn, engine_database, role):
        lean = login(engine_database, "sapwood_lean")
        log = await PostgresLog.open(lean)
        await start(log, SPACE, ADA)
        await log.close()
        recorder, engine = DriveRecorder(), ProcessEngine(lean, intervals=FAST, is_worker=True)
        await engine.launch(recorder.drive)
        await engine.wake(SPACE, ADA)
        await eventually(lambda: recorder.done[ADA] == 1)
        await engine.close()


async def test_after_a_restore_to_another_server_the_owner_migrates_and_workers_start(
    engine_database: str, postgres_dsn: str
) -> None:
    await migrate_database(engine_database)
    role = "sapwood_lean IN ROLE sapwood_worker"
    async with granted_roles(postgres_dsn, engine_database, role):
        owner = await asyncpg.connect(engine_database)
        await owner.execute("UPDATE sapwood.epochs SET server = 'another'")
        await owner.close()
        lean = login(engine_database, "sapwood_lean")
        with pytest.raises(LogError, match=r"another server.*sapwood migrate"):
            await PostgresLog.open(lean)
        await migrate_database(engine_database)
        await (await PostgresLog.open(lean)).close()
