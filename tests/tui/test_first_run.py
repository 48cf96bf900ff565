"""A new user gets from nothing to a model that can be asked."""

import stat
from pathlib import Path

import pytest

from sapwood.app.connection import connect
from sapwood.config.api_keys import keys_file, load_keys
from sapwood.config.config_file import Config
from sapwood.tui.app import SapwoodApp
from tests.tui.stage import Stage, until


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without any key or configuration."""
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("SAPWOOD_MODEL", raising=False)
    monkeypatch.setenv("SAPWOOD_CONFIG", str(tmp_path / "sapwood" / "config.toml"))


async def test_a_model_is_chosen_and_its_key_stored_for_its_owner_alone() -> None:
    connection = await connect(":memory:")
    app = SapwoodApp(connection, Config(database=":memory:"), {}, "project")
    async with app.run_test(size=(120, 36)) as pilot:
        stage = Stage(app, pilot)
        await stage.sees("Welcome to Sapwood")
        await pilot.press("enter")
        await stage.sees("Paste your API key of Anthropic")
        await pilot.press("enter")
        await stage.sees("Enter an API key")
        await pilot.press(*"sk-secret", "enter")
        await until(lambda: app.screen is app.conversation)
        assert "sk-secret" not in stage.screen()
        assert app.controller.config.model == "claude-sonnet-5-5"
    assert load_keys() == {"anthropic": "sk-secret"}
    assert stat.S_IMODE(keys_file().stat().st_mode) == 0o600
    await app.controller.close()
    await connection.close()


async def test_a_server_on_this_machine_needs_no_key() -> None:
    connection = await connect(":memory:")
    app = SapwoodApp(connection, Config(database=":memory:"), {}, "project")
    async with app.run_test(size=(120, 36)) as pilot:
        stage = Stage(app, pilot)
        await stage.sees("another server")
        await pilot.press("up", "enter")
        await stage.sees("Address and model")
        await pilot.press(*"http://localhost:1/v1", "space", *"llama", "enter")
        await until(lambda: app.screen is app.conversation)
        assert app.controller.config.model == "compatible:llama"
    await app.controller.close()
    await connection.close()


async def test_without_a_model_one_can_look_around_and_is_told_what_is_missing() -> None:
    connection = await connect(":memory:")
    app = SapwoodApp(connection, Config(database=":memory:"), {}, "project")
    async with app.run_test(size=(120, 36)) as pilot:
        stage = Stage(app, pilot)
        await stage.sees("Welcome to Sapwood")
        await pilot.press("escape")
        await stage.type("Hello?")
        await stage.sees("No model is chosen.")
        assert app.conversation.composer.text == "Hello?"
    await app.controller.close()
    await connection.close()
