"""Runs the screen in a test, with a database in memory, a scripted model and a pilot."""

import asyncio
import unicodedata
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from textual import events
from textual.keys import REPLACED_KEYS, _character_to_key, _get_unicode_name_from_key
from textual.pilot import Pilot

from sapwood.app.connection import Connection, connect
from sapwood.config.config_file import Config, ContextConfig, ScreenConfig
from sapwood.core.ids import AgentId
from sapwood.tui.app import SapwoodApp
from sapwood.tui.conversation_screen import ConversationScreen
from sapwood.tui.screens.permission_page import PermissionPage
from sapwood.tui.transcript.widget import Transcript
from scripted_model import ScriptedModel

# pyright: reportPrivateUsage=false

MODEL = "claude-sonnet-5-5"


class SettledPilot(Pilot[object]):
    """Presses keys in one burst and waits until they are handled, however slow the machine is.

    It reads a permission question first, as a person does.
    """

    async def press(self, *keys: str) -> None:
        app = self.app
        assert isinstance(app, SapwoodApp)
        page = app.screen
        if isinstance(page, PermissionPage):
            await until(lambda: page is not app.screen or page.takes_answers)
        for key in keys:
            app.post_message(_key_event(key))
        await app.key_order.handled()
        if app.is_running:
            await self.pause()


def _key_event(key: str) -> events.Key:
    name = _character_to_key(key) if len(key) == 1 and not key.isalnum() else key
    try:
        character = unicodedata.lookup(_get_unicode_name_from_key(REPLACED_KEYS.get(name, name)))
    except KeyError:
        character = name if len(name) == 1 else None
    return events.Key(name, character)


class Stage:
    """The running screen, as a test uses it."""

    def __init__(
        self, app: SapwoodApp, pilot: Pilot[object], server: ScriptedModel | None = None
    ) -> None:
        self.app = app
        self.pilot = pilot
        self._server = server

    @property
    def server(self) -> ScriptedModel:
        assert self._server is not None
        return self._server

    @property
    def conversation(self) -> ConversationScreen:
        return self.app.conversation

    @property
    def transcript(self) -> Transcript:
        return self.conversation.transcript

    def lines(self) -> list[str]:
        """The lines of the transcript, without the scrollbar."""
        height = self.transcript.size.height
        return [self.transcript.render_line(y).text[:-1].rstrip() for y in range(height)]

    def text(self) -> str:
        """The text of the transcript."""
        return "\n".join(self.lines())

    def screen(self) -> str:
        """Everything on the screen."""
        compositor = self.app.screen._compositor
        return "\n".join(strip.text.rstrip() for strip in compositor.render_strips())

    def key(self, name: str) -> events.Key:
        """The event of a key, to post without waiting until it is handled."""
        return _key_event(name)

    async def type(self, text: str) -> None:
        """Types a line and sends it."""
        self.conversation.composer.put(text)
        await self.pilot.press("enter")

    async def confirm(self, text: str) -> None:
        """Types a command that the screen asks about, and sends it again."""
        await self.type(text)
        await self.sees("Press enter again")
        await self.pilot.press("enter")

    async def sees(self, words: str, seconds: float = 120.0) -> None:
        """Waits until these words are on the screen."""
        await until(lambda: words in self.screen(), seconds, lambda: self.screen())


async def until(
    condition: Callable[[], bool], seconds: float = 120.0, shown: Callable[[], str] = str
) -> None:
    """Waits until a condition is true. Raises `AssertionError` after `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            while not condition():  # noqa: ASYNC110 (Textual has no event for a drawn screen)
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"not within {seconds} s:\n{shown()}") from None


@asynccontextmanager
async def running(
    app: SapwoodApp, size: tuple[int, int] = (120, 36), server: ScriptedModel | None = None
) -> AsyncGenerator[Stage]:
    """Runs an application, and ends its workers before its widgets, which they may look for."""
    try:
        async with app.run_test(size=size):
            pilot = SettledPilot(app)
            await pilot.pause()
            try:
                yield Stage(app, pilot, server)
            finally:
                app.workers.cancel_all()
                await asyncio.gather(*(each.wait() for each in app.workers), return_exceptions=True)
    finally:
        await app.controller.close()


@asynccontextmanager
async def on_stage(
    agent: AgentId | None = None,
    *,
    connection: Connection | None = None,
    size: tuple[int, int] = (120, 36),
    delay: float = 0.0,
    screen: ScreenConfig | None = None,
    folder: str = "/tmp/project",
) -> AsyncGenerator[Stage]:
    """The screen, running against a scripted model."""
    connected = connection or await connect(":memory:")
    with ScriptedModel(delay=delay) as server:
        config = Config(
            database=":memory:",
            model=MODEL,
            base_urls={"anthropic": server.anthropic_url},
            screen=screen or ScreenConfig(),
            context=ContextConfig(default_prompt=False, instructions=False),
        )
        app = SapwoodApp(connected, config, {"anthropic": "sk-test"}, folder, agent)
        try:
            async with running(app, size, server) as stage:
                yield stage
        finally:
            if connection is None:
                await connected.close()
        assert server.rejections == []
