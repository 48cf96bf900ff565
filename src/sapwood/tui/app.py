"""The application: themes, keys, the palette, and the conversation on top of them."""

from collections.abc import Iterable
from typing import ClassVar

from msgspec import structs
from textual import events
from textual.app import App, SystemCommand
from textual.screen import Screen
from textual.worker import WorkerFailed

from sapwood.app.choosing import require_model
from sapwood.app.config import Config
from sapwood.app.connection import Connection
from sapwood.app.keys import load_keys
from sapwood.core.calling import Failure
from sapwood.core.errors import LogError
from sapwood.core.ids import AgentId
from sapwood.core.slash import COMMANDS
from sapwood.tui.conversation import Conversation
from sapwood.tui.desk import Desk
from sapwood.tui.key_order import KeyOrder
from sapwood.tui.keys import KEYS
from sapwood.tui.terminal import take_mouse
from sapwood.tui.themes import DARK, THEMES

__all__ = ["SapwoodApp"]


class SapwoodApp(App[object]):
    """Sapwood on the whole screen."""

    TITLE = "sapwood"
    CSS_PATH = None
    FRONT: ClassVar[type[Conversation]] = Conversation
    COMMAND_PALETTE_BINDING: ClassVar = "ctrl+backslash"  # ours is among the keys of the screen

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
        self.desk = Desk(connection, config, keys, folder)
        self.desk.agent = agent
        self.conversation = self.FRONT(self.desk)
        self.desk.front = self.conversation
        self.conversation.last_typed = self.key_order.last_typed
        self.failure: Exception | None = None
        self._mouse = config.screen.mouse
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = config.screen.theme if config.screen.theme in self.available_themes else DARK
        self.set_keymap(config.screen.keys)

    async def on_mount(self) -> None:
        """Opens the conversation, after what a first run needs."""
        await self.push_screen(self.conversation)
        if self.desk.agent is None:
            self._ask_for_model()

    async def on_event(self, event: events.Event) -> None:
        """Handles an event, a key only after everything that was typed before it."""
        if not self.key_order.takes(event):
            await super().on_event(event)

    def _ask_for_model(self) -> None:
        config = self.desk.config
        try:
            require_model(config.model, config, self.desk.keys)
        except Failure:
            from sapwood.tui.screens.first_run import FirstRunPage

            self.push_screen(FirstRunPage(config), self._model_chosen)

    def _model_chosen(self, model: str | None) -> None:
        if model is not None:
            self.desk.config = structs.replace(self.desk.config, model=model)
            self.desk.keys = load_keys()
            self.conversation.tell_soon()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """What the palette lists: commands, keys, themes."""
        for command in COMMANDS:
            line = command.line.replace("[", r"\[")  # else it is taken for a style
            yield SystemCommand(line, command.help, self._typing(f"/{command.name}"))
        for key in KEYS:
            yield SystemCommand(key.help, f"Key: {key.keys}", self._doing(key.action))
        for theme in THEMES:
            yield SystemCommand(f"Theme {theme.name}", "Colours", self._wearing(theme.name))

    def _typing(self, word: str):
        def put() -> None:
            self.conversation.composer.put(f"{word} ")

        return put

    def _doing(self, action: str):
        async def run() -> None:
            await self.conversation.run_action(action)

        return run

    def _wearing(self, theme: str):
        def wear() -> None:
            self.theme = theme

        return wear

    def action_theme(self) -> None:
        """The next theme."""
        names = [theme.name for theme in THEMES]
        at = names.index(self.theme) if self.theme in names else -1
        self.theme = names[(at + 1) % len(names)]

    def action_mouse(self) -> None:
        """Leaves the mouse to the terminal, or takes it back."""
        self._mouse = not self._mouse
        take_mouse(self, self._mouse)
        whose = "is taken: click and scroll" if self._mouse else "is the terminal's: select freely"
        self.conversation.said(f"The mouse {whose}.")

    def notice(self, text: str) -> None:
        """Something to be told at once, whatever is on the screen."""
        if self.screen is self.conversation:
            self.conversation.refused(text)
        else:
            self.notify(text, severity="warning", markup=False)

    def _handle_exception(self, error: Exception) -> None:
        """A defect: the terminal is given back, and whoever opened the screen tells of it.

        A database that is away or full is none: the screen outlives it.
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
