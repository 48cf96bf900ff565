"""A screen shows and answers the questions of an agent that another process drives."""

import asyncio

import pytest

from sapwood.api import Sapwood
from sapwood.app.connection import connect
from sapwood.app.permission_questions import PermissionQuestions
from sapwood.core.commands import AddReply
from sapwood.core.content import ToolCall
from sapwood.core.events import QuestionAnswered
from sapwood.tui.conversation_controller import ConversationController
from sapwood.tui.screens.permission_page import PermissionPage
from sapwood.workspace.permissions.permission_gate import (
    AllowOnce,
    Deny,
    PermissionAnswer,
    PermissionQuestion,
)
from tests.tui.stage import on_stage, until


@pytest.mark.parametrize("opened_first", [True, False])
async def test_a_question_of_a_worker_is_answered_on_the_screen(
    monkeypatch: pytest.MonkeyPatch, opened_first: bool
) -> None:
    async def stays_away(self: ConversationController) -> None:
        """The worker drives the turn."""

    monkeypatch.setattr(ConversationController, "resume", stays_away)
    connection = await connect(":memory:")
    agent = await Sapwood(connection).start("demo", model="claude-sonnet-5-5")
    await agent.run_command("Build it.")
    await agent.do(AddReply(agent.id, (ToolCall("1", "shell", '{"command": "make"}'),)))
    question = PermissionQuestion(agent.id, "/project", "shell", "make", "why", "make all")

    def ask() -> asyncio.Future[PermissionAnswer]:
        return asyncio.ensure_future(PermissionQuestions(connection, seconds=600).ask(question))

    asking = None if opened_first else ask()
    while not opened_first and (await agent.events())[-1].kind != "question.asked":  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    async with on_stage(agent.id, connection=connection) as stage:
        asking = asking or ask()
        await until(lambda: isinstance(stage.app.screen, PermissionPage), shown=stage.screen)
        await stage.sees("make all")
        await stage.pilot.press("y")
        assert await asyncio.wait_for(asking, 60) == AllowOnce()
        await until(lambda: not isinstance(stage.app.screen, PermissionPage))
    [answered] = [e for e in await agent.events() if isinstance(e.event, QuestionAnswered)]
    assert answered.actor.role == "human"
    await connection.close()


async def test_a_page_closes_when_somebody_else_answers_and_the_status_says_what_it_waits_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def stays_away(self: ConversationController) -> None:
        """The worker drives the turn."""

    monkeypatch.setattr(ConversationController, "resume", stays_away)
    connection = await connect(":memory:")
    agent = await Sapwood(connection).start("demo", model="claude-sonnet-5-5")
    await agent.run_command("Build it.")
    await agent.do(AddReply(agent.id, (ToolCall("1", "shell", '{"command": "make"}'),)))
    question = PermissionQuestion(agent.id, "/project", "shell", "make", "why", "make all")
    async with on_stage(agent.id, connection=connection) as stage:
        asking = asyncio.ensure_future(PermissionQuestions(connection, seconds=600).ask(question))
        await until(lambda: isinstance(stage.app.screen, PermissionPage), shown=stage.screen)
        progress = stage.conversation._progress  # pyright: ignore[reportPrivateUsage]
        await until(lambda: "waiting for your approval" in progress())
        await agent.run_command("/answer no later")
        assert await asyncio.wait_for(asking, 60) == Deny("later")
        await until(lambda: not isinstance(stage.app.screen, PermissionPage))
        await until(lambda: "waiting for your approval" not in progress())
    await connection.close()
