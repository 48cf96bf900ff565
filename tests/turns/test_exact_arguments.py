"""A tool gets the exact arguments; the log, the screens and the next request have masked ones."""

import asyncio
import json

from sapwood.api.agent import Agent
from sapwood.api.database import Sapwood
from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import Connection, connect
from sapwood.core.commands import AddReply, StartTurn
from sapwood.core.content import Text, ToolCall
from sapwood.core.events import Actor
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Effect, ToolOutcome, ToolUse
from sapwood.core.view import Request
from sapwood.engine.local_engine import LocalEngine
from sapwood.redaction import mask_secrets
from sapwood.testing import FakeModel, NoTools
from sapwood.testing.fake_model import Plan, Planned
from sapwood.turns.tool_calls import ExactArguments

TOKEN = "gh" + "p_" + "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"
ARGUMENTS = json.dumps({"path": ".env", "content": f"TOKEN={TOKEN}\n"})


class Pen(NoTools):
    """Notes what it is given."""

    def __init__(self) -> None:
        self.given: list[str] = []

    def effect(self, use: ToolUse) -> Effect:
        return "some"

    async def run(self, use: ToolUse) -> ToolOutcome:
        self.given.append(use.call.args)
        return ToolOutcome(f"wrote {use.call.args}")


def writing(request: Request, heard: str) -> Planned:
    if heard == "write":
        return [Text("I write it."), ToolCall("1", "write_file", ARGUMENTS)]
    return "done"


async def run_turn(connection: Connection, plan: Plan, pen: Pen, prompt: str = "") -> Agent:
    """Lets an agent work until its turn has ended."""
    running = AgentRunner(connection, LocalEngine(), FakeModel(plan), pen, None)
    agent = await Sapwood(connection).start("writer", model="planned")
    await running.start()
    try:
        if prompt:
            await agent.run_command(prompt)
        async with asyncio.timeout(60):
            async for _ in running.watch(agent.id, 0):
                if (await agent.state()).open is None:
                    return agent
    finally:
        await running.close()
    raise AssertionError("the log ended")


async def stored_text(agent: Agent) -> str:
    return repr([recorded.event for recorded in await agent.events()])


async def test_a_tool_gets_the_exact_text_and_the_log_a_mask() -> None:
    connection = await connect(":memory:", secrets=())
    pen = Pen()
    agent = await run_turn(connection, writing, pen, "write")
    assert pen.given == [ARGUMENTS]
    stored = await stored_text(agent)
    assert TOKEN not in stored
    assert stored.count("[secret: github-token") == 2  # in the arguments and in the result
    assert TOKEN not in repr(await agent.request())
    await connection.close()


async def test_a_call_whose_exact_text_was_lost_is_not_run() -> None:
    """Another process stored the call and stopped: only the masked arguments are left."""
    connection = await connect(":memory:", secrets=())
    db = Sapwood(connection)
    agent = await db.start("writer", model="planned")
    await agent.do(StartTurn(agent.id, (Text("write"),)))
    call = ToolCall("1", "write_file", ARGUMENTS)
    await agent.do(AddReply(agent.id, (call,), "planned"), Actor("model", "planned"))
    pen = Pen()
    running = AgentRunner(connection, LocalEngine(), FakeModel(writing), pen, None)
    await running.start()
    await running.wake(agent.id)
    async with asyncio.timeout(60):
        async for _ in running.watch(agent.id, 0):
            if (await agent.state()).open is None:
                break
    await running.close()
    assert pen.given == []
    assert "The call was not run. Make it again." in await stored_text(agent)
    await connection.close()


def test_arguments_are_held_for_one_reply() -> None:
    agent, held = AgentId("a"), ExactArguments()
    call = ToolCall("1", "shell", f'{{"command": "echo {TOKEN}"}}')
    stored = ToolCall("1", "shell", mask_secrets(call.args))
    assert held.call(agent, 1, stored) is None
    held.hold(agent, 1, [call])
    assert held.call(agent, 1, stored) == call
    assert held.call(agent, 2, stored) is None
    assert held.call(AgentId("b"), 1, stored) is None
    held.hold(agent, 1, [Text("done")])
    assert held.call(agent, 1, stored) is None
    plain = ToolCall("2", "shell", '{"command": "ls"}')
    assert held.call(agent, 1, plain) is plain


async def test_the_library_masks_results() -> None:
    connection = await connect(":memory:", secrets=())
    agent = await Sapwood(connection).start("weather")
    async with agent.turn(f"use {TOKEN}") as turn:
        await turn.reply(f"with {TOKEN}", calls=[ToolCall("1", "sky", f'{{"key": "{TOKEN}"}}')])
        await turn.result("1", f"the key is {TOKEN}")
        await turn.reply("done")
    stored = await stored_text(agent)
    assert TOKEN not in stored
    assert stored.count("[secret: github-token") == 4
    await connection.close()


async def test_the_event_loop_goes_on_while_a_long_text_is_masked() -> None:
    connection = await connect(":memory:", secrets=())
    text = "password=hunter2024 " * 100_000
    masking = asyncio.create_task(connection.dispatcher.mask(text))
    ticks = 0
    while not masking.done():
        await asyncio.sleep(0)
        ticks += 1
    assert "hunter2024" not in await masking
    assert ticks > 10
    await connection.close()
