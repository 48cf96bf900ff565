"""The application below a prompt. Everything that rests on how Textual draws there is here.

Textual draws an inline application where the cursor is and moves back. Each of its frames is
taken here, before it is written, and written by `Scrollback`, together with what is printed above.
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

from sapwood.app.config import Config
from sapwood.app.connection import Connection
from sapwood.core.ids import AgentId
from sapwood.tui.app import SapwoodApp
from sapwood.tui.conversation import Conversation
from sapwood.tui.inline.conversation import InlineConversation
from sapwood.tui.inline.line import Tones
from sapwood.tui.inline.scrollback import Scrollback
from sapwood.tui.inline.tape import Item

__all__ = ["InlineApp", "page_height"]
# pyright: reportPrivateUsage=false

_SETTLED = 0.25
"""Seconds for which a size has to stay before anything is drawn for it: a window is dragged."""

_WHERE = "\x1b[6n"
_PATIENCE = 0.5
"""Seconds within which a terminal says where its cursor is, be it far away."""


def page_height(height: int) -> int:
    """Lines that a page takes: enough to be used, and not all of what was being read.

    >>> [page_height(height) for height in (60, 30, 24, 16, 10)]
    [24, 22, 18, 14, 10]
    """
    return min(24, height, max(14, height * 3 // 4))


class InlineDriver(LinuxInlineDriver):
    """Leaves the screen as it is when its size changes, and can step aside for an editor."""

    @property
    def can_suspend(self) -> bool:
        return True

    @property
    def terminal_size(self) -> Size:
        """As it is now, whatever was told."""
        return Size(*self._get_terminal_size())

    @property
    def cursor_origin(self) -> tuple[int, int] | None:
        """Where the mouse would have to be counted from, which is not ours here."""
        return None

    @cursor_origin.setter
    def cursor_origin(self, place: tuple[int, int] | None) -> None:  # pyright: ignore[reportIncompatibleVariableOverride]
        # The reader of keys sets it when the terminal tells.
        if place is not None and isinstance(self._app, InlineApp):
            self._loop.call_soon_threadsafe(self._app.told_where, place[1])

    def start_application_mode(self) -> None:
        super().start_application_mode()
        signal.signal(signal.SIGWINCH, lambda number, stack: self._tell_size())

    def _tell_size(self) -> None:
        size = self.terminal_size
        self.send_message(events.Resize(size, size))

    def stop_application_mode(self) -> None:
        if isinstance(self._app, InlineApp):
            self.write(self._app.scrollback.removed())
        super().stop_application_mode()


class InlineApp(SapwoodApp):
    """Sapwood below the prompt."""

    FRONT: ClassVar[type[Conversation]] = InlineConversation
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
        self.scrollback: Scrollback[Item] = Scrollback()
        self.scrollback.again = self._print_again
        self._resized_to: Size | None = None
        self._asking = False
        self._resizing: Timer | None = None

    def print_above(self, item: Item, strips: Sequence[Strip]) -> None:
        """Has a thing printed with the next frame."""
        tones = self._tones(printed=True)
        self.scrollback.print(item, [tones.line(strip, self.console) for strip in strips])
        self.screen.refresh()

    def _print_again(self, items: list[Item]) -> None:
        if isinstance(self.conversation, InlineConversation):
            self.conversation.tail.print_again(items)

    def _tones(self, *, printed: bool = False) -> Tones:
        names = ("background", "foreground")
        colours = [Color.parse(self.theme_variables[name]) for name in names]
        if self.no_color:
            colours = [colour.monochrome for colour in colours]
        ground, ink = (colour.hex for colour in colours)
        return Tones(ground, ink, colours=not (printed and self.no_color))

    def _build_driver(
        self, headless: bool, inline: bool, mouse: bool, size: tuple[int, int] | None
    ) -> Driver:
        self._driver = InlineDriver(self, mouse=False, size=size)
        return self._driver

    def _get_inline_height(self) -> int:
        screen = self.screen
        if isinstance(screen, InlineConversation):
            return super()._get_inline_height()
        most = page_height(self.size.height)
        if any(frame.styles.is_auto_height for frame in screen.query("#frame")):
            return min(most, screen._get_inline_height(self.size))
        return most

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        if not isinstance(renderable, InlineUpdate):
            super()._display(screen, renderable)  # pyright: ignore[reportUnknownMemberType]
        elif len(renderable.strips) != screen._compositor.size.height:
            screen.refresh(layout=True)  # its widgets still stand where there was another height
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
        tones = self._tones()
        lines = [tones.line(strip, self.console) for strip in strips]
        if written := self.scrollback.frame(lines, (x, y), self.size):
            driver.write(written)
            driver.flush()
        self._previous_cursor_position = Offset(0, 0)

    @property
    def _is_being_resized(self) -> bool:
        """Whether the terminal has another size than was told so far: that will follow."""
        driver = self._driver
        return isinstance(driver, InlineDriver) and driver.terminal_size != self.size

    def _ask_when_settled(self) -> None:
        """The terminal moves everything at each step, so nothing is drawn before the last."""
        if self._resized_to != self.size:
            self._resized_to = self.size
            self._then(_SETTLED, self._ask_where)

    def _ask_where(self) -> None:
        """Only the terminal knows where the cursor stands now."""
        if self._driver is not None:
            self._asking = True
            self._driver.write(_WHERE)
            self._driver.flush()
            self._then(_PATIENCE, self.told_where)

    def told_where(self, row: int | None = None) -> None:
        """The terminal has told, or it does not."""
        if self._asking:
            self._then(None)
            if self._resized_to == self.size and not self._is_being_resized:
                self.scrollback.resized(self.size, row)
            self._resized_to, self._asking = None, False
            self.screen.refresh(layout=True)

    def _then(self, seconds: float | None, act: Callable[[], None] | None = None) -> None:
        """What happens next about another size, and nothing else."""
        if self._resizing is not None:
            self._resizing.stop()
        self._resizing = self.set_timer(seconds, act) if seconds else None

    def action_mouse(self) -> None:
        """The mouse stays with the terminal."""
        self.conversation.said("The mouse is your terminal's here: select and scroll freely.")
