"""`/goal`: turns until a check passes or a budget ends, each once, also after a kill."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec import structs

from sapwood.api import Agent, Sapwood
from sapwood.api import open as open_database
from sapwood.conversation.answers import Changed, Prompted
from sapwood.conversation.call import Person
from sapwood.conversation.script import CommandStep, TextStep
from sapwood.conversation.service import ConversationService
from sapwood.conversation.session import ConversationSession
from sapwood.core.command_table import TABLE
from sapwood.core.commands import AddReply, CompleteTurn, FailTurn, QueuePrompt, SetGoal
from sapwood.core.content import Text, Usage
from sapwood.core.errors import SapwoodError
from sapwood.core.events import HUMAN
from sapwood.core.refusals import BadArguments, CheckNotHere, GoalNotHere, ShellNotHere
from sapwood.turns.clock_and_ids import now
from tests.conversation.cut_off import Killed, dies_before_its_prompt


@pytest.fixture
async def db() -> AsyncIterator[Sapwood]:
    async with open_database(":memory:") as db:
        yield db


def session_of(agent: Agent) -> ConversationSession:
    """The session of a new process."""
    services = structs.replace(agent.service.services, on_this_machine=True)
    return ConversationSession(ConversationService(services), "", agent.id)


async def continued(agent: Agent) -> list[object]:
    """What a new process does when the person continues the goal."""
    return await send(session_of(agent), "/goal continue")


async def send(session: ConversationSession, text: str) -> list[object]:
    return [each.answer async for each in session.submit(text)]


async def answered(agent: Agent, text: str) -> None:
    """The open turn ends with this answer."""
    await agent.service.dispatch(AddReply(agent.id, (Text(text),), usage=Usage(900, 100)))
    await agent.service.dispatch(CompleteTurn(agent.id))


async def step(session: ConversationSession) -> list[object]:
    """What a session does when a turn has ended, or when it is opened again."""
    return [each.answer async for each in session.continue_goal()]


async def test_each_turn_is_opened_once_whatever_is_killed(db: Sapwood, tmp_path: Path) -> None:
    agent = await db.start("demo", folder=str(tmp_path))
    [first] = await send(session_of(agent), "/goal Make it. --check test -e made")
    assert isinstance(first, Prompted)
    [open_turn] = await continued(agent)
    assert isinstance(open_turn, Changed)
    await answered(agent, "Done?")
    assert not await step(session_of(agent))
    assert session_of(agent).goal_waits(await agent.state())
    [second] = await continued(agent)
    assert isinstance(second, Prompted)
    await answered(agent, "Now.")
    (tmp_path / "made").touch()
    session = session_of(agent)
    [end] = await send(session, "/goal continue")
    assert isinstance(end, Changed)
    assert "The goal is reached. It took 2 turns." in end.message
    assert "To keep only the last in view and free" in end.message
    assert end.message.endswith("/drop 1")
    state = await agent.state()
    assert state.goal is None
    assert state.turns == 2
    assert [mark.name for mark in state.marks] == ["goal"]
    assert not await step(session)
    for line in ("/goal", "/goal continue"):
        [ended] = await send(session, line)
        assert isinstance(ended, Changed)
        again = "To work on it again, type: /goal --budget 10"
        assert ended.message == f"The goal is reached: its check passed. It was: Make it. {again}"


async def test_prompts_of_the_person_in_between_are_not_part_of_the_goal(db: Sapwood) -> None:
    for budget, used in (("3", "2 of 3 turns"), ("2.5k", "2.0k of 2.5k tokens")):
        agent = await db.start("demo")
        session = session_of(agent)
        await send(session, f"/goal Find it. --budget {budget}")
        await answered(agent, "Not yet.")
        await send(session, "What is a heron?")
        await answered(agent, "A bird.")
        await step(session)
        await answered(agent, "Still not.")
        goal = (await agent.state()).goal
        assert goal is not None
        assert goal.progress == used
        await step(session)
        await answered(agent, "No.")
        [end] = await step(session)
        assert isinstance(end, Changed)
        assert "It took 3 turns." in end.message
        assert end.message.endswith("/drop 1 3")


async def test_a_budget_ends_a_goal_that_the_model_has_to_reach(db: Sapwood) -> None:
    for budget, turns in (("2", 2), ("1.5k", 2), ("1k", 1)):
        agent = await db.start("demo")
        session = session_of(agent)
        await send(session, f"/goal Find it. --budget {budget}")
        last: object = None
        for _ in range(turns):
            assert (await agent.state()).open is not None
            await answered(agent, "Not yet.")
            [last] = await step(session)
        assert isinstance(last, Changed)
        assert "budget is used up" in last.message
    agent = await db.start("demo")
    session = session_of(agent)
    await send(session, "/goal Find it. --budget $2")
    await answered(agent, "Here.\n\nGOAL REACHED")
    [last] = await step(session)
    assert isinstance(last, Changed)
    assert "The goal is reached. It took 1 turn." in last.message


async def test_a_goal_whose_budget_ended_gets_more(db: Sapwood, tmp_path: Path) -> None:
    agent = await db.start("demo", folder=str(tmp_path))
    session = session_of(agent)
    [none] = await send(session, "/goal --budget 1")
    assert isinstance(none, BadArguments)
    await send(session, "/goal Make it. --check test -e made --budget 1")
    await answered(agent, "Not yet.")
    [end] = await step(session)
    assert isinstance(end, Changed)
    assert "/goal --budget 10 gives it more" in end.message
    mark = (await agent.state()).marks
    [more] = await send(session, "/goal --budget 1")
    assert isinstance(more, Prompted)
    (tmp_path / "made").touch()
    state = await agent.state()
    assert state.goal is not None
    assert (state.goal.text, state.goal.check) == ("Make it.", "test -e made")
    assert (state.goal.progress, state.marks) == ("1 of 1 turn", mark)
    await answered(agent, "Now.")
    [reached] = await step(session)
    assert isinstance(reached, Changed)
    assert "The goal is reached." in reached.message
    [gone] = await send(session, "/goal --budget 1")
    assert isinstance(gone, CheckNotHere)


async def test_turns_that_fail_at_a_limit_use_no_budget_and_the_queue_waits(db: Sapwood) -> None:
    agent = await db.start("demo")
    session = session_of(agent)
    await send(session, "/goal Find it. --budget 2")
    await send(session, "What is a heron?")
    for seconds in (600, 1):
        limited = FailTurn(
            agent.id, "Limited.", failure="overloaded", retry_at=now() + seconds * 1_000_000
        )
        await agent.service.dispatch(limited)
        assert [each async for each in session.turn_ended()] == []
        [again] = await send(session, "/goal continue")
        assert isinstance(again, Prompted)
    goal = (await agent.state()).goal
    assert goal is not None
    assert goal.progress == "1 of 2 turns"
    await answered(agent, "Not yet.")
    [sent] = [each async for each in session.turn_ended()]
    assert isinstance(sent.step, TextStep)
    assert sent.step.text == "What is a heron?"


async def test_a_turn_that_failed_at_a_limit_is_asked_again_once_also_after_a_kill(
    db: Sapwood,
) -> None:
    agent = await db.start("demo")
    service = session_of(agent).service
    [first] = await send(session_of(agent), "/goal Find it.")
    limited = FailTurn(agent.id, "Limited.", failure="overloaded", retry_at=now())
    await agent.service.dispatch(limited)
    again, once = CommandStep(TABLE["goal"], "continue"), Person(HUMAN, "once")
    with pytest.MonkeyPatch.context() as patch:
        dies_before_its_prompt(patch)
        with pytest.raises(Killed):
            await service.answer(agent.id, again, caller=once)
    asked = await service.answer(agent.id, again, caller=once)
    await agent.interrupt()
    assert isinstance(first, Prompted)
    assert isinstance(asked, Prompted)
    assert await service.answer(agent.id, again, caller=once) == asked
    state = await agent.state()
    assert (state.turns, state.goal and state.goal.progress) == (2, "1 of 10 turns")


async def test_a_goal_waits_while_a_person_acts_and_ends_by_stop(db: Sapwood) -> None:
    agent = await db.start("demo")
    session = session_of(agent)
    await send(session, "/goal Find it.")
    await agent.interrupt()
    assert not await step(session)
    [shown] = await send(session, "/goal")
    assert isinstance(shown, Changed)
    assert "Goal: Find it." in shown.message
    [stopped] = await send(session, "/goal stop")
    assert isinstance(stopped, Changed)
    assert "The goal was ended." in stopped.message
    assert (await agent.state()).goal is None


async def test_a_check_that_was_not_typed_here_never_runs(db: Sapwood, tmp_path: Path) -> None:
    agent = await db.start("demo", folder=str(tmp_path))
    await agent.service.dispatch(QueuePrompt(agent.id, "q1", "/goal Go. --check touch ran"))
    [queued] = [each.answer async for each in session_of(agent).send_next()]
    assert isinstance(queued, ShellNotHere)
    await agent.service.dispatch(SetGoal(agent.id, "stranger", "Go.", "touch ran"))
    session = session_of(agent)
    await send(session, "/goal continue")
    await answered(agent, "Done.")
    [foreign] = await step(session)
    assert isinstance(foreign, CheckNotHere)
    assert not os.listdir(tmp_path)


async def test_a_check_that_cannot_be_kept_sets_no_goal(
    db: Sapwood, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").write_text("a file")
    monkeypatch.setenv("SAPWOOD_DATA", str(tmp_path / "data"))
    agent = await db.start("demo", folder=str(tmp_path))
    with pytest.raises(SapwoodError, match=r"The check could not be written.*Not a directory"):
        await send(session_of(agent), "/goal Go. --check ls")
    assert (await agent.state()).goal is None


@pytest.mark.parametrize(
    "line",
    [
        "/goal --check ls",
        "/goal --budget",
        "/goal Go. --check",
        "/goal Go. --budget much",
        "/goal G --budget 0",
        "/goal G --budget 0.02",
    ],
)
async def test_what_cannot_be_a_goal_is_refused(db: Sapwood, line: str) -> None:
    agent = await db.start("demo")
    [refused] = await send(session_of(agent), line)
    assert isinstance(refused, BadArguments)
    [nowhere] = await agent.run_command("/goal Go.")
    assert isinstance(nowhere.answer, GoalNotHere)
