"""A real chromium, a real server process and a scripted model, shared by the stories.

Each story has a conversation and a browser context of its own.
"""

import os
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

import pytest

pytest.importorskip("playwright", reason="playwright is not installed (group: test)")

from playwright.sync_api import Browser, expect, sync_playwright

from scripted_model import ScriptedModel
from tests.web.stage import ServerProcess, Stage, environ_of
from tools.browser import NO_CHROMIUM, find_chromium

expect.set_options(timeout=60_000)
SLOWNESS = int(os.environ.get("SAPWOOD_WEB_SLOW", "0"))
"""Milliseconds that each answer takes longer, to find what acts too early on a slow line."""
KEY = "sk-ant-scripted-0123456789"


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    """Debian's chromium. It is closed after each file: its event loop would disturb other tests."""
    chromium = find_chromium()
    if chromium is None:
        pytest.skip(NO_CHROMIUM)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[ServerProcess]:
    """`sapwood serve` in a process and a home of its own, with a scripted model."""
    home = tmp_path_factory.mktemp("home")
    (home / "project").mkdir()
    subprocess.run(["git", "init", "-q", home / "project"], check=True)  # for checkpoints
    with ScriptedModel(retry_after=0.01) as model:
        file = home / ".config/sapwood/config.toml"
        file.parent.mkdir(parents=True)
        file.write_text(
            f'model = "claude-sonnet-5-5"\n[base_urls]\nanthropic = "{model.anthropic_url}"\n'
        )
        running = ServerProcess(home, environ_of(home, ANTHROPIC_API_KEY=KEY), model)
        running.start()
        yield running
        running.stop()


@pytest.fixture
def stage(browser: Browser, server: ServerProcess, tmp_path: Path) -> Generator[Stage]:
    """A signed-in page, with everything that went wrong in it."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(60_000)
    page = context.new_page()
    if SLOWNESS:
        no_limit = {"offline": False, "downloadThroughput": -1, "uploadThroughput": -1}
        line = cast("Any", context.new_cdp_session(page))
        line.send("Network.emulateNetworkConditions", {**no_limit, "latency": SLOWNESS})
    story = Stage(server, context, page)
    story.sign_in()
    yield story
    page.unroute_all(behavior="wait")  # a handler that runs on would fail in the next test
    context.close()
    assert story.errors == []
    assert story.foreign_requests == []
