"""Whoever has work to do is woken, however long the engine's database is away."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from sapwood.api.database import Sapwood
from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import connect
from sapwood.app.worker_wakes import WorkerWakes
from sapwood.core.errors import SapwoodError
from sapwood.core.events import MailReceived, TurnCompleted, TurnStarted
from sapwood.core.events.turn import Size
from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import Append
from sapwood.core.tags import Tags
from sapwood.testing import FakeModel, NoTools
from sapwood.turns import scheduler as scheduling
from sapwood.turns.scheduler import Drive, Scheduler, woken_by
from tests.store.contract import append, commit_of
from tests.store.memory_log import MemoryLog

SPACE, ADA, LEAD = Space("team"), AgentId("ada"), AgentId("lead")
PROMPTED = append(ADA, TurnStarted(None, ()), working=True, model="m")


class Engine:
    """Notes who is woken, once it is back."""

    def __init__(self) -> None:
        self.tries = 0
        self.away = False
        self.woken: list[AgentId] = []
        self.counted: list[tuple[AgentId, str, str]] = []
        self.delays: list[float] = []
        self.tried = asyncio.Event()
        self.drive: Drive | None = None

    async def launch(self, drive: Drive) -> None:
        self.drive = drive

    async def wake(
        self, space: Space, agent: AgentId, *, model: str = "", user: str = "", delay: float = 0.0
    ) -> None:
        self.tries += 1
        self.tried.set()
        if self.away:
            raise SapwoodError("The engine's database does not answer.")
        self.woken.append(agent)
        self.counted.append((agent, model, user))
        self.delays.append(delay)

    async def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("grown", "woken"),
    [
        (PROMPTED, {ADA}),
        (append(ADA, MailReceived("m", "Look."), working=True), {ADA}),
        (append(ADA, MailReceived("m", "Look.")), set[AgentId]()),
        (append(ADA, TurnCompleted(Size(1, "c")), parent=LEAD), {LEAD}),
    ],
    ids=["a prompt", "mail while working", "mail while idle", "a child that is done"],
)
def test_who_must_be_looked_at(grown: Append, woken: set[AgentId]) -> None:
    assert woken_by(grown) == woken


async def test_an_engine_that_is_away_is_asked_until_it_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scheduling, "_WAKE_AGAIN", 0.01)
    engine = Engine()
    engine.away = True
    scheduler = Scheduler(SPACE, engine)
    scheduler.committed((PROMPTED,))
    async with asyncio.timeout(60):
        while engine.tries < 3:
            engine.tried.clear()
            await engine.tried.wait()
        engine.away = False
        while not engine.woken:
            engine.tried.clear()
            await engine.tried.wait()
    await scheduler.close()
    assert engine.woken == [ADA]


async def test_closing_does_not_wait_for_an_engine_that_stays_away() -> None:
    engine = Engine()
    engine.away = True
    scheduler = Scheduler(SPACE, engine)
    scheduler.committed((PROMPTED,))
    async with asyncio.timeout(60):
        await scheduler.close()
    assert engine.woken == []
    assert engine.tries == 1


@asynccontextmanager
async def running(engine: Engine) -> AsyncGenerator[Sapwood]:
    """A runner whose engine only notes what it is asked for."""
    connection = await connect(":memory:")
    runner = AgentRunner(connection, engine, FakeModel(lambda request, heard: ""), NoTools())
    await runner.start()
    try:
        async with asyncio.timeout(60):
            yield Sapwood(connection)
    finally:
        await runner.close()
        await connection.close()


async def test_a_delayed_wake_counts_by_the_model_and_the_owner() -> None:
    engine = Engine()
    async with running(engine) as db:
        agent = await db.start(model="planned", owner="ada")
        async with agent.turn("mine", lease=50) as turn:
            assert engine.drive is not None
            await engine.drive(db.connection.space, agent.id)
            await turn.reply("done")
    assert engine.counted == [(agent.id, "planned", "ada")]
    assert engine.delays[0] > 0


async def test_a_parent_is_woken_by_its_own_model_and_owner() -> None:
    engine = Engine()
    async with running(engine) as db:
        lead = await db.start(model="planned", owner="ada")
        child = await lead.fork(goal="Look.")
        await child.configure(model="small")
        await child.label(owner="bob")
        await child.interrupt()
    assert engine.counted == [(child.id, "planned", "ada"), (lead.id, "planned", "ada")]


async def test_a_process_without_a_worker_wakes_a_parent_by_its_own_model_and_owner() -> None:
    log, engine = MemoryLog(), Engine()
    tags = Tags(owner="ada")
    lead = append(LEAD, TurnStarted(None, ()), working=True, model="oak", tags=tags)
    child = append(ADA, TurnCompleted(Size(1, "c")), parent=LEAD, model="small")
    await log.commit(SPACE, commit_of(lead, child))
    wakes = WorkerWakes(":memory:", log, engine)
    wakes.committed(SPACE, (child,))
    await wakes.close()
    assert engine.counted == [(LEAD, "oak", "ada")]
