"""The page that asks for another API key takes a key, and nothing that was typed for the chat."""

from collections.abc import Sequence
from types import SimpleNamespace

import pytest

from sapwood.conversation.model_setup import ModelSetup
from sapwood.tui.screens.modal_page import KeyPage
from tests.tui.stage import on_stage


async def test_the_key_page_opens_only_after_the_typing_stops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = SimpleNamespace(monotonic=lambda: 100.0)  # no time passes between two letters
    monkeypatch.setattr("sapwood.tui.conversation_screen.time", clock)
    async with on_stage(delay=0.02) as stage:
        await stage.type("Hi. [[status: 401]]")
        for letter in "/help me":
            await stage.pilot.press(letter)
        await stage.sees("API key")
        await stage.pilot.pause(0.2)
        assert not isinstance(stage.app.screen, KeyPage)
        clock.monotonic = lambda: 200.0
        await stage.sees("Another API key?")
        assert stage.conversation.composer.text == "/help me"


@pytest.mark.parametrize("typed", ["/help", "sk and more"])
async def test_the_key_page_sends_no_command_and_no_sentence(
    monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    sent: list[str] = []

    async def models(_setup: ModelSetup, _model: str, key: str) -> Sequence[str]:
        sent.append(key)
        return ["one"]

    def keep(_account: str, key: str) -> None:
        sent.append(key)

    monkeypatch.setattr(ModelSetup, "_list", models)
    monkeypatch.setattr("sapwood.conversation.model_setup.save_key", keep)
    async with on_stage() as stage:
        setup = ModelSetup(stage.conversation.controller.config)
        stage.app.push_screen(KeyPage(setup, "claude-sonnet-5-5", "The key was rejected."))
        await stage.sees("Another API key?")
        await stage.pilot.press(*typed, "enter")
        await stage.sees("This is not an API key")
        assert sent == []
