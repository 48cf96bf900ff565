"""A keyboard whose keys arrive in bursts: bytes that Textual's own driver reads and parses."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from textual import events
from textual.drivers.linux_inline_driver import LinuxInlineDriver
from textual.message import Message

from sapwood.tui.app import SapwoodApp

_PATIENCE = 60.0
_LAST = "\x1b[I"
"""What a terminal sends when its window gets the focus: it follows each burst as its end."""


class _Driver(LinuxInlineDriver):
    """Reads keys from a pipe. The application has another driver to write with."""

    def __init__(self, app: SapwoodApp, reading: int) -> None:
        super().__init__(app, mouse=False)  # pyright: ignore[reportUnknownMemberType]
        self.fileno = reading
        self.ended = asyncio.Event()

    def process_message(self, message: Message) -> None:
        super().process_message(message)
        if isinstance(message, events.AppFocus):
            asyncio.run_coroutine_threadsafe(self._end(), self._loop)

    async def _end(self) -> None:
        self.ended.set()


class Keyboard:
    """Sends bursts of keys to one application."""

    def __init__(self, app: SapwoodApp, driver: _Driver, writing: int) -> None:
        self._app, self._driver, self._writing = app, driver, writing

    async def burst(self, keys: str) -> None:
        """Sends keys in one write, which one read takes, and waits until they are handled."""
        self._driver.ended.clear()
        os.write(self._writing, f"{keys}{_LAST}".encode())
        async with asyncio.timeout(_PATIENCE):
            await self._driver.ended.wait()
            await self._app.key_order.handled()


@asynccontextmanager
async def keyboard(app: SapwoodApp) -> AsyncGenerator[Keyboard]:
    """A keyboard at an application that runs."""
    reading, writing = os.pipe()
    driver = _Driver(app, reading)
    reader = asyncio.create_task(asyncio.to_thread(driver.run_input_thread))
    try:
        yield Keyboard(app, driver, writing)
    finally:
        driver.exit_event.set()
        await reader
        os.close(reading)
        os.close(writing)
