"""The server process and the page of a story: what a person does, and what they see."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from sapwood.config.server_tokens import SCOPES, TokenScope, TokenStore
from scripted_model import ScriptedModel
from tests.web.axe import violations

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Locator, Page, Route


THEMES = [
    "dark",
    pytest.param("light", marks=pytest.mark.night),
    pytest.param("contrast", marks=pytest.mark.night),
]


WIDTHS = {390: 844, 1280: 800, 1920: 1080}
"""The sizes of a phone, a laptop and a large screen."""
PICTURES = os.environ.get("SAPWOOD_WEB_PICTURES", "")


def environ_of(home: Path, **more: str) -> dict[str, str]:
    """The variables of a process with this home, without API keys of this machine."""
    return {
        **{k: v for k, v in os.environ.items() if not k.startswith("SAPWOOD_") and "_KEY" not in k},
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local/share"),
        "XDG_STATE_HOME": str(home / ".local/state"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        **more,
    }


class ServerProcess:
    """`sapwood serve`, which can be stopped and started again on the same port."""

    def __init__(self, home: Path, environ: dict[str, str], model: ScriptedModel) -> None:
        self.home = home
        self.environ = environ
        self.model = model
        self.address = ""
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Starts the server and waits for its address."""
        port = self.address.rpartition(":")[2] or "0"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "sapwood.cli", "serve", "--port", port],
            cwd=self.home / "project",
            env=self.environ,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stderr is not None
        line = self._process.stderr.readline()
        found = re.match(r"Serving on (\S+)\. ", line)
        assert found, line + self._process.stderr.read()
        self.address = found[1]

    def stop(self) -> None:
        """Stops the server as Ctrl-C does."""
        if self._process is not None:
            self._process.terminate()
            assert self._process.wait(30) in (0, 130)
            assert self._process.stderr is not None
            self._process.stderr.close()
            self._process = None

    def run(self, *args: str) -> str:
        """Runs another command of `sapwood` in the server's home."""
        done = subprocess.run(
            [sys.executable, "-m", "sapwood.cli", *args],
            cwd=self.home / "project",
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=90,
            check=True,
        )
        return done.stdout

    def record(self, turns: int, reply: str = "Answer {}.") -> str:
        """Writes a conversation into the server's database, from this process. Returns its id."""
        import sapwood

        with sapwood.open_sync(self.home / ".local/share/sapwood/sapwood.db") as db:
            agent = db.start("long", model="claude-sonnet-5-5", cap=0)
            for number in range(1, turns + 1):
                agent.record(f"Question {number}?", reply.format(number))
            return agent.id

    def new_token(self, *scopes: TokenScope) -> str:
        """A token for everything, or with these scopes."""
        file = self.home / ".local/share/sapwood/server-tokens.json"
        return TokenStore(file).create("ada", "local", scopes or SCOPES)[0]


class Stage:
    """A page with a conversation."""

    def __init__(self, server: ServerProcess, context: "BrowserContext", page: "Page") -> None:
        self.server = server
        self.context = context
        self.page = page
        self.errors: list[str] = []
        self.foreign_requests: list[str] = []
        self.watch(page)

    def watch(self, page: "Page") -> None:
        """Notes errors of the page, and requests to other origins."""
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on(
            "console",
            lambda line: (
                self.errors.append(line.text)
                if line.type == "error" and "Failed to load resource" not in line.text
                else None
            ),
        )
        page.on(
            "request",
            lambda sent: (
                None
                if sent.url.startswith((self.server.address, "data:"))
                else self.foreign_requests.append(sent.url)
            ),
        )

    def hold(self, url: str) -> "list[Route]":
        """Holds the first request to this address, which then stands in the list."""
        held: list[Route] = []
        self.page.route(url, lambda route: route.continue_() if held else held.append(route))
        return held

    def sign_in(self) -> None:
        """Signs in with a token for everything, without loading the page that takes it."""
        answer = self.context.request.post(
            f"{self.server.address}/sign-in",
            data={"token": self.server.new_token()},
            headers={"Origin": self.server.address},
        )
        assert answer.ok, answer.text()
        self.page.goto(self.server.address)
        self.page.wait_for_selector("#main")

    def inspect(self, name: str) -> None:
        """The document fits the window and axe-core finds nothing, at every width.

        Writes pictures to the folder that SAPWOOD_WEB_PICTURES names.
        """
        before = self.page.viewport_size
        for width, height in WIDTHS.items():
            self.page.set_viewport_size({"width": width, "height": height})
            across = self.page.evaluate(
                "() => [...document.querySelectorAll('body *')].filter((each) => "
                "each.checkVisibility() && !each.closest('.vh, .opts, .pane pre, .code') && "
                "each.getBoundingClientRect().right > innerWidth + 1)"
                ".map((each) => each.outerHTML.slice(0, 160))"
            )
            if PICTURES:
                self.page.screenshot(path=Path(PICTURES) / f"{name}-{width}.png")
            assert not across, (name, width, across[:4])
            below = self.page.evaluate("() => document.documentElement.scrollHeight - innerHeight")
            assert below == 0, (name, width, below)
            found = violations(self.page)
            assert not found, (name, width, found)
        if before:
            self.page.set_viewport_size(before)

    @property
    def agent(self) -> str:
        """The id of the shown conversation."""
        return self.page.url.rpartition("/c/")[2].partition("?")[0]

    def begin(self, *turns: tuple[str, str]) -> None:
        """Starts a conversation with these turns: prompts and what the model says."""
        self.page.goto(f"{self.server.address}/?new=1")
        for number, (prompt, reply) in enumerate(turns):
            self.prompt(f"{prompt} [[say: {reply}]]")
            if number == 0:
                self.page.wait_for_url("**/c/*")
            self.see(reply)
            self.idle()

    def type(self, text: str) -> None:
        """Types into the composer and presses Enter."""
        self.page.fill("#message", text)
        self.page.press("#message", "Enter")

    def prompt(self, text: str) -> None:
        """Sends a prompt."""
        self.type(text)

    def command(self, line: str) -> None:
        """Gives a command and waits until the composer is empty again."""
        self.type(line)
        try:
            expect(self.page.locator("#message")).to_have_value("")
        except AssertionError as error:  # a refused command stays in the composer
            raise AssertionError(self.page.locator("#says").inner_text()) from error

    def see(self, words: str) -> "Locator":
        """Waits until a reply has these words."""
        found = self.page.locator("#rows .md", has_text=words).last
        found.wait_for()
        return found

    def idle(self) -> None:
        """Waits until no turn is open and nothing streams."""
        expect(self.page.locator("#interrupt")).to_be_hidden()
        expect(self.page.locator("#stream > *")).to_have_count(0)

    def top_of(self, selector: str) -> float:
        """Where an element is on the screen."""
        box = self.page.locator(selector).first.bounding_box()
        assert box is not None
        return box["y"]
