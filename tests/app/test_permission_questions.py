"""Questions about tool calls go through the log: any process can answer, and the first one does."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec import Struct, structs

from sapwood.api import Agent, Sapwood
from sapwood.app.connection import Connection, connect
from sapwood.app.permission_questions import (
    PermissionQuestions,
    PostedQuestion,
    posted_question,
    send_answer,
)
from sapwood.core.commands import AddReply
from sapwood.core.content import ToolCall
from sapwood.core.events import Actor, QuestionAnswered, QuestionAsked
from sapwood.core.refusals import HumanOnly, NoQuestion, OtherQuestion
from sapwood.workspace.permissions.permission_gate import (
    AllowOnce,
    Deny,
    NobodyAnswers,
    PermissionAnswer,
    PermissionQuestion,
)

TOKEN = "ghp_0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"


class Place(Struct):
    """An agent with an open tool call, and a connection of another process."""

    connection: Connection
    elsewhere: Connection
    agent: Agent

    def question(self, command: str = "make") -> PermissionQuestion:
        return PermissionQuestion(self.agent.id, "/project", "shell", command, "why", command)

    async def ask(self, command: str = "make") -> PermissionAnswer:
        """Asks as a worker does."""
        return await PermissionQuestions(self.connection, seconds=60).ask(self.question(command))

    async def posted(self) -> PostedQuestion:
        """Waits until the other process sees the question."""
        log, space = self.elsewhere.log, self.elsewhere.space
        async for recorded in log.follow(space, self.agent.id):
            if isinstance(recorded.event, QuestionAsked):
                posted = posted_question(recorded.event)
                assert posted is not None
                return posted
        raise AssertionError

    async def answers(self) -> list[tuple[str, QuestionAnswered]]:
        events = await self.agent.events()
        return [(e.actor.role, e.event) for e in events if isinstance(e.event, QuestionAnswered)]


@asynccontextmanager
async def place(folder: Path) -> AsyncGenerator[Place]:
    connection, elsewhere = await connect(folder / "a.db"), await connect(folder / "a.db")
    try:
        agent = await Sapwood(connection).start("demo", model="oak")
        await agent.run_command("Build it.")
        await agent.do(AddReply(agent.id, (ToolCall("1", "shell", '{"command": "make"}'),)))
        async with asyncio.timeout(60):
            yield Place(connection, elsewhere, agent)
    finally:
        await elsewhere.close()
        await connection.close()


async def test_another_process_sees_the_question_and_answers_it(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        asking = asyncio.ensure_future(
            PermissionQuestions(at.connection, seconds=60).ask(at.question())
        )
        posted = await at.posted()
        assert posted.question == at.question()
        state = await at.agent.state()
        assert state.open is not None
        assert [each.question for each in state.open.questions] == [posted.id]
        assert await send_answer(at.elsewhere, posted, AllowOnce()) is None
        assert await asking == AllowOnce()
        assert [(role, event.allowed) for role, event in await at.answers()] == [("human", True)]
        state = await at.agent.state()
        assert state.open is not None
        assert state.open.questions == ()


async def test_the_first_answer_counts_and_closes_the_page_of_the_other(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        closed = asyncio.Event()

        async def page(question: PermissionQuestion) -> PermissionAnswer:
            try:
                return await asyncio.Future[PermissionAnswer]()
            finally:
                closed.set()

        asking = asyncio.ensure_future(PermissionQuestions(at.connection, page).ask(at.question()))
        posted = await at.posted()
        assert await send_answer(at.elsewhere, posted, Deny("not now")) is None
        assert await asking == Deny("not now")
        assert closed.is_set()
        assert await send_answer(at.elsewhere, posted, AllowOnce()) == NoQuestion()


async def test_an_answer_on_the_own_screen_is_in_the_log(tmp_path: Path) -> None:
    async def page(question: PermissionQuestion) -> PermissionAnswer:
        return AllowOnce()

    async with place(tmp_path) as at:
        assert await PermissionQuestions(at.connection, page).ask(at.question()) == AllowOnce()
        assert [(role, event.allowed) for role, event in await at.answers()] == [("human", True)]


async def test_no_model_answers_and_no_answer_counts_for_another_question(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        asking = asyncio.ensure_future(
            PermissionQuestions(at.connection, seconds=60).ask(at.question())
        )
        posted = await at.posted()
        model = Actor("model", "oak")
        assert isinstance(await send_answer(at.elsewhere, posted, AllowOnce(), model), HumanOnly)
        assert isinstance(await send_answer(at.elsewhere, posted, Deny(), model), HumanOnly)
        other = structs.replace(posted, hash="0" * 64)
        assert await send_answer(at.elsewhere, other, AllowOnce()) == OtherQuestion()
        assert await at.answers() == []
        asking.cancel()


async def test_a_question_that_nobody_answers_is_denied_by_the_system(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        with pytest.raises(NobodyAnswers):
            await PermissionQuestions(at.connection, seconds=0.01).ask(at.question())
        assert [(role, event.allowed) for role, event in await at.answers()] == [("system", False)]


async def test_a_command_answers_the_question(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        asking = asyncio.ensure_future(
            PermissionQuestions(at.connection, seconds=60).ask(at.question())
        )
        await at.posted()
        agent = await Sapwood(at.elsewhere).find("demo")
        [shown] = await agent.run_command("/answer")
        assert "make" in shown.message
        [done] = await agent.run_command("/answer no too slow")
        assert done.message == "Denied."
        assert await asking == Deny("too slow")
        [late] = await agent.run_command("/answer yes")
        assert "There is no question to answer" in late.message


async def test_a_secret_in_a_question_is_masked_in_the_log(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        command = f"curl -H 'Authorization: Bearer {TOKEN}' example.org"
        asking = asyncio.ensure_future(at.ask(command))
        posted = await at.posted()
        assert TOKEN not in posted.question.preview
        assert await send_answer(at.elsewhere, posted, AllowOnce()) is None
        assert await asking == AllowOnce()
