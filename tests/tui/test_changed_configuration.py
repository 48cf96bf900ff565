"""A screen that is open uses configuration that is changed elsewhere, from the next prompt on."""

import asyncio
from pathlib import Path

import pytest

from sapwood.app.connection import connect
from sapwood.config.api_keys import load_keys, save_key
from sapwood.config.config_file import load_config
from sapwood.config.editor import set_setting
from sapwood.conversation.answers import Answer
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Failure, RetryWait
from sapwood.tui.conversation_controller import ConversationController
from sapwood.workspace.permissions.permission_gate import (
    Deny,
    PermissionAnswer,
    PermissionQuestion,
)


class Face:
    """Keeps what it is given to show."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    async def show_answer(self, answer: Answer) -> None:
        self.shown.append(answer.message)

    def show_failure(self, failure: Failure) -> None:
        raise NotImplementedError

    def show_refusal(self, text: str) -> None:
        self.shown.append(text)

    def show_shell(self, agent: AgentId, line: str, output: bytes) -> None:
        self.shown.append(line)

    def show_wait(self, wait: RetryWait) -> None:
        self.shown.append(wait.agent)

    async def ask_permission(self, question: PermissionQuestion) -> PermissionAnswer:
        return Deny()


async def test_addresses_and_keys_are_read_again_and_the_command_line_stays(
    own_configuration: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-variable")
    set_setting("model", "gpt-5")
    monkeypatch.setenv("SAPWOOD_SPACE", "given")
    config = load_config()
    monkeypatch.delenv("SAPWOOD_SPACE")
    connection = await connect(":memory:")
    controller = ConversationController(connection, config, load_keys(), "/tmp")
    controller.configure(config, {"openai": "sk-typed"})
    controller.face = face = Face()
    try:
        set_setting("base_urls.anthropic", "http://127.0.0.1:9")
        set_setting("model", "claude-sonnet-5-5")
        save_key("anthropic", "sk-new")
        await controller.submit("/model")
        assert controller.config.base_urls == {"anthropic": "http://127.0.0.1:9"}
        assert controller.services.models is not None
        assert controller.services.models.default == "claude-sonnet-5-5"
        assert controller.config.space == "given"
        assert controller.keys == {"openai": "sk-typed", "anthropic": "sk-new"}
        await asyncio.to_thread(own_configuration.write_text, "model = [")
        await controller.submit("/help")
        assert "The new configuration was not applied." in face.shown[-2]
        assert controller.config.model == "claude-sonnet-5-5"
    finally:
        await controller.close()
        await connection.close()
