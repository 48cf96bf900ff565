"""`/replay` of a conversation that was imported from Claude Code shows what Claude Code sent."""

import json
from collections.abc import AsyncIterator
from os import remove
from pathlib import Path

import pytest

from sapwood.app.connection import Connection, connect
from sapwood.app.conversation_service import offline_service
from sapwood.config.config_file import Config
from sapwood.conversation.service import ConversationService
from sapwood.core.errors import RefusedError, SapwoodError
from sapwood.core.ids import AgentId
from sapwood.imports.importer import Importer
from tests.programs.claude_code.test_sent_requests import ROWS, request, text, user


def change(transcript: Path) -> None:
    transcript.write_text(transcript.read_text().replace("a.txt", "b.txt"))


FIRST = {"uuid": "u1", "sessionId": "s1", "timestamp": "2026-11-15T20:32:57.017Z", "cwd": "/w"}


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    path = tmp_path / "s1.jsonl"
    rows = [{**FIRST, **ROWS[0]}, *ROWS[1:]]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


@pytest.fixture
async def connection() -> AsyncIterator[Connection]:
    connection = await connect(":memory:")
    yield connection
    await connection.close()


@pytest.fixture
async def agent(connection: Connection, transcript: Path) -> AgentId:
    importer = Importer(connection, idle_seconds=-1)
    done = await importer.bring(transcript)
    await importer.close()
    assert done.turns == 1
    return done.agent


@pytest.fixture
def service(connection: Connection) -> ConversationService:
    return offline_service(connection, Config())


async def test_the_last_request_is_shown(service: ConversationService, agent: AgentId) -> None:
    answer = await service.replay(agent)
    assert answer.replayed is not None
    assert answer.replayed.matches
    assert answer.replayed.called.model == "claude-opus-5-5"
    assert len(answer.replayed.request.messages) == 3


async def test_requests_are_listed_newest_first(
    service: ConversationService, agent: AgentId
) -> None:
    places = [each.place for each in await service.model_calls(agent)]
    assert places == ["request 2", "request 1"]
    answer = await service.replay(agent, 1)
    assert answer.replayed is not None
    assert len(answer.replayed.request.messages) == 2


async def test_another_number_is_refused(service: ConversationService, agent: AgentId) -> None:
    with pytest.raises(RefusedError):
        await service.replay(agent, 3)


async def test_a_lost_message_is_told(
    service: ConversationService, agent: AgentId, transcript: Path
) -> None:
    change(transcript)
    answer = await service.replay(agent)
    assert answer.message == "THE HASH DOES NOT MATCH."


async def test_secrets_are_masked_after_the_check(
    service: ConversationService, connection: Connection, tmp_path: Path
) -> None:
    secret = "sk-ant-api03-0aB1cD2eF3gH4iJ5kL6mN7"
    rows = [
        {**FIRST, "type": "user", "message": {"role": "user", "content": f"key: {secret}"}},
        request("r1", [user(text(f"key: {secret}"))]),
    ]
    path = tmp_path / "s2.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    importer = Importer(connection, idle_seconds=-1)
    done = await importer.bring(path)
    await importer.close()
    answer = await service.replay(done.agent)
    assert answer.replayed is not None
    assert secret not in answer.replayed.request.messages[0].text
    assert "[secret: anthropic-key" in answer.replayed.request.messages[0].text


async def test_a_transcript_that_is_gone_is_told(
    service: ConversationService, agent: AgentId, transcript: Path
) -> None:
    remove(transcript)
    with pytest.raises(SapwoodError, match="cannot be read"):
        await service.replay(agent)
