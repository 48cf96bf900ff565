"""A new user gets from `sapwood serve` to an answer on the page, without a terminal."""

import stat
import tomllib
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from scripted_model import ScriptedModel
from tests.web.stage import ServerProcess, Stage, environ_of

KEY = "sk-ant-right-0123456789"


@pytest.fixture
def newcomer(browser: Browser, tmp_path: Path) -> Generator[Stage]:
    """A signed-in page of a server without a model and without an API key."""
    (tmp_path / "project").mkdir()
    with ScriptedModel(key=KEY, models=["claude-sonnet-5-5"]) as model:
        file = tmp_path / ".config/sapwood/config.toml"
        file.parent.mkdir(parents=True)
        file.write_text(f'[base_urls]\nanthropic = "{model.anthropic_url}"\n')
        server = ServerProcess(tmp_path, environ_of(tmp_path, PATH="/usr/bin:/bin"), model)
        server.start()
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        context.set_default_timeout(20_000)
        stage = Stage(server, context, context.new_page())
        stage.sign_in()
        yield stage
        context.close()
        server.stop()
        assert stage.errors == []
        assert stage.foreign_requests == []


def test_a_key_is_tested_stored_for_its_owner_and_used_without_a_restart(newcomer: Stage) -> None:
    page, home = newcomer.page, newcomer.server.home
    page.wait_for_selector("#key-anthropic")
    expect(page.locator(".setup")).to_contain_text("Claude Code is not installed")
    newcomer.inspect("setup")
    row = page.locator(".pick li", has=page.locator("#key-anthropic"))
    page.fill("#key-anthropic", "sk-ant-wrong")
    page.press("#key-anthropic", "Enter")
    expect(row.locator(".said")).to_contain_text("rejected this API key. It was not stored.")
    keys = home / ".config/sapwood/keys.toml"
    assert not keys.exists()
    page.fill("#key-anthropic", KEY)
    page.press("#key-anthropic", "Enter")
    page.wait_for_selector("#message")
    assert tomllib.loads(keys.read_text()) == {"anthropic": KEY}
    assert stat.S_IMODE(keys.stat().st_mode) == 0o600
    expect(page.locator("#chip-model")).to_have_text("claude-sonnet-5-5")
    expect(page.locator("#chip-folder")).to_have_text("project")
    newcomer.inspect("welcome")
    page.set_viewport_size({"width": 390, "height": 844})
    empty = "box => [box.scrollHeight - box.clientHeight, getComputedStyle(box).overflowY]"
    assert page.locator("#message").evaluate(empty) == [0, "hidden"]
    page.set_viewport_size({"width": 1280, "height": 800})
    page.locator(".example").first.click()
    expect(page.locator("#message")).to_have_value("Explain this project to me in ten lines.")
    newcomer.prompt("Hello? [[say: Hello from the page.]]")
    newcomer.see("Hello from the page.")
    newcomer.idle()
    keys.write_text('anthropic = "sk-ant-ended"\n')  # read again, without a restart
    newcomer.prompt("Again? [[say: Never.]]")
    end = page.locator("#rows > article:last-child")
    expect(end).to_contain_text("rejected the API key (from keys.toml).Choose a model")
    expect(page.locator("#main")).not_to_contain_text("sapwood config")
    end.get_by_text("Choose a model").click()
    page.wait_for_url("**/setup")
    page.fill("#key-anthropic", KEY)
    page.press("#key-anthropic", "Enter")
    page.wait_for_selector("#message")
    assert tomllib.loads(keys.read_text()) == {"anthropic": KEY}


def test_a_server_is_found_and_a_change_in_a_shell_counts_without_a_restart(
    newcomer: Stage,
) -> None:
    page, server = newcomer.page, newcomer.server
    with ScriptedModel(models=["llama", "alpaca"]) as own:
        page.fill("#server", own.openai_url)
        page.click("[data-setup-look]")
        expect(page.locator("#server-model")).to_have_value("llama")
        page.press("#server-model", "Enter")
        page.wait_for_selector("#message")
        newcomer.prompt("Hello? [[say: Hello from a llama.]]")
        newcomer.see("Hello from a llama.")
    server.run("config", "set", "model", "compatible:alpaca")
    page.goto(f"{server.address}/?new=1")
    expect(page.locator("#chip-model")).to_have_text("compatible:alpaca")


def test_a_turn_that_lacks_a_key_ends_once_on_a_page_without_a_composer(newcomer: Stage) -> None:
    page, server = newcomer.page, newcomer.server
    server.run("config", "set", "model", "claude-sonnet-5-5")
    keys = server.home / ".config/sapwood/keys.toml"
    keys.write_text('anthropic = "sk-ant-ended"\n')
    keys.chmod(0o600)
    agent = server.record(1)
    page.goto(f"{server.address}/c/{agent}?view=context")
    expect(page.locator("#link")).to_contain_text("live")
    streams: list[str] = []
    page.on("request", lambda sent: streams.append(sent.url) if "/events" in sent.url else None)
    for _ in range(2):
        page.evaluate("document.querySelector('#live').textContent = ''")
        sent = page.context.request.post(
            f"{server.address}/v1/agents/{agent}/turns",
            data={"text": "Again?"},
            headers={"Origin": server.address},
        )
        assert sent.ok, sent.text()
        expect(page.locator("#live")).to_have_text("The turn failed.")
    expect(page.locator("#link")).to_contain_text("live")
    assert streams == []
