"""Starts the terminal screens, on the last conversation of this folder or on a new one."""

import asyncio
import logging
import os
import select
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

from msgspec import Struct, structs

from sapwood.app.connection import Connection
from sapwood.config.api_keys import load_keys
from sapwood.config.config_file import Config
from sapwood.conversation.agent_lookup import find
from sapwood.conversation.configured_models import require_model
from sapwood.conversation.conversation_list import last_conversation
from sapwood.core.errors import SapwoodError
from sapwood.core.ids import AgentId
from sapwood.redaction import mask_secrets


class ScreenExit(Struct, frozen=True):
    """What is left when the screen closes: the shown agent."""

    agent: AgentId | None


async def open_screen(
    connection: Connection,
    config: Config,
    typed: str = "",
    model: str = "",
    *,
    inline: bool = False,
) -> ScreenExit:
    """Runs the screen until the person leaves it.

    `typed` names the conversation to open; without it, the last one of the current folder opens.
    With a `model`, that one opens only if the model answers in it. Raises `Failure` if the model
    cannot be used, and the exception that ended the screen, if one did.
    """
    from sapwood.tui.app import SapwoodApp
    from sapwood.tui.terminal import restored_title

    is_remote = connection.server is not None
    folder = connection.address if is_remote else os.getcwd()
    keys = load_keys()
    if model and is_remote:
        raise SapwoodError(
            "Models are configured on the server. Open a conversation, then type: /model"
        )
    if model:
        await asyncio.to_thread(require_model, model, config, keys)
        config = structs.replace(config, model=model)
    if typed:
        agent = await find(connection, typed)
    else:
        agent = await last_conversation(connection, None if is_remote else folder, model)
    streams = (sys.stdin, sys.stdout, sys.stderr)  # it draws on the last one
    if not all(stream is not None and stream.isatty() for stream in streams):
        raise SapwoodError(
            'The screen needs a terminal. Without one, type: sapwood run -p "PROMPT"'
        )
    kind = SapwoodApp
    if inline:
        if os.name == "nt":
            raise SapwoodError("--inline needs a Unix terminal. For the full screen, type: sapwood")
        from sapwood.tui.inline.app import InlineApp

        kind = InlineApp
    app = kind(connection, config, keys, folder, agent)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, app.exit)
    watch = asyncio.create_task(_terminal_closed(app.exit))
    try:
        with warnings_shown(app.notice), restored_title():
            await app.run_async(inline=inline, mouse=config.screen.mouse)
    finally:
        watch.cancel()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)
        await app.controller.close()
    if app.failure is not None:
        raise app.failure
    return ScreenExit(app.controller.agent)


async def _terminal_closed(leave: Callable[[], None]) -> None:
    """Calls `leave` when the terminal is gone: SIGHUP reaches only processes that it controls."""
    terminal = select.poll()
    terminal.register(sys.__stdin__ or 0, 0)
    while not any(what & select.POLLHUP for _, what in terminal.poll(0)):  # noqa: ASYNC110 (the driver's thread reads it)
        await asyncio.sleep(1)
    leave()


class _WarningHandler(logging.Handler):
    """Passes warnings to the event loop, from any thread, with secrets masked."""

    def __init__(self, show: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._loop = asyncio.get_running_loop()
        self._show = show

    def emit(self, record: logging.LogRecord) -> None:
        text = mask_secrets(record.getMessage())
        with suppress(RuntimeError):  # the loop is closed: the screen has ended
            self._loop.call_soon_threadsafe(self._show, text)


@contextmanager
def warnings_shown(show: Callable[[str], None]) -> Generator[None]:
    """Passes each warning that Sapwood logs inside the block to `show`."""
    logger, handler = logging.getLogger("sapwood"), _WarningHandler(show)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
