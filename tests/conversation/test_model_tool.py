"""The tool `slash`: what its help lists works, and each wrong call is told what a model can do."""

import json

import pytest

from sapwood.conversation.model_tool import SLASH, ModelCommandTool, slash_spec
from sapwood.core.commands import AddReply, CompleteTurn, Fork, Send, StartAgent, StartTurn
from sapwood.core.content import Text, ToolCall
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import ToolOutcome
from sapwood.turns.tool_calls import WaitingCall
from tests.conversation.spaces import service_of
from tests.turns.commanding import Desk

ME, CHILD = AgentId("me22222222"), AgentId("kchild2222")


@pytest.fixture
async def caller(desk: Desk) -> Desk:
    """An agent with an open turn."""
    await desk.do(StartAgent(ME, "me"))
    await desk.do(StartTurn(ME, (Text("Look."),)))
    return desk


async def run(desk: Desk, command: str, args: str | None = None) -> ToolOutcome | WaitingCall:
    tool = ModelCommandTool(service_of(desk))
    state = (await desk.dispatcher.open(ME)).state
    call = ToolCall(f"{command} {args}", SLASH, json.dumps({"command": command, "args": args}))
    return await tool.run(state, call, "m")


async def test_no_arguments_may_be_given_as_null(caller: Desk) -> None:
    assert await run(caller, "check-mail", None) == ToolOutcome("No mail.")


async def test_mail_can_be_looked_at_and_stays_unread(caller: Desk) -> None:
    await caller.do(Send(ME, "m1", "The build is red."))
    for _ in range(2):
        outcome = await run(caller, "check-mail", "--peek")
        assert isinstance(outcome, ToolOutcome)
        assert "The build is red." in outcome.content


async def test_a_search_needs_words(caller: Desk) -> None:
    assert await run(caller, "recall") == ToolOutcome(
        "What should I search for? Usage: /recall QUERY.", error=True
    )


async def test_a_model_cannot_insist_on_a_weak_summary(caller: Desk) -> None:
    outcome = await run(caller, "compact", "--anyway")
    assert isinstance(outcome, ToolOutcome)
    assert outcome.error
    assert "--anyway" not in slash_spec().description


async def test_a_bare_wait_ends_when_the_only_child_is_idle(caller: Desk) -> None:
    await caller.do(Fork(ME, CHILD, goal="Find the leak."))
    assert isinstance(await run(caller, "wait"), WaitingCall)
    await caller.do(AddReply(CHILD, (Text("Found it."),)))
    await caller.do(CompleteTurn(CHILD))
    assert await run(caller, "wait") == ToolOutcome(f"Idle: {CHILD}.")


@pytest.mark.parametrize(
    ("command", "args"),
    [
        ("wait", "nobody"),
        ("kill", "nobody"),
        ("send", "nobody Hello."),
        ("agents", None),
        ("fly", None),
        ("clear", "NOWHERE"),
        ("fork", "NOWHERE"),
        ("recall", "nobody:7"),
    ],
)
async def test_no_refusal_sends_a_model_to_commands_of_people(
    caller: Desk, command: str, args: str | None
) -> None:
    outcome = await run(caller, command, args)
    assert isinstance(outcome, ToolOutcome)
    assert not any(word in outcome.content for word in ("Type /agents", "/help", "/switch"))
