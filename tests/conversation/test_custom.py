"""`/NAME` sends a custom command of the workspace, and runs nothing of it."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec import structs

from sapwood.api import Agent, Sapwood
from sapwood.api import open as open_database
from sapwood.conversation.answers import Prompted
from sapwood.conversation.completion import choices, known_names
from sapwood.conversation.script import parse
from sapwood.conversation.service import ConversationService
from sapwood.conversation.session import ConversationSession
from sapwood.core.commands import QueuePrompt
from sapwood.core.errors import RefusedError
from sapwood.core.refusals import UnknownCommand
from sapwood.core.settings import Workspace
from sapwood.workspace.custom_commands import CustomCommand, custom_commands


@pytest.fixture
async def db() -> AsyncIterator[Sapwood]:
    async with open_database(":memory:") as db:
        yield db


@pytest.fixture
def folder(tmp_path: Path) -> str:
    commands = tmp_path / ".claude/commands"
    commands.mkdir(parents=True)
    head = "---\ndescription: Fix a file\nargument-hint: FILE\nallowed-tools: Bash\n---\n"
    (commands / "fix.md").write_text(f"{head}Fix $1.\n!`touch ran`\n", encoding="utf-8")
    return str(tmp_path)


def read(workspace: Workspace) -> tuple[CustomCommand, ...]:
    return custom_commands(workspace, None)


def service_of(agent: Agent) -> ConversationService:
    return ConversationService(structs.replace(agent.service.services, custom_commands=read))


async def asked(agent: Agent) -> str:
    return str((await agent.request()).messages[-1].parts)


async def test_a_custom_command_is_a_prompt_and_says_what_has_no_effect(
    db: Sapwood, folder: str
) -> None:
    agent = await db.start("demo", folder=folder)
    service = service_of(agent)
    [outcome] = await service.submit(agent.id, "/fix 'a b.py'\nand more")
    assert isinstance(outcome.answer, Prompted)
    assert "Fix a b.py." in await asked(agent)
    assert "Not run: `touch ran`" in outcome.message
    assert "allowed-tools has no effect here" in outcome.message
    assert "ran" not in os.listdir(folder)
    await agent.interrupt()
    [listed] = await service.submit(agent.id, "/use")
    assert listed.message == "/fix  Fix a file  (command, .claude/commands/fix.md)"
    [unknown] = await service.submit(agent.id, "/use fixx")
    assert "'fixx': fix." in unknown.message


async def test_a_queued_custom_command_is_sent_later(db: Sapwood, folder: str) -> None:
    agent = await db.start("demo", folder=folder)
    service = service_of(agent)
    await service.dispatch(QueuePrompt(agent.id, "entry", "/fix it.py"))
    session = ConversationSession(service, "", agent.id)
    assert [type(each.answer) async for each in session.send_next()] == [Prompted]
    assert "Fix it.py." in await asked(agent)
    assert not await session.queue()


async def test_names_are_completed_and_commands_of_sapwood_come_first(
    db: Sapwood, folder: str
) -> None:
    agent = await db.start("demo", folder=folder)
    state = await agent.state()
    custom = custom_commands(state.workspace, None)
    known = await known_names(agent.service.services.space, state, custom)
    [choice] = choices("/fix", known)
    assert (choice.word, choice.usage) == ("/fix", "FILE")
    assert choice.help == "Fix a file  (command, .claude/commands/fix.md)"
    assert parse("/mark T", custom=["mark"]) == parse("/mark T")
    with pytest.raises(RefusedError) as refused:
        await agent.service.parsed(None, "/fix it.py")
    assert isinstance(refused.value.refusal, UnknownCommand)
