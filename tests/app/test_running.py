"""Agents that run, as a face holds them: what it is told, and how it interrupts."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing

import pytest

from sapwood.api import Sapwood
from sapwood.app.choosing import first_settings, model_change, require_model
from sapwood.app.config import Config
from sapwood.app.connection import Connection, connect
from sapwood.app.running import Running
from sapwood.core.budget import Budget
from sapwood.core.calling import Answer, Delta, Failure, ToolSpec
from sapwood.core.counting import ZERO, Count
from sapwood.core.errors import LogError
from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId
from sapwood.core.view import Request
from sapwood.engine import LocalEngine
from sapwood.testing import NoTools, PlannedModel


class Halting:
    """A model that says a few words and then nothing more; it knows when it is hung up on."""

    def __init__(self) -> None:
        self.halted, self.closed = asyncio.Event(), asyncio.Event()

    async def stream(
        self,
        request: Request,
        tools: Sequence[ToolSpec] = (),
        *,
        params: Mapping[str, object] | None = None,
    ) -> AsyncGenerator[Delta | Answer]:
        try:
            yield Delta("text", "The first words")
            self.halted.set()
            await asyncio.Event().wait()
        finally:
            self.closed.set()

    def window_of(self, model: str) -> int | None:
        return None


async def test_an_interrupt_keeps_what_was_said_and_hangs_up() -> None:
    connection, model = await connect(":memory:"), Halting()
    running = Running(connection, LocalEngine(), model, NoTools())
    await running.start()
    agent = await Sapwood(connection).start("demo", model="halting")
    await agent.submit("Hello!")
    async with asyncio.timeout(10):
        await model.halted.wait()
        await running.interrupt(agent.id, "enough")
        await model.closed.wait()
    last = (await agent.request()).messages[-1]
    assert last.text == "The first words\n\n[interrupted: enough]"
    await running.close()
    await connection.close()


async def test_an_interrupt_after_the_answer_does_not_repeat_it() -> None:
    connection = await connect(":memory:")
    running = Running(connection, LocalEngine(), PlannedModel(lambda _, __: "Yes."), NoTools())
    await running.start()
    agent = await Sapwood(connection).start("demo", model="planned")
    await agent.submit("Hello!")
    async with asyncio.timeout(10):
        async for recorded in agent.follow():
            if recorded.kind == "turn.completed":
                break
    await running.interrupt(agent.id)
    assert [message.text for message in (await agent.request()).messages] == ["Hello!", "Yes."]
    await running.close()
    await connection.close()


async def test_whoever_watches_hears_that_the_log_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection = await connect(":memory:")
    running = Running(connection, LocalEngine(), PlannedModel(lambda _, __: "Yes."), NoTools())

    async def gone(*_: object) -> AsyncGenerator[Recorded]:
        raise LogError("The server is away.")
        yield

    monkeypatch.setattr(connection.log, "follow", gone)
    async with aclosing(running.watch(AgentId("x"), 0)) as shown:
        with pytest.raises(LogError, match="away"):
            await anext(shown)
    await running.close()
    await connection.close()


@pytest.fixture
async def connection() -> AsyncGenerator[Connection]:
    held = await connect(":memory:")
    yield held
    await held.close()


def test_a_model_is_asked_for_before_anything_is_done() -> None:
    with pytest.raises(Failure, match="sapwood config set model"):
        require_model("", Config(), {})
    with pytest.raises(Failure, match="sapwood config key openai"):
        require_model("gpt-5", Config(), {})


def test_a_new_agent_starts_with_what_is_configured() -> None:
    config = Config(model="gpt-5")
    settings = first_settings(config, "gpt-5", cap=0)
    assert (settings.cap, settings.low_water, settings.model) == (0, 0.6, "gpt-5")


def test_a_model_that_takes_less_than_is_in_view_is_refused() -> None:
    pytest.importorskip("genai_prices", reason="the extra 'models' is not installed")
    full = Budget(ZERO, ZERO, ZERO, Count(900_000, exact=False), 0, 0)
    with pytest.raises(Failure, match="~900k tokens are in view"):
        model_change("gpt-5", full)
    assert model_change("gpt-5", Budget(ZERO, ZERO, ZERO, ZERO, 0, 0)).model == "gpt-5"
