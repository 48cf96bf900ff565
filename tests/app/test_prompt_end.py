"""When a prompt has ended: by its turn, by failures to drive it, and not by a restarted turn."""

import re
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

import sapwood
from sapwood.app.connection import Connection, connect
from sapwood.app.prompt_end import MAX_FAILURES, DriveFailure, PromptEnd, PromptProgress
from sapwood.core.commands import FailTurn, InterruptTurn
from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Delta
from sapwood.testing import FakeModel, slash


@pytest.fixture
async def connection(tmp_path: Path) -> AsyncGenerator[Connection]:
    """A database in a file of its own."""
    opened = await connect(tmp_path / "sapwood.db", secrets=())
    yield opened
    await opened.close()


async def ends(connection: Connection, agent: sapwood.Agent) -> list[PromptEnd]:
    progress = PromptProgress(connection, AgentId(agent.id))
    found = [await progress.end_after(each) for each in await agent.events()]
    return [each for each in found if each is not None]


async def test_each_end_of_a_turn_has_a_status_and_a_sentence(connection: Connection) -> None:
    async with sapwood.open(connection.log) as db:
        agent = await db.start("demo", model="planned")
        async with agent.turn("One.") as turn:
            await turn.reply("Done.")
        await agent.prompt("Two.")
        await agent.do(FailTurn(AgentId(agent.id), "No network.", failure="no_network"))
        await agent.prompt("Three.")
        await agent.do(InterruptTurn(AgentId(agent.id), "enough"))
        assert await ends(connection, agent) == [
            PromptEnd("completed"),
            PromptEnd("failed", "No network.", failure="no_network"),
            PromptEnd("interrupted", "The turn was interrupted: enough.", reason="enough"),
        ]


async def test_a_model_that_goes_back_to_the_start_of_its_turn_has_not_ended_it() -> None:
    said = iter((slash("mark", "T"), slash("clear", "T Not this way."), "Done."))
    async with (
        sapwood.open(":memory:") as db,
        sapwood.runtime(db, models=FakeModel(lambda _, __: next(said)), commands=True),
    ):
        agent = await db.start("demo", model="planned")
        await agent.ask("Go.")
        kinds = [each.kind for each in await agent.events()]
        assert kinds.count("turn.completed") == 2
        assert len(await ends(agent.connection, agent)) == 1


async def test_failures_in_a_row_end_the_wait_and_a_reply_starts_to_count_anew(
    connection: Connection,
) -> None:
    async with sapwood.open(connection.log) as db:
        agent = await db.start("demo", model="planned")
        async with agent.turn("One.") as turn:
            await turn.reply("Done.")
        [reply] = [each for each in await agent.events() if each.kind == "reply.added"]
        progress = PromptProgress(connection, AgentId(agent.id))
        failure = DriveFailure("The disk is full.")
        seen: list[Recorded | Delta | DriveFailure] = [failure] * (MAX_FAILURES - 1)
        seen += [Delta("text", "Hm."), reply, *[failure] * (MAX_FAILURES - 1)]
        assert [await progress.end_after(each) for each in seen] == [None] * len(seen)
        stuck = await progress.end_after(failure)
    assert stuck is not None
    assert stuck.status == "stuck"
    assert stuck.message == f"The disk is full. The turn of {agent.id} is still open."


def test_no_face_has_a_rule_of_its_own() -> None:
    sources = Path(sapwood.__file__).parent
    for file in sources.rglob("*.py"):
        if file.name != "prompt_end.py":
            assert not re.search(r"MAX_FAILURES = ", file.read_text()), file
