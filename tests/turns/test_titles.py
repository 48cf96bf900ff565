"""A model writes the title after the first answer, and a name that a person gave stays."""

import asyncio

from sapwood.api import Agent, Sapwood
from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import connect
from sapwood.core.events import AgentRenamed
from sapwood.core.model_calls import Failure
from sapwood.core.view import Request
from sapwood.engine import LocalEngine
from sapwood.testing import FakeModel, NoTools


def _says(request: Request, heard: str) -> str:
    if "Write a title" not in heard:
        return "In tall trees."
    if "ducks" in heard:
        raise Failure("overloaded", "Later.")
    return '"Nests of herons."'


async def _asked(runner: AgentRunner, agent: Agent, prompt: str) -> None:
    before = (await agent.state()).version
    await agent.run_command(prompt)
    await runner.wake(agent.id)
    async with asyncio.timeout(30):
        async for recorded in agent.follow(before):
            if recorded.kind == "turn.completed":
                return


async def test_titles_are_written_once_and_never_over_a_name() -> None:
    connection, model = await connect(":memory:"), FakeModel(_says)
    runner = AgentRunner(connection, LocalEngine(), model, NoTools(), title_model="small")
    db = Sapwood(connection)
    try:
        await runner.start()
        agent = await db.start(model="oak")
        await _asked(runner, agent, "Where do herons nest?")
        async with asyncio.timeout(30):
            async for recorded in agent.follow():
                if isinstance(recorded.event, AgentRenamed):
                    assert recorded.event.written_by == "small"
                    break
        state = await agent.state()
        assert (state.name, state.settings.model) == ("Nests of herons", "oak")
        await _asked(runner, agent, "And swans?")
        named = await db.start("mine", model="oak")
        await _asked(runner, named, "Where do herons nest?")
        failing = await db.start(model="oak")
        await _asked(runner, failing, "Where do ducks nest?")
        await runner.close()
        titles = [each.model for each in model.requests if each.model == "small"]
        assert len(titles) <= 2, "one for each conversation without a name"
        assert (await named.state()).name == "mine"
        assert (await failing.state()).name == "Where do ducks nest?"
    finally:
        await connection.close()
