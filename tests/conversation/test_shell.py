"""`!COMMAND` runs by the person's own right, and its output goes with the next prompt."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec import structs

from sapwood.api import Agent, Sapwood
from sapwood.api import open as open_database
from sapwood.conversation.answers import Prompted
from sapwood.conversation.script import CommandStep, TextStep, parse
from sapwood.conversation.service import ConversationService
from sapwood.conversation.session import ConversationSession
from sapwood.core.command_table import TABLE
from sapwood.core.commands import QueuePrompt
from sapwood.core.content import Text
from sapwood.core.events import ShellRan, TurnStarted
from sapwood.core.refusals import BadArguments, ShellNotHere


@pytest.fixture
async def db() -> AsyncIterator[Sapwood]:
    async with open_database(":memory:") as db:
        yield db


def session_of(agent: Agent) -> ConversationSession:
    """The session of a person who works on this machine."""
    services = structs.replace(agent.service.services, on_this_machine=True)
    return ConversationSession(ConversationService(services), "", agent.id)


async def send(session: ConversationSession, text: str) -> None:
    async for _ in session.submit(text):
        pass


async def ran(agent: Agent) -> list[ShellRan]:
    return [each.event for each in await agent.events() if isinstance(each.event, ShellRan)]


async def test_the_output_goes_with_the_next_prompt_and_private_output_does_not(
    db: Sapwood, tmp_path: Path
) -> None:
    agent = await db.start("demo", folder=str(tmp_path))
    session = session_of(agent)
    await send(session, "!pwd; exit 3")
    await send(session, "!!echo unseen")
    assert (await agent.state()).turns == 0
    first, second = await ran(agent)
    assert first.output == f"{tmp_path}\n[exit status 3]"
    assert first.failed
    assert first.noted
    assert second.output == "unseen\n[exit status 0]"
    assert not second.noted
    await send(session, "What was that?")
    [message] = (await agent.request()).messages
    sent = "\n".join(str(part) for part in message.parts)
    assert "the user ran 'pwd; exit 3' in a shell" in sent
    assert "[exit status 3]" in sent
    assert "unseen" not in sent


async def test_a_cancelled_command_is_ended_and_recorded(db: Sapwood, tmp_path: Path) -> None:
    agent = await db.start("demo", folder=str(tmp_path))
    begun = tmp_path / "begun"
    running = asyncio.ensure_future(send(session_of(agent), "!touch begun; sleep 600; touch late"))
    async with asyncio.timeout(30):
        while not begun.exists():  # noqa: ASYNC110 (another process makes the file)
            await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    [stopped] = await ran(agent)
    assert stopped.failed
    assert stopped.output == "[stopped by the user]"


async def test_a_face_that_may_be_elsewhere_runs_nothing(db: Sapwood, tmp_path: Path) -> None:
    agent = await db.start("demo", folder=str(tmp_path))
    [outcome] = await agent.run_command("/shell touch made")
    assert outcome.answer == ShellNotHere()
    assert not (tmp_path / "made").exists()
    assert isinstance(parse("!touch made"), tuple)
    assert parse("!touch made") == (TextStep("!touch made"),)


def test_only_the_beginning_of_a_submission_is_a_shell_command() -> None:
    row = TABLE["shell"]
    assert parse("!git log\n-1", shell=True) == (CommandStep(row, "git log\n-1"),)
    assert parse("!! ls", shell=True) == (CommandStep(row, "--private ls"),)
    for text in (" !ls", "![a](b.png)", "!!!", "Look:\n!ls", "Look:\n/shell ls"):
        assert parse(text, shell=True) == (TextStep(text),)


@pytest.mark.parametrize(
    ("typed", "usage"), [("!", "!COMMAND"), (" ! ", "!COMMAND"), ("!!", "!!COMMAND")]
)
def test_an_exclamation_mark_alone_says_what_it_is_for(typed: str, usage: str) -> None:
    refused = parse(typed, shell=True)
    assert isinstance(refused, BadArguments)
    assert refused.sentence.startswith(f"{typed.strip()} runs a shell command")
    assert refused.sentence.endswith(f"Usage: {usage}.")
    assert parse(typed) == (TextStep(typed.rstrip()),)  # no face that runs shell commands


async def test_what_somebody_else_queued_runs_nothing_and_reads_no_file(
    db: Sapwood, tmp_path: Path
) -> None:
    agent = await db.start("demo", folder=str(tmp_path))
    (tmp_path / "notes.md").write_text("My own notes.")
    await agent.do(QueuePrompt(agent.id, "q1", "/shell touch made"))
    await agent.do(QueuePrompt(agent.id, "q2", "!touch made"))
    await agent.do(QueuePrompt(agent.id, "q3", "Read @notes.md"))
    session = session_of(agent)
    assert [each.answer async for each in session.send_next()] == [ShellNotHere()]
    for text in ("!touch made", "Read @notes.md"):
        [sent] = [each.answer async for each in session.send_next()]
        assert isinstance(sent, Prompted)
        [started] = [
            each.event.prompt
            for each in await agent.events(sent.turn)
            if isinstance(each.event, TurnStarted)
        ]
        assert started == (Text(text),)
        await agent.interrupt()
    assert await ran(agent) == []
    assert not (tmp_path / "made").exists()
