"""A worker runs with a role that can create nothing, if the owner has migrated the database."""

from sapwood.app.maintenance import migrate_database, migration_state
from sapwood.core.ids import AgentId, Space
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
