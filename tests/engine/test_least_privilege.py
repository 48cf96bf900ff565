"""A worker runs with a role that can create nothing, if the owner has migrated the database."""

import asyncio
from urllib.parse import urlsplit

import psycopg

from sapwood.app.migration import grants, migrate_database, migration_state
from sapwood.core.ids import AgentId, Space
from sapwood.engine.dbos import DbosEngine
from sapwood.store.postgres import PostgresLog
from tests.engine.backends import FAST
from tests.engine.drive_recorder import DriveRecorder
from tests.engine.eventually import eventually
from tests.store.contract import start

ADA, SPACE = AgentId("ada"), Space("local")


def _as_owner(dsn: str, statement: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(statement.encode())


async def test_a_worker_without_the_right_to_create(engine_database: str) -> None:
    await migrate_database(engine_database)
    before, newest = await migration_state(engine_database)
    assert before == newest
    await asyncio.to_thread(_as_owner, engine_database, grants())
    role = "CREATE ROLE sapwood_lean LOGIN PASSWORD 'sapwood'; GRANT sapwood_worker TO sapwood_lean"
    await asyncio.to_thread(_as_owner, engine_database, role)
    parts = urlsplit(engine_database)
    place = parts.netloc.rpartition("@")[2]
    lean = parts._replace(netloc=f"sapwood_lean:sapwood@{place}").geturl()
    try:
        log = await PostgresLog.open(lean)
        await start(log, SPACE, ADA)
        await log.close()
        recorder, engine = DriveRecorder(), DbosEngine(lean, intervals=FAST)
        await engine.launch(recorder.drive)
        await engine.wake(SPACE, ADA)
        await eventually(lambda: recorder.done[ADA] == 1)
        await engine.close()
    finally:
        roles = "sapwood_lean, sapwood_worker, sapwood_eraser, sapwood_server, sapwood_reader"
        await asyncio.to_thread(
            _as_owner, engine_database, f"DROP OWNED BY {roles}; DROP ROLE {roles}"
        )
