"""What is told to the terminal itself: its title, and a bell when somebody is wanted."""

import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from textual.app import App

from sapwood.app.config import ScreenConfig
from sapwood.display.text import plain

__all__ = ["Attention", "take_mouse", "titled"]

_LONG = 10.0
"""Seconds after which somebody has likely begun to look elsewhere."""


class Attention:
    """Calls people back who look elsewhere, as far as they want to be called."""

    def __init__(self, app: App[object], config: ScreenConfig) -> None:
        self._app = app
        self._config = config

    def call(self, seconds: float = _LONG) -> None:
        """Rings, if the terminal is out of sight or what is done took long."""
        if self._config.bell and (seconds >= _LONG or not self._app.app_focus):
            self._app.bell()

    def title(self, folder: str, *, working: bool) -> None:
        """The title of the window or tab says whether something goes on."""
        sign = "◐ " if working else ""
        _write(self._app, f"\x1b]0;{sign}sapwood · {plain(Path(folder).name)[:60]}\x07")


@contextmanager
def titled() -> Generator[None]:
    """Gives the terminal its own title back afterwards."""
    out = sys.__stdout__
    if out is None or not out.isatty():
        yield
        return
    out.write("\x1b[22;0t")
    out.flush()
    try:
        yield
    finally:
        out.write("\x1b[23;0t")
        out.flush()


def take_mouse(app: App[object], taken: bool) -> None:
    """Takes the mouse, or leaves it to the terminal, which then selects text in its own way."""
    for mode in (1000, 1003, 1015, 1006):
        _write(app, f"\x1b[?{mode}{'h' if taken else 'l'}")


def _write(app: App[object], sequence: str) -> None:
    driver = app._driver  # pyright: ignore[reportPrivateUsage]  # there is no other way to it
    if driver is not None and not app.is_headless:
        with suppress(OSError):
            driver.write(sequence)
