"""Types the questions of a newcomer into the search of the built site, in a real chromium."""

import re
import threading
import tomllib
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright

QUESTIONS = Path(__file__).with_name("questions.toml")
FIRST = 3
"""The answer must be among so many pages."""
_PICTURES = ("index", "docs/guides/keys", "docs/tutorials/tend-claude-code", "docs/troubleshooting")
_WIDTHS = (1280, 390)


class Found(NamedTuple):
    """A question and the pages that the search put first."""

    question: str
    pages: tuple[str, ...]
    is_answered: bool


class SearchCheck:
    """The built site, open in a browser."""

    def __init__(self, browser: Browser, address: str) -> None:
        self._browser = browser
        self._address = address
        self.foreign_requests: list[str] = []

    def ask(self, question: str, wanted: list[str]) -> Found:
        """Types a question into the search and reads the first results."""
        page = self._open("index", 1280)
        field = page.locator("input[role=combobox]")
        field.wait_for(state="attached")  # then the script listens for the click
        page.locator(".md-search__button").click()
        field.fill(question)
        status = page.locator("[role=status]", has_text=re.compile("result", re.IGNORECASE))
        status.wait_for()
        links = page.locator("[role=listbox] a").evaluate_all(
            "links => links.map(link => new URL(link.href).pathname)"
        )
        pages = [re.sub(r"^/(?:docs/)?|\.html$", "", link) for link in links]
        first = tuple(dict.fromkeys(pages))[:FIRST]
        page.context.close()
        return Found(question, first, any(each in wanted for each in first))

    def take_pictures(self, folder: Path) -> None:
        """Pictures of some pages at two widths."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in _PICTURES:
            for width in _WIDTHS:
                page = self._open(name, width)
                page.screenshot(path=folder / f"{name.replace('/', '-')}-{width}.png")
                page.context.close()

    def _open(self, name: str, width: int) -> Page:
        context = self._browser.new_context(viewport={"width": width, "height": 900})
        page = context.new_page()
        page.on("request", lambda sent: self._note(sent.url))
        page.goto(f"{self._address}/{name}.html", wait_until="networkidle")
        return page

    def _note(self, url: str) -> None:
        if not url.startswith((self._address, "data:", "blob:")):
            self.foreign_requests.append(url)


def ask_questions(
    site: Path, chromium: str, pictures: Path | None
) -> tuple[list[Found], list[str]]:
    """The results of all questions, and the requests that left the site."""
    asked = tomllib.loads(QUESTIONS.read_text(encoding="utf-8"))["question"]
    with _served(site) as address, sync_playwright() as player:
        browser = player.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        check = SearchCheck(browser, address)
        found = [check.ask(each["asks"], each["pages"]) for each in asked]
        if pictures is not None:
            check.take_pictures(pictures)
        browser.close()
    return found, check.foreign_requests


class _Quiet(SimpleHTTPRequestHandler):
    """Serves files and prints nothing."""

    def log_message(self, format: str, *args: Any) -> None:
        """Prints nothing."""


@contextmanager
def _served(site: Path) -> Generator[str]:
    """Serves the site on loopback; yields its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
