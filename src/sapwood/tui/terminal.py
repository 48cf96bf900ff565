"""What is told to the terminal itself: its title, and a bell when somebody is wanted."""

import sys
from contextlib import suppress

from textual.app import App

from sapwood.display.text import plain

__all__ = ["call_back", "set_title"]


def set_title(app: App[object], title: str) -> None:
    """The title of the window or tab."""
    _write(app, f"\x1b]0;{plain(title)[:80]}\x07")


def call_back(app: App[object]) -> None:
    """Rings, for somebody who is looking elsewhere."""
    app.bell()


def _write(app: App[object], sequence: str) -> None:
    if app.is_headless or not sys.__stdout__ or not sys.__stdout__.isatty():
        return
    driver = app._driver  # pyright: ignore[reportPrivateUsage]  # there is no other way to it
    if driver is not None:
        with suppress(OSError):
            driver.write(sequence)
