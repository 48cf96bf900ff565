"""A new user gets from nothing to a model that can be asked."""

import stat
from pathlib import Path

import pytest
from textual.widgets import Input

from sapwood.app.connection import connect
from sapwood.config.api_keys import keys_file, load_keys, save_key
from sapwood.config.config_file import Config
from sapwood.tui.app import SapwoodApp
from scripted_model import ScriptedModel
from tests.tui.stage import MODEL, running, until


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without any key or configuration."""
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("SAPWOOD_MODEL", raising=False)
    monkeypatch.setenv("SAPWOOD_CONFIG", str(tmp_path / "sapwood" / "config.toml"))


async def test_a_model_is_chosen_and_its_key_stored_for_its_owner_alone() -> None:
    connection = await connect(":memory:")
    with ScriptedModel(key="sk-secret") as server:
        urls = {"anthropic": server.anthropic_url}
        config = Config(database=":memory:", base_urls=urls)
        app = SapwoodApp(connection, config, {}, "project")
        async with running(app) as stage:
            pilot = stage.pilot
            await stage.sees("Welcome to Sapwood")
            await pilot.press("enter")
            await stage.sees("Paste your API key for Anthropic")
            await pilot.press("enter")
            await stage.sees("Enter an API key")
            await pilot.press(*"sk-wrong", "enter")
            await stage.sees("Anthropic rejected this API key. It was not stored.")
            assert load_keys() == {}
            await pilot.press(*"sk-secret", "enter")
            await stage.sees("The API key works")
            assert "sk-secret" not in stage.screen()
            assert app.controller.config.model == "claude-sonnet-5-5"
    assert load_keys() == {"anthropic": "sk-secret"}
    assert stat.S_IMODE(keys_file().stat().st_mode) == 0o600
    await connection.close()


async def test_without_a_network_the_key_is_kept_and_the_screen_says_so() -> None:
    connection = await connect(":memory:")
    with ScriptedModel() as server:
        urls = {"anthropic": server.anthropic_url}
    app = SapwoodApp(connection, Config(database=":memory:", base_urls=urls), {}, "project")
    async with running(app) as stage:
        pilot = stage.pilot
        await stage.sees("Welcome to Sapwood")
        await pilot.press("enter")
        await stage.sees("Paste your API key for Anthropic")
        await pilot.press(*"sk-secret", "enter")
        await stage.sees("The API key is stored, but could not be tested:")
    assert load_keys() == {"anthropic": "sk-secret"}
    await connection.close()


async def test_a_server_on_this_machine_needs_no_key() -> None:
    connection = await connect(":memory:")
    app = SapwoodApp(connection, Config(database=":memory:"), {}, "project")
    async with running(app) as stage:
        pilot = stage.pilot
        await stage.sees("another OpenAI-compatible server")
        await pilot.press("up", "enter")
        await stage.sees("Address and model")
        await pilot.press(*"http://localhost:1/v1", "space", *"llama", "enter")
        await until(lambda: app.screen is app.conversation)
        assert app.controller.config.model == "compatible:llama"
    await connection.close()


async def test_a_server_on_this_machine_answers_without_a_restart() -> None:
    connection = await connect(":memory:")
    with ScriptedModel() as server:
        server.replies(["Hello from this machine."])
        app = SapwoodApp(connection, Config(database=":memory:"), {}, "/tmp/project")
        async with running(app) as stage:
            pilot = stage.pilot
            await stage.sees("another OpenAI-compatible server")
            await pilot.press("up", "enter")
            await stage.sees("Address and model")
            app.screen.query_one(Input).value = f"{server.openai_url} llama"
            await pilot.press("enter")
            await until(lambda: app.screen is app.conversation)
            await stage.type("Hello?")
            await stage.sees("Hello from this machine.")
    await connection.close()


async def test_a_mistyped_model_is_not_taken() -> None:
    connection = await connect(":memory:")
    app = SapwoodApp(connection, Config(database=":memory:"), {}, "project")
    async with running(app) as stage:
        pilot = stage.pilot
        await stage.sees("Welcome to Sapwood")
        await pilot.press(*"banana", "enter")
        await stage.sees("There is no model 'banana'")
        await pilot.press(*["backspace"] * 6)
        await pilot.press(*"gpt-banana", "enter")
        await stage.sees("does not list a model 'gpt-banana'")
        await stage.sees("Press enter again to use it")
        await pilot.press("enter")
        await stage.sees("Paste your API key for OpenAI")
        await pilot.press("ctrl+c")
        await until(lambda: app.screen is app.conversation)
    await connection.close()


async def test_after_esc_a_model_can_be_chosen_by_its_command() -> None:
    connection = await connect(":memory:")
    keys = {"openai": "sk-test-key"}
    app = SapwoodApp(connection, Config(database=":memory:"), keys, "project")
    async with running(app) as stage:
        pilot = stage.pilot
        await stage.sees("Welcome to Sapwood")
        await pilot.press("escape")
        await stage.type("/model gpt-banana")
        await stage.sees("does not list a model 'gpt-banana'")
        app.conversation.composer.put("")
        await stage.type("/model gpt-5")
        await stage.sees("gpt-5 ·")
        state = await app.controller.state()
        assert state is not None
        assert state.settings.model == "gpt-5"
    await connection.close()


async def test_a_rejected_key_can_be_corrected_where_it_failed() -> None:
    connection = await connect(":memory:")
    with ScriptedModel(key="sk-the-right-one") as server:
        config = Config(
            database=":memory:", model=MODEL, base_urls={"anthropic": server.anthropic_url}
        )
        save_key("anthropic", "sk-the-wrong-one")
        app = SapwoodApp(connection, config, load_keys(), "/tmp/project")
        async with running(app) as stage:
            pilot = stage.pilot
            await stage.type("Hello?")
            await stage.sees("Anthropic rejected the API key (from keys.toml).")
            await stage.sees("Paste your API key for Anthropic")
            await pilot.press(*"sk-the-wrong-one", "enter")
            await stage.sees("Anthropic rejected this API key. It was not stored.")
            await pilot.press(*"sk-the-right-one", "enter")
            await stage.sees("The API key works")
            server.replies(["Hello!"])
            await pilot.press("up", "enter")
            await stage.sees("Hello!")
        assert load_keys() == {"anthropic": "sk-the-right-one"}
    await connection.close()


async def test_a_message_without_a_model_brings_the_welcome_back() -> None:
    connection = await connect(":memory:")
    with ScriptedModel(key="sk-secret") as server:
        server.replies(["Hello!"])
        config = Config(database=":memory:", base_urls={"anthropic": server.anthropic_url})
        app = SapwoodApp(connection, config, {}, "/tmp/project")
        async with running(app, (80, 24)) as stage:
            pilot = stage.pilot
            await stage.sees("Welcome to Sapwood")
            await pilot.press("escape")
            await stage.type("/mark HERE")  # a conversation that has no model
            await stage.type("Hello?")
            await stage.sees("Welcome to Sapwood")
            await pilot.press(*"claude-sonnet-5-5", "enter")
            await stage.sees("Paste your API key for Anthropic")
            await pilot.press(*"sk-secret", "enter")
            await until(lambda: app.screen is app.conversation)
            await pilot.press("enter")
            await stage.sees("Hello!")
    await connection.close()


async def test_a_model_without_a_key_asks_for_the_key() -> None:
    connection = await connect(":memory:")
    with ScriptedModel(key="sk-secret") as server:
        config = Config(database=":memory:", base_urls={"anthropic": server.anthropic_url})
        app = SapwoodApp(connection, config, {}, "/tmp/project")
        async with running(app, (80, 24)) as stage:
            pilot = stage.pilot
            await stage.sees("Welcome to Sapwood")
            await pilot.press("escape")
            await stage.type("/model claude-sonnet-5-5")
            await stage.sees("There is no API key for Anthropic.")
            await stage.sees("Paste your API key for Anthropic")
            await pilot.press(*"sk-secret", "enter")
            await stage.sees("Press enter to send it again.")
            await pilot.press("enter")
            await stage.sees("claude-sonnet-5-5 ·")
            state = await app.controller.state()
            assert state is not None
            assert state.settings.model == "claude-sonnet-5-5"
    await connection.close()


async def test_without_a_model_one_can_look_around_and_is_told_what_is_missing() -> None:
    connection = await connect(":memory:")
    app = SapwoodApp(connection, Config(database=":memory:"), {}, "project")
    async with running(app) as stage:
        pilot = stage.pilot
        await stage.sees("Welcome to Sapwood")
        await pilot.press("escape")
        await stage.type("Hello?")
        await stage.sees("No model is set. To choose one, type: /model claude-sonnet-5-5")
        assert app.conversation.composer.text == "Hello?"
    await connection.close()
