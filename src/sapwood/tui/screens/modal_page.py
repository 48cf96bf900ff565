"""The base class of all pages over the conversation, and pages of scrolling text.

The page that shows all of a message that does not fit above the composer.

The page of `/help`: every key and every command, from their tables.

The page that asks for an API key, where a provider rejected the present one or there is none.
"""

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar, runtime_checkable

from rich.console import RenderableType
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from sapwood.config.api_keys import key_origins, keys_file
from sapwood.config.config_file import ConfigError
from sapwood.conversation.answers import CommandHelp
from sapwood.display.text import plain
from sapwood.tui.keys import KEYS
from sapwood.tui.terminal import app_of
from sapwood.workspace.permissions.permission_rules import MODES

if TYPE_CHECKING:
    from sapwood.conversation.model_setup import ModelSetup

T = TypeVar("T")


@runtime_checkable
class PageRoom(Protocol):
    """An application that does not give its pages the whole terminal."""

    @property
    def page_rows(self) -> int:
        """How many rows a page may take."""
        ...


class ModalPage(ModalScreen[T | None]):
    """A page over the conversation with a frame. Escape closes it and changes nothing."""

    CSS_PATH = "modal_page.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close"),
        Binding("ctrl+c", "copy_or_close", "Close", show=False, priority=True),
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012 (as Textual types it)

    def frame(self, title: str, foot: str) -> Vertical:
        """The frame of the page, with a title above and a line of keys below."""
        frame = Vertical(id="frame")
        frame.border_title = f" {title} "
        frame.border_subtitle = f" {foot} "
        return frame

    @property
    def page_rows(self) -> int:
        """How many rows of the terminal a page may take."""
        app = app_of(self)
        return app.page_rows if isinstance(app, PageRoom) else app.size.height

    def action_close(self) -> None:
        """Closes the page."""
        self.dismiss(None)

    def action_copy_or_close(self) -> None:
        """Copies what is selected; closes the page if nothing is."""
        field = self.focused
        selected = field.selected_text if isinstance(field, Input) else self.get_selected_text()
        if selected:
            app_of(self).copy_to_clipboard(selected)
        else:
            self.dismiss(None)


class TextPage(ModalPage[str]):
    """A page that shows the text of `body`, with the keys of a pager."""

    HEADING: ClassVar = ""
    FOOT: ClassVar = "↑↓ pgup pgdn scroll · esc closes"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "close", "Close", show=False),
        Binding("j", "down", "Down", show=False),
        Binding("k", "up", "Up", show=False),
    ]

    async def body(self) -> Content | RenderableType:
        """The text to show."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """Yields the text in a frame."""
        with self.frame(self.HEADING, self.FOOT), VerticalScroll(id="reader"):
            yield Static("…", id="text")

    def on_mount(self) -> None:
        """Starts to load the text."""
        self.query_one("#reader").focus()
        self._load()

    @work(exclusive=True)
    async def _load(self) -> None:
        body = await self.body()
        for static in self.query("#text").results(Static):
            static.update(body)

    def action_down(self) -> None:
        """Scrolls a line down."""
        self.query_one("#reader").scroll_relative(y=1, animate=False)

    def action_up(self) -> None:
        """Scrolls a line up."""
        self.query_one("#reader").scroll_relative(y=-1, animate=False)


class MessagePage(TextPage):
    """Shows the answer to a command, or why it was refused."""

    HEADING: ClassVar = "Message"

    def __init__(self, message: str) -> None:
        super().__init__()
        self._message = message

    async def body(self) -> Content:
        """The message."""
        return Content(plain(self._message))


_TYPING = (
    ("enter", "Send the message; while a turn runs, queue it"),
    ("shift+enter, alt+enter", "Start a new line; also ctrl+j, or \\ and enter"),
    ("up", "Edit the last queued or sent message"),
    ("tab", "Complete the word"),
    ("@", "Name a file, folder, agent, mark or conversation; @FILE:10-40 for lines"),
    ("!COMMAND", "Run a shell command yourself; its output goes with your next prompt"),
    ("!!COMMAND", "The same, and the model does not get the output"),
    ("esc esc", "Pick a mark or turn to go back to"),
)


class HelpPage(TextPage):
    """Shows the help of one command, or all keys and commands."""

    HEADING: ClassVar = "Help"

    def __init__(self, remapped: Mapping[str, str], rows: Sequence[CommandHelp]) -> None:
        super().__init__()
        self._remapped = remapped
        self._rows = rows

    def on_resize(self) -> None:
        """Fits the columns to the new width."""
        self._load()

    async def body(self) -> Content:
        """The help of one command, or of everything, with the keys of the configuration."""
        if len(self._rows) == 1:
            [command] = self._rows
            return Content.assemble((command.line, "bold $accent"), f"\n\n{command.help}.")
        keys = [(self._remapped.get(key.name, key.keys), key.help) for key in KEYS]
        commands = [(command.line, command.help) for command in self._rows]
        room = self.query_one("#reader").scrollable_content_region.width
        return Content("\n").join(
            [
                *_section("Typing", _TYPING, room),
                *_section("Keys", keys, room),
                *_section("Permission modes", list(MODES.items()), room),
                *_section("Commands", commands, room),
                Content.styled(
                    "To change a key, set it by name in [screen.keys] of the configuration:",
                    "$faint",
                ),
                Content.styled(", ".join(key.name for key in KEYS), "$faint"),
            ]
        )


def _section(title: str, rows: Sequence[tuple[str, str]], room: int) -> list[Content]:
    """A title and two columns. What is too wide for the first one has a line of its own."""
    widest = max(len(left) for left, _ in rows) + 2
    width = min(widest, max(24, room * 2 // 5))
    lines: list[Content] = []
    for left, right in rows:
        first, *rest = wrap(right, max(24, room - width))
        if len(left) + 2 > width:
            lines.append(Content.styled(left, "$accent"))
            left = ""
        lines.append(Content.assemble((f"{left:<{width}}", "$accent"), first))
        lines += [Content(f"{'':<{width}}{each}") for each in rest]
    return [Content.styled(title, "bold"), *lines, Content("")]


TESTING = "Testing the key …"


class KeyPage(ModalPage[str]):
    """Tests and stores the key that is pasted, and returns it; None if the person closes the page.

    `why` is the sentence of the failure. `said` is what the test found, once the page has closed.
    """

    BINDINGS: ClassVar[list[BindingType]] = []
    said = ""

    def __init__(
        self, setup: "ModelSetup", model: str, why: str, *, is_missing: bool = False
    ) -> None:
        super().__init__()
        self._title = "API key" if is_missing else "Another API key?"
        self._setup = setup
        self._model = model
        self._account = setup.account(model)
        self._why = why

    def compose(self) -> ComposeResult:
        """Yields the reason, the field, and where the key goes."""
        with self.frame(self._title, "enter stores it · esc closes"):
            yield Static(plain(self._why), id="asked", markup=False)
            yield Input(placeholder=f"Paste your API key for {self._account.title}", password=True)
            yield Static(self._where(), id="where", markup=False)

    def on_mount(self) -> None:
        """Focuses the field."""
        self.query_one(Input).focus()

    def _where(self) -> str:
        origin = key_origins().get(self._account.account, "")
        words = f"It is stored in {keys_file()}, readable only by you."
        if origin and origin != str(keys_file()):
            words += f" {origin} takes precedence again at the next start: change it there too."
        return words

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        self._store(event.value.strip())

    @work(exclusive=True)
    async def _store(self, key: str) -> None:
        where = self.query_one("#where", Static)
        if not key:
            where.update("Paste an API key, or press esc.")
            return
        where.update(TESTING)
        try:
            self.said = await self._setup.store_key(self._model, key)
        except ConfigError as error:
            self.query_one(Input).value = ""
            where.update(plain(str(error)))
        else:
            self.dismiss(key)
