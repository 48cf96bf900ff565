"""A turn that asks a person is parked: any process continues it after the answer, however late."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec import Struct

from sapwood.api import Agent, Sapwood
from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import Connection, connect
from sapwood.app.permission_questions import (
    PermissionQuestions,
    PostedQuestion,
    all_waiting_questions,
    send_answer,
)
from sapwood.app.space_move import move_space
from sapwood.core.commands import AddFile, QueuePrompt, SetGoal
from sapwood.core.content import File, ToolCall
from sapwood.core.events import FileAdded, QuestionAsked, ToolFinished, ToolStarted
from sapwood.core.view import Request
from sapwood.engine import LocalEngine
from sapwood.testing import FakeModel
from sapwood.turns import tool_calls
from sapwood.turns.clock_and_ids import command_meta, now
from sapwood.workspace.combined_toolbox import CombinedToolbox
from sapwood.workspace.permissions.permission_gate import (
    AllowOnce,
    Deny,
    PermissionAnswer,
    PermissionGate,
    Reply,
)
from sapwood.workspace.question_toolbox import QuestionToolbox
from sapwood.workspace.workspace_toolbox import WorkspaceToolbox
from tests.postgres_session import new_database

WRITE = ToolCall("c1", "write_file", '{"path": "out.txt", "content": "done"}')
ASK = ToolCall("c3", "ask_user", '{"question": "Which port?", "choices": ["80", "8080"]}')
SECOND = ToolCall("c2", "write_file", '{"path": "two.txt", "content": "done"}')
DAYS = 30 * 86_400_000_000


def _plan(*calls: ToolCall) -> Callable[[Request, str], list[ToolCall] | str]:
    return lambda request, heard: list(calls) if heard == "Write it." else f"Heard: {heard}"


class Process(Struct):
    """A process that drives agents and has no screen."""

    connection: Connection
    runner: AgentRunner
    engine: LocalEngine
    model: FakeModel


@asynccontextmanager
async def process(
    folder: Path,
    *calls: ToolCall,
    seconds: float = 0.0,
    clock: Callable[[], int] = now,
    address: str = "",
) -> AsyncGenerator[Process]:
    connection = await connect(address or folder / "a.db")
    asking = PermissionQuestions(connection, seconds=seconds, clock=clock)
    model, engine = FakeModel(_plan(*(calls or (WRITE,)))), LocalEngine()
    tools = CombinedToolbox(
        WorkspaceToolbox(PermissionGate(approve=asking.ask)), QuestionToolbox(asking.ask)
    )
    runner = AgentRunner(connection, engine, model, tools)
    try:
        await runner.start()
        async with asyncio.timeout(60):
            yield Process(connection, runner, engine, model)
    finally:
        await runner.close()
        await connection.close()


async def _asked(at: Process, folder: Path) -> Agent:
    """An agent of this process whose turn waits for an answer."""
    agent = await Sapwood(at.connection).start("demo", model="m", folder=str(folder))
    await agent.run_command("Write it.")
    await _until(agent, QuestionAsked)
    await _driven(at)
    return agent


async def _until(agent: Agent, kind: type[object], after: int = 0) -> None:
    async for recorded in agent.follow(after):
        if isinstance(recorded.event, kind):
            return


async def _driven(at: Process) -> None:
    """Waits until the process drives nothing."""
    while tasks := at.engine._tasks:  # pyright: ignore[reportPrivateUsage] # that nothing is held
        await asyncio.wait(tasks)


async def _answered_elsewhere(
    folder: Path, answer: PermissionAnswer, address: str = ""
) -> PostedQuestion:
    """Answers the one question from a process that drives nothing."""
    connection = await connect(address or folder / "a.db")
    try:
        [posted] = await all_waiting_questions(connection)
        assert await send_answer(connection, posted, answer) is None
        return posted
    finally:
        await connection.close()


async def _continued(
    folder: Path, name: str = "demo", address: str = ""
) -> tuple[list[object], FakeModel]:
    """Continues the turn in a new process; returns its events and the model."""
    async with process(folder, address=address) as at:
        agent = await Sapwood(at.connection).find(name)
        await at.runner.wake(agent.id)
        async for recorded in agent.follow():
            if recorded.kind in ("turn.completed", "turn.failed"):
                break
        return [recorded.event for recorded in await agent.events()], at.model


async def test_a_turn_that_waits_for_an_answer_holds_nothing(tmp_path: Path) -> None:
    async with process(tmp_path) as at:
        agent = await _asked(at, tmp_path)
        state = await agent.state()
        assert state.open is not None
        assert state.open.started == ()
        await at.runner.wake(agent.id)
        before = state.version
        await _driven(at)
        assert (await agent.state()).version == before, "a wake without an answer changes nothing"


async def test_a_process_that_is_gone_is_continued_by_another_after_the_answer(
    tmp_path: Path,
) -> None:
    async with process(tmp_path) as at:
        await _asked(at, tmp_path)
    await _answered_elsewhere(tmp_path, AllowOnce())
    assert not (tmp_path / "out.txt").exists()
    events, _ = await _continued(tmp_path)
    assert (tmp_path / "out.txt").read_text() == "done"
    [result] = [each for each in events if isinstance(each, ToolFinished)]
    assert not result.error
    assert sum(isinstance(each, QuestionAsked) for each in events) == 1


@pytest.mark.night
async def test_what_waits_in_a_space_waits_where_the_space_has_moved_to(
    tmp_path: Path, postgres_dsn: str
) -> None:
    """A question, a queued prompt, a goal and an uploaded file."""
    image = File.of(b"GIF89a" + bytes(range(200)) * 30, name="chart.gif")
    with new_database(postgres_dsn) as first, new_database(postgres_dsn) as second:
        async with process(tmp_path, address=first) as at:
            agent = await _asked(at, tmp_path)
            give, goal = at.connection.dispatcher.dispatch, SetGoal(agent.id, "g", "All is green.")
            for command in (
                QueuePrompt(agent.id, "q", "And then?"),
                goal,
                AddFile(agent.id, image),
            ):
                await give(command, command_meta())
            before = await agent.state()
        await move_space(first, "local", second)
        async with process(tmp_path, address=second) as there:
            after = await (await Sapwood(there.connection).get(agent.id)).state()
        assert (after.open, after.queue, after.goal) == (before.open, before.queue, before.goal)
        assert after.queue[0].text == "And then?"
        await _answered_elsewhere(tmp_path, AllowOnce(), second)
        events, _ = await _continued(tmp_path, address=second)
    assert (tmp_path / "out.txt").read_text() == "done"
    assert [each.file for each in events if isinstance(each, FileAdded)] == [image]


async def test_a_denial_after_the_process_is_gone_reaches_the_model_as_one(tmp_path: Path) -> None:
    async with process(tmp_path) as at:
        await _asked(at, tmp_path)
    await _answered_elsewhere(tmp_path, Deny("not there"))
    events, model = await _continued(tmp_path)
    [result] = [each for each in events if isinstance(each, ToolFinished)]
    assert result.content == "write_file did not run. The user said no: not there"
    assert any("The user said no" in text for text in model.requests[-1].texts())
    assert not (tmp_path / "out.txt").exists()


async def test_a_question_has_no_limit_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with process(tmp_path) as at:
        agent = await _asked(at, tmp_path)
        monkeypatch.setattr(tool_calls, "now", lambda: now() + DAYS)
        await at.runner.wake(agent.id)
        await _driven(at)
        assert len(await all_waiting_questions(at.connection)) == 1
        await _answered_elsewhere(tmp_path, AllowOnce())
        await at.runner.wake(agent.id)
        await _until(agent, ToolFinished)
        assert (tmp_path / "out.txt").read_text() == "done"


async def test_a_limit_is_a_setting_and_denies_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = 0
    async with process(tmp_path, seconds=3_600, clock=lambda: now() + late) as at:
        agent = await _asked(at, tmp_path)
        late = DAYS
        monkeypatch.setattr(tool_calls, "now", lambda: now() + late)
        await at.runner.wake(agent.id)
        await _until(agent, ToolFinished)
        [result] = [e.event for e in await agent.events() if isinstance(e.event, ToolFinished)]
        assert "nobody can approve it" in result.content
        assert result.blocked


async def test_an_answer_is_used_only_for_what_was_shown(tmp_path: Path) -> None:
    """The file changed after the question, so the change that was shown is not what would run."""
    async with process(tmp_path) as at:
        await _asked(at, tmp_path)
    (tmp_path / "out.txt").write_text("somebody else's")
    await _answered_elsewhere(tmp_path, AllowOnce())
    async with process(tmp_path) as at:
        agent = await Sapwood(at.connection).find("demo")
        await at.runner.wake(agent.id)
        after = (await agent.state()).version
        await _until(agent, QuestionAsked, after)
        assert (tmp_path / "out.txt").read_text() == "somebody else's"


async def test_a_call_that_started_after_the_answer_is_not_run_twice(tmp_path: Path) -> None:
    async with process(tmp_path) as at:
        agent = await _asked(at, tmp_path)
        await _answered_elsewhere(tmp_path, AllowOnce())
        await at.runner.wake(agent.id)
        await _until(agent, ToolFinished)
        kinds = [type(each.event) for each in await agent.events()]
        assert kinds.count(ToolStarted) == 2, "before the question and after the answer"


async def test_calls_after_a_question_wait_for_its_answer(tmp_path: Path) -> None:
    async with process(tmp_path, WRITE, SECOND) as at:
        await _asked(at, tmp_path)
        [posted] = await all_waiting_questions(at.connection)
        assert posted.question.subject == "out.txt"


async def test_a_question_of_the_model_waits_without_a_process_and_its_answer_is_the_result(
    tmp_path: Path,
) -> None:
    async with process(tmp_path, ASK) as at:
        agent = await _asked(at, tmp_path)
        [shown] = await agent.run_command("/answer")
        assert "Which port?\n1  80\n2  8080\nAnswer with a number" in shown.message
    async with process(tmp_path, ASK) as at:  # another process does not ask again
        agent = await Sapwood(at.connection).find("demo")
        await at.runner.wake(agent.id)
        await _driven(at)
    posted = await _answered_elsewhere(tmp_path, Reply("neither, use 443"))
    assert posted.question.choices == ("80", "8080")
    events, _ = await _continued(tmp_path)
    [result] = [each for each in events if isinstance(each, ToolFinished)]
    assert (result.content, result.error) == ("The user answered: neither, use 443", False)
    assert sum(isinstance(each, QuestionAsked) for each in events) == 1
