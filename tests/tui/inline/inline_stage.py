"""Runs the inline screen in a test, on a terminal that keeps what was written to it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from textual import events
from textual.driver import Driver
from textual.drivers.headless_driver import HeadlessDriver
from textual.geometry import Size
from textual.pilot import Pilot

from sapwood.app.connection import Connection, connect
from sapwood.config.config_file import Config, ContextConfig, ScreenConfig
from sapwood.core.ids import AgentId
from sapwood.tui.inline.app import InlineApp
from scripted_model import ScriptedModel
from tests.tui.inline.terminal import PlainTerminal
from tests.tui.stage import MODEL, running, until

# pyright: reportPrivateUsage=false

SHELL = ("$ ls", "README.md", "$ sapwood --inline")


class _Written(HeadlessDriver):
    """Draws inline, on a terminal in memory."""

    terminal: PlainTerminal

    @property
    def is_inline(self) -> bool:
        return True

    @property
    def is_headless(self) -> bool:
        return False

    def write(self, data: str) -> None:
        self.terminal.write(data)
        self.terminal.frames.append("\n".join(self.terminal.everything))
        if "\x1b[6n" in data:
            assert isinstance(self._app, InlineApp)
            self._loop.call_soon(self._app.cursor_reported, self.terminal.y)

    def stop_application_mode(self) -> None:
        assert isinstance(self._app, InlineApp)
        self.write(self._app.scrollback.removed())


class _App(InlineApp):
    terminal: PlainTerminal

    def _build_driver(
        self, headless: bool, inline: bool, mouse: bool, size: tuple[int, int] | None
    ) -> Driver:
        driver = _Written(self, mouse=False, size=size)
        driver.terminal = self.terminal
        self._driver = driver
        return driver


class InlineStage:
    """The running inline screen, as a test uses it."""

    def __init__(
        self, app: _App, pilot: Pilot[object], terminal: PlainTerminal, server: ScriptedModel
    ) -> None:
        self.app, self.pilot, self.terminal, self.server = app, pilot, terminal, server

    @property
    def screen(self) -> str:
        """What is on the screen."""
        return "\n".join(self.terminal.lines)

    @property
    def text(self) -> str:
        """Scrollback and screen."""
        return "\n".join(self.terminal.everything)

    async def type(self, text: str) -> None:
        """Types a line and sends it."""
        self.app.conversation.composer.put(text)
        await self.pilot.press("enter")

    async def sees(self, words: str, seconds: float = 120.0) -> None:
        """Waits until these words are in the scrollback or on the screen."""
        await until(lambda: words in self.text, seconds, lambda: self.text)

    async def misses(self, words: str) -> None:
        """Waits until these words are not on the screen."""
        await until(lambda: words not in self.screen, 120.0, lambda: self.text)

    async def resize(self, width: int, height: int) -> None:
        """Gives the terminal another size."""
        self.terminal.resize(width, height)
        size = Size(width, height)
        self.app.post_message(events.Resize(size, size))
        await until(lambda: self.app.scrollback.fits(size))
        await self.pilot.pause(0.2)


@asynccontextmanager
async def on_inline_stage(
    agent: AgentId | None = None,
    *,
    connection: Connection | None = None,
    size: tuple[int, int] = (80, 24),
    delay: float = 0.0,
) -> AsyncGenerator[InlineStage]:
    """The conversation, running against a scripted model."""
    connected = connection or await connect(":memory:")
    terminal = PlainTerminal(*size)
    terminal.write("".join(f"{line}\r\n" for line in SHELL))
    with ScriptedModel(delay=delay) as server:
        config = Config(
            database=":memory:",
            model=MODEL,
            base_urls={"anthropic": server.anthropic_url},
            screen=ScreenConfig(),
            context=ContextConfig(default_prompt=False, instructions=False),
        )
        app = _App(connected, config, {"anthropic": "sk-test"}, "/tmp/project", agent)
        app.terminal = terminal
        try:
            async with running(app, size) as stage:
                yield InlineStage(app, stage.pilot, terminal, server)
        finally:
            if connection is None:
                await connected.close()
        assert server.rejections == []
