"""The test of a session, with a provider that can do each step wrong."""

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any  # requests are JSON

import pytest

from sapwood.core.content import PromptPart
from sapwood.core.ids import TranscriptRange
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.programs.agent_provider import (
    History,
    ProviderEvent,
    ProviderOptions,
    SyncResult,
    TurnEnd,
)
from sapwood.programs.probe.model_server import ModelServer
from sapwood.programs.probe.session_test import NotProved, SessionTest
from tests.turns.fake_provider import FakeProgram


class AskingProgram(FakeProgram):
    """Sends its history to the model server. `wrong` names what it does otherwise."""

    def __init__(self, model: ModelServer, home: Path, wrong: str) -> None:
        super().__init__("claude-code")
        self.model = model
        self.file = home / "session.jsonl"
        self.wrong = wrong
        self.whole: list[str] = []

    async def send(
        self, session: ProgramSession, prompt: tuple[PromptPart, ...], turn: str
    ) -> AsyncGenerator[ProviderEvent]:
        history = self.sessions[session.id]
        history.append(prompt[-1].text)
        self.whole.append(prompt[-1].text)
        sent = self.whole if self.wrong == "sends everything" else history
        body = {"messages": [{"content": each} for each in sent], "stream": True}
        if self.wrong != "sends nothing":
            await asyncio.to_thread(post, f"{self.model.url}/v1/messages", body)
        history.append(self.model.answer)
        self.whole.append(self.model.answer)
        with self.file.open("a") as file:
            file.write(f"{turn}\n")
        yield TurnEnd("completed", rows=NativeRows(session, TranscriptRange(turn, turn)))

    async def sync_session(
        self, session: ProgramSession | None, history: History, options: ProviderOptions
    ) -> SyncResult:
        if self.wrong == "rewrites its file":
            self.file.write_text("")
        chosen = None if self.wrong == "makes a new session" else session
        synced = await super().sync_session(chosen, history, options)
        if self.wrong == "changes nothing":
            return SyncResult(synced.session, "nothing")
        return synced


def post(url: str, body: dict[str, Any]) -> str:
    request = urllib.request.Request(url, json.dumps(body).encode(), method="POST")
    with urllib.request.urlopen(request, timeout=10) as response:
        return response.read().decode()


async def change_session(folder: Path, wrong: str = "") -> None:
    async with ModelServer.running() as model:
        provider = AskingProgram(model, folder, wrong)
        await SessionTest(provider, model, folder, folder).run()


async def test_a_program_that_sends_what_is_expected_is_proved(tmp_path: Path) -> None:
    await change_session(tmp_path)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (
            "sends everything",
            "after a rewind, the request had prompt 1, .*answer 2.* where prompt 1",
        ),
        ("sends nothing", "in a new session, the program sent no request with the new prompt"),
        ("rewrites its file", "a rewind rewrote a file instead of appending to it"),
        ("makes a new session", "a rewind led to a new session"),
        ("changes nothing", "a rewind had no effect"),
    ],
)
async def test_what_differs_is_named(tmp_path: Path, wrong: str, reason: str) -> None:
    with pytest.raises(NotProved, match=reason):
        await change_session(tmp_path, wrong)


async def test_only_who_knows_the_secret_can_ask_the_model() -> None:
    async with ModelServer.running() as model:
        foreign = model.url.rpartition("/")[0] + "/v1/messages"
        with pytest.raises(urllib.error.HTTPError, match="404"):
            await asyncio.to_thread(post, foreign, {"messages": []})
        assert model.requests == []
        answer = await asyncio.to_thread(post, f"{model.url}/v1/responses", {"stream": True})
        assert '"delta":"ok"' in answer
        assert len(model.requests) == 1
