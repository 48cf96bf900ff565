"""One worker for many spaces: what it does with a space whose key it does not have."""

import logging

import pytest

from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import connect
from sapwood.app.space_runners import SpacePattern, SpaceRunners
from sapwood.core.errors import KeyMissing
from sapwood.core.ids import AgentId, Space
from sapwood.engine import NotServed
from sapwood.turns.scheduler import Drive, Engine

CLOSED, OPEN, AGENT = Space("closed"), Space("open"), AgentId("ada")


class _Engine:
    """Keeps what it is given to drive agents with."""

    async def launch(self, drive: Drive) -> None:
        self.drive = drive

    async def wake(
        self, space: Space, agent: AgentId, *, model: str = "", user: str = "", delay: float = 0.0
    ) -> None: ...

    async def close(self) -> None: ...


class _Runner(AgentRunner):
    """Drives the agents of every space but one."""

    def __init__(self, engine: Engine, driven: list[Space]) -> None:
        self._engine_of_space = engine
        self._driven = driven

    async def start(self) -> None:
        await self._engine_of_space.launch(self._drive_one)

    async def close(self) -> None: ...

    async def _drive_one(self, space: Space, agent: AgentId) -> None:
        if space == CLOSED:
            raise KeyMissing("The space 'closed' is encrypted, but this program has no key.")
        self._driven.append(space)


async def test_agents_of_a_space_without_key_wait_for_another_worker(
    caplog: pytest.LogCaptureFixture,
) -> None:
    connection, engine, driven = await connect(":memory:"), _Engine(), list[Space]()
    runners = SpaceRunners(
        connection, engine, SpacePattern(("*",)), lambda _, by: _Runner(by, driven)
    )
    await runners.start()
    assert runners.serves(CLOSED)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            with pytest.raises(NotServed):
                await engine.drive(CLOSED, AGENT)
    assert not runners.serves(CLOSED)
    (told,) = [each.getMessage() for each in caplog.records]
    assert told.startswith("Leaving agents of the space 'closed' to another worker: The space")
    await engine.drive(OPEN, AGENT)
    assert (driven, runners.serves(OPEN)) == ([OPEN], True)
    await runners.close()
    await connection.close()
