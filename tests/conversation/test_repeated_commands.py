"""A command that is repeated under its id repeats its answer, whatever has happened since."""

from collections.abc import AsyncIterator

import pytest

from sapwood.api import Agent, Sapwood
from sapwood.api import open as open_database
from sapwood.conversation.answers import Answer, PromptToEdit
from sapwood.conversation.call import Person
from sapwood.conversation.script import CommandStep
from sapwood.core.command_table import TABLE
from sapwood.core.content import RecordedReply, RecordedResult, ToolCall
from sapwood.core.events import HUMAN
from sapwood.core.refusals import Refusal, TurnIsOpen


@pytest.fixture
async def db() -> AsyncIterator[Sapwood]:
    async with open_database(":memory:") as db:
        yield db


@pytest.fixture
async def agent(db: Sapwood) -> Agent:
    """A conversation of three turns and a mark."""
    agent = await db.start("demo")
    await agent.record("Where do herons nest?", "In trees.")
    await agent.mark("TREES")
    await agent.record("And storks?", "On roofs.")
    await agent.record("And owls?", "In barns.")
    return agent


async def runs(agent: Agent, name: str, args: str = "", key: str = "once") -> Answer | Refusal:
    step = CommandStep(TABLE[name], args)
    return await agent.service.answer(agent.id, step, caller=Person(HUMAN, key))


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("clear", ""),
        ("clear", "1"),
        ("rewind", "2"),
        ("rewind", "TREES"),
        ("drop", "2"),
        ("new", ""),
    ],
)
async def test_it_is_not_refused_because_a_turn_is_open_now(
    agent: Agent, name: str, args: str
) -> None:
    first = await runs(agent, name, args)
    if name == "new":
        await agent.run_command("/unarchive")
    await agent.prompt("And cranes?")
    before = await agent.events()
    again = await runs(agent, name, args)
    assert getattr(again, "events", ()) == getattr(first, "events", ())
    assert getattr(again, "agent", "") == getattr(first, "agent", "")
    assert await runs(agent, name, args, "twice") == TurnIsOpen(f"/{name}")
    assert await agent.events() == before


async def test_an_edit_gives_the_same_prompt_again(agent: Agent) -> None:
    first = await runs(agent, "edit")
    again = await runs(agent, "edit")
    assert isinstance(first, PromptToEdit)
    assert isinstance(again, PromptToEdit)
    assert (
        (again.prompt, again.events) == (first.prompt, first.events) == ("And owls?", first.events)
    )
    assert again.message.startswith("Change the prompt of turn 3 and send it.")


async def test_a_rewind_to_before_an_inherited_turn_is_repeated(agent: Agent) -> None:
    child = await agent.fork()
    first = await runs(child, "rewind", "demo/2")
    again = await runs(child, "rewind", "demo/2")
    assert getattr(first, "events", ())
    assert getattr(again, "events", ()) == getattr(first, "events", ())


async def test_a_result_that_was_brought_back_is_brought_back_once(agent: Agent) -> None:
    await agent.record("Look.", RecordedReply((ToolCall("1", "look"),)), RecordedResult("1", "It."))
    await agent.record("And cranes?", "In marshes.")
    await runs(agent, "drop", "4.1", "drop")
    first = await runs(agent, "bring", "4.1")
    again = await runs(agent, "bring", "4.1")
    assert getattr(first, "events", ())
    assert getattr(again, "events", ()) == getattr(first, "events", ())


async def test_a_prompt_of_sapwood_is_sent_once(agent: Agent) -> None:
    first = await runs(agent, "init")
    again = await runs(agent, "init")
    assert getattr(again, "turn", 1) == getattr(first, "turn", 0)
    assert (await agent.state()).turns == 4
