"""A model finds agents without learning of those that do not concern it."""

import json

import pytest

from sapwood.conversation.model_tool import SLASH, ModelCommandTool
from sapwood.core.commands import Fork, StartAgent
from sapwood.core.content import ToolCall
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import ToolOutcome
from tests.conversation.spaces import service_of
from tests.turns.commanding import Desk

ME, CHILD = AgentId("me22222222"), AgentId("kchild2222")
STRANGERS = (AgentId("kst2222222"), AgentId("kst3333333"), AgentId("zst4444444"))


@pytest.fixture
async def family(desk: Desk) -> Desk:
    """An agent with a child, and three agents that have nothing to do with them."""
    for agent in (ME, *STRANGERS):
        await desk.do(StartAgent(agent, f"named-{agent}"))
    await desk.do(Fork(ME, CHILD))
    return desk


async def said(desk: Desk, command: str, args: str, *, parks: bool = True) -> str:
    tool = ModelCommandTool(service_of(desk), parks=parks)
    state = (await desk.dispatcher.open(ME)).state
    call = ToolCall(f"{command} {args}", SLASH, json.dumps({"command": command, "args": args}))
    outcome = await tool.run(state, call, "m")
    assert isinstance(outcome, ToolOutcome), outcome
    return outcome.content


@pytest.mark.parametrize("parks", [True, False])
@pytest.mark.parametrize("command", ["wait", "kill"])
@pytest.mark.parametrize("typed", ["ks", "z", "kst", "named", ""])
async def test_a_refusal_names_no_agent_of_others(
    family: Desk, command: str, typed: str, parks: bool
) -> None:
    words = f"{typed} 0" if command == "wait" else typed
    answer = await said(family, command, words, parks=parks)
    assert not [each for each in STRANGERS if each in answer], answer


async def test_the_start_of_an_id_finds_a_relative(family: Desk) -> None:
    assert await said(family, "wait", "k 1") == f"Idle: {CHILD}."
    assert CHILD in await said(family, "kill", "kc")


@pytest.mark.parametrize("typed", [STRANGERS[0], f"named-{STRANGERS[0]}"])
async def test_a_stranger_is_found_by_its_whole_id_or_name(family: Desk, typed: str) -> None:
    assert "There is no agent" not in await said(family, "send", f"{typed} Hello.")
