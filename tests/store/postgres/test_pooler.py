"""The log through a PgBouncer that pools transactions, and the connections of a worker."""

import asyncio
from collections.abc import Generator

import pytest

from sapwood.config.database_address import split_pooler
from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import LogError
from sapwood.engine.process_engine import ProcessEngine
from sapwood.store.postgres import PostgresLog
from tests.postgres_session import execute
from tests.store.contract import grow, take, texts
from tools.pgbouncer import pooler

ADA = AgentId("ada")
_MAX_OF_WORKER = 8
_SERVERS = 2
_COUNT = """
    SELECT count(*) FILTER (WHERE application_name LIKE 'sapwood%'), count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


@pytest.fixture
def pooled(postgres_database: str, pgbouncer: None) -> Generator[str]:
    """An address through PgBouncer, with fewer connections to the server than a log has to it."""
    with pooler(postgres_database, size=_SERVERS) as address:
        yield address


async def test_two_programs_work_through_a_pooler_of_transactions(
    pooled: str, space: Space
) -> None:
    one, two = await PostgresLog.open(pooled), await PostgresLog.open(pooled)
    following = asyncio.ensure_future(take(two.follow(space, ADA), 9))
    tailing = asyncio.ensure_future(take(two.tail(space), 9 + 6 * 2))

    async def work(log: PostgresLog, number: int) -> None:
        agent = AgentId(f"agent-{number}")
        for turn in range(2):
            await grow(log, space, agent, f"words {turn}")
            assert len(await log.read(space, agent)) == turn + 1

    await asyncio.gather(*(work((one, two)[n % 2], n) for n in range(6)))
    assert len(await one.search(space, "words")) == 6 * 2
    for n in range(9):
        await grow(one, space, ADA, f"said {n}")
    assert texts(await following) == [f"said {n}" for n in range(9)]
    assert len(await tailing) == 9 + 6 * 2
    lock = await one.try_lead("retention")
    assert lock is not None
    assert await one.try_lead("retention") is None
    assert await two.try_lead("retention") is None
    assert await lock.is_held()
    ((sessions, all_connections),) = execute(split_pooler(pooled).sessions, _COUNT)
    assert sessions == 2, "each log listens in a session of its own"
    assert all_connections <= sessions + _SERVERS
    await lock.release()
    other = await two.try_lead("retention")
    assert other is not None
    await other.release()
    await one.close()
    await two.close()


async def test_a_pooler_with_other_settings_is_refused(pooled: str, postgres_database: str) -> None:
    with (
        pooler(postgres_database, settings="") as address,
        pytest.raises(LogError, match="connect_query='SET jit = off; SET enable_seqscan = off"),
    ):
        await PostgresLog.open(address)


async def test_a_pooler_of_transactions_that_the_address_does_not_name_is_refused(
    pooled: str,
) -> None:
    with pytest.raises(LogError, match=r"address of the server behind .* \?direct=HOST:PORT$"):
        await PostgresLog.open(split_pooler(pooled).statements)
    timeout = "SHOW idle_in_transaction_session_timeout"
    assert execute(split_pooler(pooled).statements, timeout) == [("0",)], "nothing was set"
    with pooler(split_pooler(pooled).sessions, mode="session") as sessions:
        log = await PostgresLog.open(split_pooler(sessions).statements)
        await log.close()


async def test_a_worker_has_at_most_eight_connections(postgres_database: str, space: Space) -> None:
    """The store and the engine together, while everything is asked for at once."""
    log = await PostgresLog.open(postgres_database)
    engine = ProcessEngine(postgres_database, is_worker=True)
    driven = asyncio.Queue[AgentId]()

    async def drive(space: Space, agent: AgentId) -> None:
        driven.put_nowait(agent)

    async def work(number: int) -> None:
        agent = AgentId(f"agent-{number}")
        await grow(log, space, agent, "needle")
        await asyncio.gather(
            *(log.read(space, agent) for _ in range(4)),
            log.end(space),
            engine.wake(space, agent),
            take(log.tail(space), 1),
            take(log.watch(space, agent), 1),
        )

    await engine.launch(drive)
    lock = await log.try_lead("retention")
    assert lock is not None
    await asyncio.gather(*(work(n) for n in range(8)))
    assert len(await log.search(space, "needle")) == 8
    for _ in range(8):
        await driven.get()
    ((connections, _),) = execute(postgres_database, _COUNT)
    await lock.release()
    await engine.close()
    await log.close()
    assert connections <= _MAX_OF_WORKER
    assert connections > _MAX_OF_WORKER // 2, "the work was too little to say anything"
