"""The full-screen application: themes, key order, the command palette and one conversation.

The themes: dark, light, and one of high contrast. `NO_COLOR` does without their colours.
"""

import os
import signal
from collections.abc import Iterable, Sequence
from queue import Full
from typing import ClassVar

from textual import events
from textual.app import App, SuspendNotSupported, SystemCommand
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.filter import LineFilter
from textual.screen import Screen
from textual.theme import Theme
from textual.worker import WorkerFailed

from sapwood.app.connection import Connection
from sapwood.config.config_file import Config, ConfigError
from sapwood.config.editor import set_setting
from sapwood.conversation.configured_models import require_model
from sapwood.core.command_table import TABLE
from sapwood.core.errors import LogError
from sapwood.core.ids import AgentId
from sapwood.core.model_calls import Failure
from sapwood.tui.conversation_controller import ConversationController
from sapwood.tui.conversation_screen import ConversationScreen
from sapwood.tui.key_order import KeyOrder
from sapwood.tui.keys import KEYS
from sapwood.tui.terminal import ControlFilter, take_mouse

_LOOK_AGAIN = 0.2


class TerminalDriver(LinuxDriver):
    """Writes to the terminal for as long as there is one."""

    def write(self, data: str) -> None:
        """Puts text into the queue of the thread that writes."""
        self._put(data)

    def close(self) -> None:
        """Writes what is left in the queue, and ends the thread."""
        self._put(None)
        if self._writer_thread is not None:
            self._writer_thread.join()

    def _sigcont_application(self, *_: object) -> None:
        if self._must_signal_resume:
            super()._sigcont_application()  # pyright: ignore[reportUnknownMemberType]
        else:
            self._loop.call_soon_threadsafe(self._app.refresh)

    def _put(self, data: str | None) -> None:
        thread = self._writer_thread
        while thread is not None and thread.is_alive():
            try:
                # Textual has no public way to give up a write.
                thread._queue.put(data, timeout=_LOOK_AGAIN)  # pyright: ignore[reportPrivateUsage]
            except Full:
                continue
            return


class SapwoodApp(App[object]):
    """Sapwood on the full screen."""

    TITLE = "sapwood"
    CSS_PATH = None
    SCREEN_TYPE: ClassVar[type[ConversationScreen]] = ConversationScreen
    # The key table binds the palette to a key that the configuration can change.
    COMMAND_PALETTE_BINDING: ClassVar = "ctrl+backslash"

    def __init__(
        self,
        connection: Connection,
        config: Config,
        keys: dict[str, str],
        folder: str,
        agent: AgentId | None = None,
    ) -> None:
        super().__init__()
        self.key_order = KeyOrder(self)
        self.controller = ConversationController(connection, config, keys, folder)
        self.controller.agent = agent
        self.conversation = self.SCREEN_TYPE(self.controller)
        self.controller.face = self.conversation
        self.conversation.last_typed = self.key_order.last_typed
        self._control_filter = ControlFilter()
        self.failure: Exception | None = None
        self._mouse = config.screen.mouse
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = config.screen.theme if config.screen.theme in self.available_themes else DARK
        self.set_keymap(config.screen.keys)

    def get_driver_class(self) -> type[Driver]:
        """The driver, which ends with its terminal."""
        if os.name == "nt":
            return super().get_driver_class()

        return TerminalDriver

    def get_line_filters(self) -> Sequence[LineFilter]:
        """The filters of every line that is drawn; the last one shows control characters."""
        return [*super().get_line_filters(), self._control_filter]

    async def on_mount(self) -> None:
        """Opens the conversation, and over it the first-run page if no model can be called."""
        await self.push_screen(self.conversation)
        if self.controller.agent is None and self.controller.connection.server is None:
            self._ask_for_model()

    async def on_event(self, event: events.Event) -> None:
        """Handles an event. `KeyOrder` holds back keys until the keys before them are handled."""
        if not self.key_order.takes(event):
            await super().on_event(event)

    def _ask_for_model(self) -> None:
        config = self.controller.config
        try:
            require_model(config.model, config, self.controller.keys)
        except Failure:
            self.conversation.pages.ask_for_model()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The entries of the command palette: commands, keys and themes."""
        for command in TABLE.rows:
            line = command.line.replace("[", r"\[")  # otherwise Textual parses it as markup
            yield SystemCommand(line, command.help, self._put_command(command.typed))
        for key in KEYS:
            yield SystemCommand(key.help, f"Key: {key.keys}", self._run_action(key.action))
        for theme in THEMES:
            yield SystemCommand(f"Theme {theme.name}", "Colours", self._use_theme(theme.name))

    def _put_command(self, word: str):
        def put() -> None:
            self.conversation.composer.put(f"{word} ")

        return put

    def _run_action(self, action: str):
        async def run() -> None:
            await self.conversation.run_action(action)

        return run

    def _use_theme(self, theme: str):
        def use() -> None:
            self._keep_theme(theme)

        return use

    def action_theme(self) -> None:
        """Switches to the next theme."""
        names = [theme.name for theme in THEMES]
        at = names.index(self.theme) if self.theme in names else -1
        self._keep_theme(names[(at + 1) % len(names)])

    def _keep_theme(self, name: str) -> None:
        """Uses a theme, and writes it into the configuration."""
        self.theme = name
        try:
            set_setting("screen.theme", name)
        except ConfigError as error:
            self.notice(str(error))

    def action_suspend_process(self) -> None:
        """Stops the program and gives the terminal to the shell; `fg` comes back."""
        try:
            with self.suspend():
                os.kill(os.getpid(), signal.SIGSTOP)
        except SuspendNotSupported:
            self.notice("There is no shell to return to in this terminal.")

    def action_mouse(self) -> None:
        """Turns mouse reporting on or off."""
        self._mouse = not self._mouse
        take_mouse(self, self._mouse)
        if self._mouse:
            self.conversation.show_message("Sapwood handles the mouse: scroll and click.")
        else:
            self.conversation.show_message("The terminal handles the mouse: select text with it.")

    def notice(self, text: str) -> None:
        """Shows a warning in the conversation, or as a toast if a page covers it."""
        if self.screen is self.conversation:
            self.conversation.show_refusal(text)
        else:
            self.notify(text, severity="warning", markup=False)

    def _handle_exception(self, error: Exception) -> None:
        """Shows errors of the database as a notice. Any other exception ends the application.

        `open_screen` raises that exception after the terminal is restored.
        """
        cause = error.error if isinstance(error, WorkerFailed) else error
        if isinstance(cause, LogError):
            self.notice(str(cause))
            return
        self.failure = self.failure or error
        super()._handle_exception(error)

    def _fatal_error(self) -> None:
        self.bell()
        self._close_messages_no_wait()


DARK = "sapwood-dark"

THEMES: tuple[Theme, ...] = (
    Theme(
        name=DARK,
        primary="#8fbf6b",
        secondary="#7fb0d0",
        accent="#e3a857",
        success="#8fbf6b",
        warning="#e3a857",
        error="#e06c62",
        foreground="#dcd8cc",
        background="#15171a",
        surface="#1d2024",
        panel="#2a2e33",
        dark=True,
        variables={
            "mark": "#c792d8",
            "bar": "#4a5057",
            "faint": "#8c8f8a",
            "code-theme": "one-dark",
            "block-cursor-text-style": "none",
            "footer-key-foreground": "#e3a857",
        },
    ),
    Theme(
        name="sapwood-light",
        primary="#3d7a33",
        secondary="#22648f",
        accent="#9a5b0f",
        success="#3d7a33",
        warning="#9a5b0f",
        error="#b3372c",
        foreground="#2a2a26",
        background="#faf8f2",
        surface="#f0ece0",
        panel="#e2dccb",
        dark=False,
        variables={
            "mark": "#7d3f94",
            "bar": "#a59e8a",
            "faint": "#77746a",
            "code-theme": "friendly",
            "block-cursor-text-style": "none",
            "footer-key-foreground": "#9a5b0f",
        },
    ),
    Theme(
        name="sapwood-contrast",
        primary="#7dff5a",
        secondary="#6ecbff",
        accent="#ffd400",
        success="#7dff5a",
        warning="#ffd400",
        error="#ff6b6b",
        foreground="#ffffff",
        background="#000000",
        surface="#101010",
        panel="#3a3a3a",
        dark=True,
        variables={
            "mark": "#ff8cff",
            "bar": "#8a8a8a",
            "faint": "#d0d0d0",
            "code-theme": "rrt",
            "block-cursor-text-style": "bold",
            "footer-key-foreground": "#ffd400",
        },
    ),
)
