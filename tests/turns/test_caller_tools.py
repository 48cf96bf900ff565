"""Tools that whoever gave the prompt runs: the turn waits for their results, in any process."""

import asyncio

import msgspec
import pytest

import sapwood
from sapwood import TurnParams
from sapwood.core.commands import FinishTool
from sapwood.core.content import Text, ToolCall
from sapwood.core.events import HUMAN
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Answer
from sapwood.core.turn_params import CallerTool
from sapwood.core.view import Request
from sapwood.testing import FakeModel

WEATHER = CallerTool("weather", "Says what the weather is.")
PARAMS = TurnParams(caller_tools=(WEATHER,))


def plan(request: Request, heard: str) -> str | tuple[ToolCall, ...]:
    """Calls two tools, then says what it heard."""
    if heard != "Go.":
        return f"Heard: {heard}"
    return ToolCall("1", "weather"), ToolCall("2", "time")


def time() -> str:
    """Says what time it is."""
    return "noon"


async def until_kind(agent: sapwood.Agent, kind: str) -> None:
    async for recorded in agent.follow(0):
        if recorded.kind == kind:
            return


async def test_a_turn_waits_for_the_caller_and_goes_on_with_its_result() -> None:
    model = FakeModel(plan)
    async with (
        asyncio.timeout(60),
        sapwood.open(":memory:") as db,
        sapwood.runtime(db, models=model, tools=[time]),
    ):
        agent = await db.start("demo", model="planned")
        turn = agent.ask("Go.", params=PARAMS)
        await turn.send()
        await until_kind(agent, "tool.finished")
        state = await agent.state()
        assert state.open is not None
        assert state.open.calls == ("1",), "the tool of the runtime has run, that of the caller not"
        result = FinishTool(AgentId(agent.id), "1", "-3 degrees", turn=state.open.first)
        await agent.do(result, HUMAN)
        await turn
        assert "-3 degrees" in str(model.requests[1])
        assert len(model.requests) == 2


async def test_the_next_process_goes_on_after_the_result(tmp_path: object) -> None:
    model = FakeModel(plan)
    async with asyncio.timeout(60), sapwood.open(f"{tmp_path}/sapwood.db") as db:
        agent = await db.start("demo", model="planned")
        async with sapwood.runtime(db, models=model, tools=[time]):
            await agent.ask("Go.", params=PARAMS).send()
            await until_kind(agent, "tool.finished")
        await agent.do(FinishTool(AgentId(agent.id), "1", "-3 degrees"), HUMAN)
        async with sapwood.runtime(db, models=model, tools=[time]):
            await until_kind(agent, "turn.completed")
        kinds = [each.kind for each in await agent.events()]
        assert kinds.count("model.called") == 2


async def test_a_call_that_was_cut_off_is_not_for_the_caller() -> None:
    cut = Answer((Text("Hm."), ToolCall("1", "weather", '{"ci')), ended="length")
    said = iter((cut, "Done."))
    async with (
        asyncio.timeout(60),
        sapwood.open(":memory:") as db,
        sapwood.runtime(db, models=FakeModel(lambda _, __: next(said))),
    ):
        agent = await db.start("demo", model="planned")
        assert (await agent.ask("Go.", params=PARAMS)).text == "Done."


async def test_the_callers_tool_takes_the_place_of_one_with_its_name() -> None:
    model = FakeModel(plan)
    async with (
        asyncio.timeout(60),
        sapwood.open(":memory:") as db,
        sapwood.runtime(db, models=model, tools=[time]),
    ):
        agent = await db.start("demo", model="planned")
        both = TurnParams(caller_tools=(WEATHER, CallerTool("time")))
        await agent.ask("Go.", params=both).send()
        await until_kind(agent, "reply.added")
        for call in ("1", "2"):
            await agent.do(FinishTool(AgentId(agent.id), call, f"from the caller: {call}"), HUMAN)
        await until_kind(agent, "turn.completed")
        assert "noon" not in str(await agent.events())


@pytest.mark.parametrize(
    "tools",
    [
        (CallerTool("a"), CallerTool("a")),
        (CallerTool(""),),
        (CallerTool("a", schema="[1]"),),
        (CallerTool("a", schema="{"),),
    ],
)
async def test_tools_that_are_not_valid_are_refused(tools: tuple[CallerTool, ...]) -> None:
    async with sapwood.open(":memory:") as db:
        agent = await db.start("demo", model="planned")
        with pytest.raises(sapwood.RefusedError, match="caller_tools"):
            await agent.prompt("Go.", params=TurnParams(caller_tools=tools))


def test_parameters_of_earlier_versions_are_read() -> None:
    assert msgspec.json.decode('{"calls": 5}', type=TurnParams) == TurnParams(calls=5)
    assert msgspec.json.encode(TurnParams(calls=5)) == b'{"calls":5}'
