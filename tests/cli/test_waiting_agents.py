"""Lists of agents say which agent waits for approval."""

import json

from sapwood.api import Agent, Sapwood
from sapwood.core.commands import AddReply, AnswerQuestion, AskQuestion
from sapwood.core.content import ToolCall
from sapwood.tui.sidebar import agent_lines
from tests.cli.calling import Database, Sapwooder


async def _asked(db: Sapwood) -> Agent:
    agent = await db.start("demo", id="abc123", model="oak")
    await agent.run_command("Build it.")
    await agent.do(AddReply(agent.id, (ToolCall("1", "shell", '{"command": "make"}'),)))
    await agent.do(AskQuestion(agent.id, "q1", "shell", "make", "{}", "0" * 64))
    return agent


async def _answered(db: Sapwood) -> None:
    agent = await db.find("demo")
    await agent.do(AnswerQuestion(agent.id, "q1", "0" * 64, True, '{"type":"once"}'))


def test_the_list_says_that_an_agent_waits_for_approval(
    sapwood: Sapwooder, database: Database
) -> None:
    async def ask(db: Sapwood) -> None:
        await _asked(db)

    def status() -> str:
        return json.loads(sapwood("agents", "--json").out)["status"]

    database(ask)
    assert "waiting for approval" in sapwood("agents").out
    assert status() == "waiting for approval"
    database(_answered)
    assert "waiting" not in sapwood("agents").out
    assert status() == "running"


def test_the_sidebar_and_the_page_of_agents_say_it(database: Database) -> None:
    async def ask(db: Sapwood) -> None:
        agent = await _asked(db)
        log, space = db.connection.log, db.connection.space
        summary = await log.summary(space, agent.id)
        assert summary is not None
        assert summary.asking
        for room, words in ((44, "waiting for approval"), (20, "needs you")):
            [(_, line)] = agent_lines([summary], None, room)
            assert words in line.plain
            assert line.plain.startswith("? demo")
            assert len(line.plain) <= room
        await _answered(db)
        summary = await log.summary(space, agent.id)
        assert summary is not None
        assert summary.working
        assert not summary.asking

    database(ask)
