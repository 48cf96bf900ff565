"""Whoever has work to do is woken, however long the engine's database is away."""

import asyncio

import pytest

from sapwood.core.errors import SapwoodError
from sapwood.core.events import MailReceived, TurnCompleted, TurnStarted
from sapwood.core.events.turn import Size
from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import Append
from sapwood.runtime import scheduler as scheduling
from sapwood.runtime.scheduler import Drive, Scheduler
from sapwood.runtime.woken_agents import woken_by
from tests.store.contract import append

SPACE, ADA, LEAD = Space("team"), AgentId("ada"), AgentId("lead")
PROMPTED = append(ADA, TurnStarted(None, ()), working=True, model="m")


class Engine:
    """Notes who is woken, once it is back."""

    def __init__(self) -> None:
        self.tries = 0
        self.away = False
        self.woken: list[AgentId] = []
        self.tried = asyncio.Event()

    async def launch(self, drive: Drive) -> None:
        pass

    async def wake(
        self, space: Space, agent: AgentId, *, model: str = "", user: str = "", delay: float = 0.0
    ) -> None:
        self.tries += 1
        self.tried.set()
        if self.away:
            raise SapwoodError("The engine's database does not answer.")
        self.woken.append(agent)

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
