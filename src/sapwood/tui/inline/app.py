"""The application below a prompt. All code that depends on Textual's inline mode is here.

Textual draws an inline application at the cursor and then moves the cursor back. `InlineApp` takes
each frame before Textual writes it; `Scrollback` writes it, together with the printed rows above.
"""

import signal
from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.console import RenderableType
from textual import events
from textual._compositor import InlineUpdate
from textual.color import Color
from textual.driver import Driver
from textual.drivers.linux_inline_driver import LinuxInlineDriver
from textual.geometry import Offset, Size
from textual.screen import Screen
from textual.strip import Strip
from textual.timer import Timer

from sapwood.app.connection import Connection
from sapwood.config.config_file import Config
from sapwood.core.ids import AgentId
from sapwood.tui.app import SapwoodApp
from sapwood.tui.conversation_screen import ConversationScreen
from sapwood.tui.inline.inline_screen import InlineScreen
from sapwood.tui.inline.print_queue import PrintItem
from sapwood.tui.inline.scrollback import Scrollback, TerminalColours

# pyright: reportPrivateUsage=false

_RESIZE_SECONDS = 0.25
"""How long the size must stay the same, in seconds, before the application draws again."""

_CURSOR_QUERY = "\x1b[6n"
_CURSOR_SECONDS = 0.5
"""How long a terminal may take to report its cursor, in seconds, also over a slow connection."""


def page_height(height: int) -> int:
    """The height of a page: enough to use it, but not the whole terminal.

    >>> [page_height(height) for height in (60, 30, 24, 16, 10)]
    [24, 22, 18, 14, 10]
    """
    return min(24, height, max(14, height * 3 // 4))


class InlineDriver(LinuxInlineDriver):
    """Does not clear the screen after a change of size, and can be suspended for an editor."""

    @property
    def can_suspend(self) -> bool:
        return True

    @property
    def terminal_size(self) -> Size:
        """The size of the terminal now. The application may not have handled the change yet."""
        return Size(*self._get_terminal_size())

    @property
    def cursor_origin(self) -> tuple[int, int] | None:
        """None: Textual would use it for the mouse, which this application does not take."""
        return None

    @cursor_origin.setter
    def cursor_origin(self, place: tuple[int, int] | None) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        # Textual sets it when the terminal reports its cursor.
        if place is not None and isinstance(self._app, InlineApp):
            self._loop.call_soon_threadsafe(self._app.cursor_reported, place[1])

    def start_application_mode(self) -> None:
        super().start_application_mode()
        signal.signal(signal.SIGWINCH, lambda number, stack: self._post_size())

    def _post_size(self) -> None:
        size = self.terminal_size
        self.send_message(events.Resize(size, size))

    def stop_application_mode(self) -> None:
        if isinstance(self._app, InlineApp):
            self.write(self._app.scrollback.removed())
        super().stop_application_mode()


class InlineApp(SapwoodApp):
    """Sapwood below the prompt of a shell."""

    SCREEN_TYPE: ClassVar[type[ConversationScreen]] = InlineScreen
    INLINE_PADDING = 0

    def __init__(
        self,
        connection: Connection,
        config: Config,
        keys: dict[str, str],
        folder: str,
        agent: AgentId | None = None,
    ) -> None:
        super().__init__(connection, config, keys, folder, agent)
        self.scrollback: Scrollback[PrintItem] = Scrollback()
        self.scrollback.print_again = self._print_again
        self._resized_to: Size | None = None
        self._asking = False
        self._resizing: Timer | None = None

    def print_above(self, item: PrintItem, strips: Sequence[Strip]) -> None:
        """Prints an item above the live area, with the next frame."""
        colours = self._terminal_colours(printed=True)
        self.scrollback.print(item, [colours.line(strip, self.console) for strip in strips])
        self.screen.refresh()

    def _print_again(self, items: list[PrintItem]) -> None:
        if isinstance(self.conversation, InlineScreen):
            self.conversation.live_area.print_again(items)

    def _terminal_colours(self, *, printed: bool = False) -> TerminalColours:
        names = ("background", "foreground")
        colours = [Color.parse(self.theme_variables[name]) for name in names]
        if self.no_color:
            colours = [colour.monochrome for colour in colours]
        background, foreground = (colour.hex for colour in colours)
        return TerminalColours(background, foreground, use_colours=not (printed and self.no_color))

    def _build_driver(
        self, headless: bool, inline: bool, mouse: bool, size: tuple[int, int] | None
    ) -> Driver:
        self._driver = InlineDriver(self, mouse=False, size=size)
        return self._driver

    @property
    def page_rows(self) -> int:
        """How many rows of the terminal a page may take."""
        return page_height(self.size.height)

    def _get_inline_height(self) -> int:
        screen = self.screen
        if isinstance(screen, InlineScreen):
            return super()._get_inline_height()
        height = self.page_rows
        if any(frame.styles.is_auto_height for frame in screen.query("#frame")):
            return min(height, screen._get_inline_height(self.size))
        return height

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        if not isinstance(renderable, InlineUpdate):
            super()._display(screen, renderable)  # pyright: ignore[reportUnknownMemberType]
        elif len(renderable.strips) != screen._compositor.size.height:
            screen.refresh(layout=True)  # the widgets still have the positions of another height
        elif self._running and not self._closed and not self._batch_count:
            self._draw(renderable.strips)
            self.post_display_hook()

    def _draw(self, strips: Sequence[Strip]) -> None:
        driver = self._driver
        if driver is None or self._is_being_resized:
            return
        if not self.scrollback.fits(self.size):
            self._ask_when_settled()
            return
        x, y = self.screen.outer_size.clamp_offset(self.cursor_position)
        colours = self._terminal_colours()
        lines = [colours.line(strip, self.console) for strip in strips]
        if written := self.scrollback.frame(lines, (x, y), self.size):
            driver.write(written)
            driver.flush()
        self._previous_cursor_position = Offset(0, 0)

    @property
    def _is_being_resized(self) -> bool:
        """Whether the terminal has a new size that the application has not handled yet."""
        driver = self._driver
        return isinstance(driver, InlineDriver) and driver.terminal_size != self.size

    def _ask_when_settled(self) -> None:
        """Asks for the cursor once the size stays the same: each change of size moves the lines."""
        if self._resized_to != self.size:
            self._resized_to = self.size
            self._schedule(_RESIZE_SECONDS, self._ask_for_cursor)

    def _ask_for_cursor(self) -> None:
        """Asks the terminal for its cursor; only the terminal knows it after a change of size."""
        if self._driver is not None:
            self._asking = True
            self._driver.write(_CURSOR_QUERY)
            self._driver.flush()
            self._schedule(_CURSOR_SECONDS, self.cursor_reported)

    def cursor_reported(self, row: int | None = None) -> None:
        """Draws for the new size. `row` is None if the terminal did not answer."""
        if self._asking:
            self._schedule(None)
            if self._resized_to == self.size and not self._is_being_resized:
                self.scrollback.resized(self.size, row)
            self._resized_to, self._asking = None, False
            self.screen.refresh(layout=True)

    def _schedule(self, seconds: float | None, act: Callable[[], None] | None = None) -> None:
        """Replaces the timer of the change of size by a new one, or stops it."""
        if self._resizing is not None:
            self._resizing.stop()
        self._resizing = self.set_timer(seconds, act) if seconds else None

    def action_mouse(self) -> None:
        """Explains that the terminal keeps the mouse."""
        self.conversation.show_message(
            "The terminal handles the mouse here: select and scroll with it."
        )
