"""Typed values with a sentence, and keys and actors on every method that changes something."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable

import pytest

import sapwood
from sapwood import (
    Actor,
    Agent,
    RecordedReply,
    RecordedResult,
    RefusedError,
    Sapwood,
    ToolCall,
    TurnRecorder,
)
from sapwood.events import AgentStarted, MarkSet, Recorded

READS = set(
    "state request budget events follow watch replay diff mail opened do ask turn "
    "run_command".split()
)
ADA = Actor("human", "ada")


def test_every_method_that_changes_something_takes_a_key_and_an_actor() -> None:
    for name, method in inspect.getmembers(Agent, inspect.isfunction):
        if name.startswith("_") or name in READS:
            continue
        taken = set(inspect.signature(method).parameters)
        assert {"actor"} <= taken, name
        # What moves or erases a whole conversation finds nothing to do at the second time.
        assert {"command_id"} <= taken or name in ("erase", "archive_to"), name
    for name in ("reply", "started", "result"):
        assert "command_id" in inspect.signature(getattr(TurnRecorder, name)).parameters
    assert {"command_id", "actor"} <= set(inspect.signature(Sapwood.start).parameters)


CHANGES: dict[str, Callable[[Agent, str], Awaitable[object]]] = {
    "record": lambda it, key: it.record("Q?", "A.", command_id=key, actor=ADA),
    "mark": lambda it, key: it.mark("A", command_id=key, actor=ADA),
    "clear": lambda it, key: it.clear(1, command_id=key, actor=ADA),
    "rewind": lambda it, key: it.rewind("START", command_id=key, actor=ADA),
    "undo": lambda it, key: it.undo(command_id=key, actor=ADA),
    "compact": lambda it, key: it.compact("Short.", score=0.9, command_id=key, actor=ADA),
    "mask": lambda it, key: it.mask(10, command_id=key, actor=ADA),
    "pin": lambda it, key: it.pin("style", "Be brief.", command_id=key, actor=ADA),
    "focus": lambda it, key: it.focus("leaks", command_id=key, actor=ADA),
    "unfocus": lambda it, key: it.unfocus("leaks", command_id=key, actor=ADA),
    "configure": lambda it, key: it.configure(cap=9_000, command_id=key, actor=ADA),
    "fork": lambda it, key: it.fork(goal="Look.", command_id=key, actor=ADA),
    "send": lambda it, key: it.send(it, "Hello.", command_id=key, actor=ADA),
    "read_mail": lambda it, key: it.read_mail(command_id=key, actor=ADA),
    "kill": lambda it, key: it.kill(command_id=key, actor=ADA),
    "archive": lambda it, key: it.archive(command_id=key, actor=ADA),
    "rename": lambda it, key: it.rename("other", command_id=key, actor=ADA),
    "label": lambda it, key: it.label("vip", command_id=key, actor=ADA),
    "new": lambda it, key: it.new(command_id=key, actor=ADA),
    "prompt": lambda it, key: it.prompt("Next?", command_id=key, actor=ADA),
}


@pytest.mark.parametrize("name", CHANGES)
async def test_a_repeated_command_acts_once_and_is_by_its_actor(db: Sapwood, name: str) -> None:
    agent = await db.start("demo")
    await agent.mark("START")
    await agent.record("One?", "1")
    await agent.record("Two?", "2")
    await agent.clear(1)
    call, result = RecordedReply((ToolCall("1", "look"),)), RecordedResult("1", "seen " * 20)
    await agent.record("Three?", call, result, "3")
    await agent.send(agent, "Read me.")
    before = len(await agent.events())
    first = await CHANGES[name](agent, "key-1")
    after = await agent.events()
    again = await CHANGES[name](agent, "key-1")
    assert len(after) > before
    assert await agent.events() == after
    assert str(first) == str(again)
    assert {str(each.actor) for each in after[before:]} == {"human:ada"}


async def test_a_repeated_start_starts_one_agent(db: Sapwood) -> None:
    one = await db.start("demo", command_id="key-1", actor=ADA)
    two = await db.start("demo", command_id="key-1", actor=ADA)
    assert one.id == two.id
    assert len(await db.agents()) == 1
    [started] = await one.events()
    assert (started.actor, type(started.event)) == (ADA, AgentStarted)


async def test_results_are_typed_and_say_a_sentence(agent: Agent) -> None:
    marked = await agent.mark("A")
    assert (marked.name, marked.version, str(marked)) == ("A", 2, "Marked 'A'.")
    assert isinstance((await agent.events(2, 2))[0].event, MarkSet)
    assert (await agent.mark()).name == ""
    await agent.record("One?", "1")
    await agent.record("Two?", "2")
    kept = await agent.clear(1)
    assert (kept.turns, kept.tokens.tokens > 0) == (1, True)
    assert (await agent.undo()).turns == 2
    compacted = await agent.compact("All is said.", keep=1, score=0.9)
    assert (compacted.summary, compacted.score, compacted.turns) == ("All is said.", 0.9, 1)
    assert (await agent.configure(cap=9_000)).settings.cap == 9_000
    await agent.send(agent, "Hello.")
    assert [letter.text for letter in (await agent.read_mail()).letters] == ["Hello."]
    child = await agent.fork()
    assert set((await agent.kill()).agents) == {agent.id, child.id}


async def test_a_misspelt_key_is_an_error(agent: Agent) -> None:
    with pytest.raises(TypeError):
        await agent.mark("A", comand_id="x")  # pyright: ignore[reportCallIssue]


async def test_a_tail_begins_now(db: Sapwood, agent: Agent) -> None:
    start = await db.now()
    await agent.mark("A")
    async for tailed in db.tail(start):
        assert tailed.recorded.kind == "mark.set"
        break
    tail = db.tail("now")
    await agent.mark("B")
    events: list[Recorded] = []

    async def more() -> None:
        async for tailed in tail:
            events.append(tailed.recorded)
            return

    task = asyncio.ensure_future(more())
    number = 0
    while not task.done():  # a mark that is there already appends no event
        number += 1
        await agent.mark(f"C{number}")
        await asyncio.sleep(0.01)
    assert events[0].version > (await agent.events())[1].version
    with pytest.raises((RefusedError, sapwood.LogError)):
        db.tail("then")  # pyright: ignore[reportArgumentType]


async def test_compacting_all_again_changes_nothing(agent: Agent) -> None:
    await agent.compact("Herons.")
    again = await agent.compact("Herons.", keep=5)
    assert (again.events, again.summary, again.score) == ((), "", None)


async def test_marking_a_place_again_returns_the_mark_that_is_there(agent: Agent) -> None:
    first = await agent.mark("HERE")
    again = await agent.mark("HERE")
    assert (again.events, again.name, again.version) == ((), "HERE", first.version)
