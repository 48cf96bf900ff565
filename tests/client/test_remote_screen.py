"""The screen over a server: prompts, commands, pages, approvals, and a server that is restarted."""

import asyncio

import pytest

import sapwood
from sapwood.app.connection import connect
from sapwood.app.permission_questions import PermissionQuestions
from sapwood.core.commands import AddReply
from sapwood.core.content import ToolCall
from sapwood.core.events import QuestionAnswered
from sapwood.tui.screens.permission_page import PermissionPage
from sapwood.workspace.permissions.permission_gate import AllowOnce, PermissionQuestion
from tests.client.listening import ServerHere
from tests.server.serving import Served
from tests.tui.stage import on_stage, until


@pytest.mark.usefixtures("answering")
async def test_a_conversation_of_a_server_is_held_on_the_screen(
    served: Served, server: ServerHere
) -> None:
    there = await sapwood.Sapwood(served.connection).start("demo", model="planned")
    await there.record("What is 6 x 7?", "Forty-two.")
    connection = await connect(server.address, token=server.token())
    async with on_stage(there.id, connection=connection) as stage:
        await stage.sees("Forty-two.")
        await stage.type("Where do herons nest?")
        await stage.sees("Herons nest in trees.")
        await stage.type("/clear 1")
        await stage.sees("removed from view")
        await stage.type("/context")
        await stage.sees("history")
        await stage.pilot.press("escape")
        await stage.type("/undo")
        await stage.sees("Undone")
        await server.stop()
        await server.start()
        await there.mark("LATER")
        await stage.sees("LATER")
        await stage.type("/rewind STRAT")
        await stage.sees("There is no mark 'STRAT'")
        await stage.type("/rewind")
        await stage.sees("LATER")
    await connection.close()
    actors = {str(each.actor) for each in await there.events() if each.kind == "turn.started"}
    assert actors == {"human:ada"}


async def test_a_tool_call_of_a_server_is_approved_on_the_screen(
    served: Served, server: ServerHere
) -> None:
    there = await sapwood.Sapwood(served.connection).start("demo", model="claude-sonnet-5-5")
    await there.run_command("Build it.")
    await there.do(AddReply(there.id, (ToolCall("1", "shell", '{"command": "make"}'),)))
    question = PermissionQuestion(there.id, "/project", "shell", "make", "why", "make all")
    connection = await connect(server.address, token=server.token())
    async with on_stage(there.id, connection=connection) as stage:
        asking = asyncio.ensure_future(
            PermissionQuestions(served.connection, seconds=600).ask(question)
        )
        await until(lambda: isinstance(stage.app.screen, PermissionPage), shown=stage.screen)
        await stage.sees("make all")
        await stage.pilot.press("y")
        assert await asyncio.wait_for(asking, 60) == AllowOnce()
        await until(lambda: not isinstance(stage.app.screen, PermissionPage))
    await connection.close()
    [answered] = [e for e in await there.events() if isinstance(e.event, QuestionAnswered)]
    assert str(answered.actor) == "human:ada"


async def test_a_first_conversation_starts_with_the_settings_of_the_server(
    served: Served, server: ServerHere
) -> None:
    connection = await connect(server.address, token=server.token())
    async with on_stage(connection=connection, folder=connection.address) as stage:
        await stage.type("/mark START")
        await stage.sees("START")
        agent = stage.app.controller.agent
    await connection.close()
    assert agent is not None
    summary = await served.connection.log.summary(served.connection.space, agent)
    assert summary is not None
    assert summary.folder == served.spaces.get("local").agents.folder
