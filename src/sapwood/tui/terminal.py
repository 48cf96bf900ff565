"""The terminal around the application: its title, bell, mouse, clipboard and text editor.

The gate for all text that a screen draws: no widget can write a control character.

Widgets show their texts by `sapwood.display`, which explains such characters. This filter is the
last step before the terminal, for every line of every widget.
"""

import asyncio
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import cast

from rich.segment import Segment
from textual.app import App
from textual.color import Color
from textual.dom import DOMNode
from textual.filter import LineFilter

from sapwood.config.config_file import ScreenConfig
from sapwood.core.plural import counted
from sapwood.display.text import one_sign_each, plain

_LONG = 10.0
"""Seconds of work after which the person is assumed to look elsewhere."""

_CLIPBOARD_SECONDS = 2.0
"""How long a clipboard program may take."""


def app_of(node: DOMNode) -> App[object]:
    """The application of a widget, with a type; Textual does not declare one."""
    return cast("App[object]", node.app)  # pyright: ignore[reportUnknownMemberType]


class Attention:
    """Sets the title of the terminal, and rings its bell if the configuration allows it."""

    def __init__(self, app: App[object], config: ScreenConfig) -> None:
        self._app = app
        self._config = config

    def call(self, seconds: float = _LONG) -> None:
        """Rings the bell if the work took long or the terminal does not have the focus."""
        if self._config.bell and (seconds >= _LONG or not self._app.app_focus):
            self._app.bell()

    def title(self, folder: str, *, working: bool) -> None:
        """Sets the title of the window or tab; a sign in it shows that a turn runs."""
        sign = "◐ " if working else ""
        _write(self._app, f"\x1b]0;{sign}sapwood · {plain(Path(folder).name)[:60]}\x07")


@contextmanager
def restored_title() -> Generator[None]:
    """Restores the title of the terminal after the block."""
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
    """Turns mouse reporting on or off. While it is off, the terminal selects text."""
    for mode in (1000, 1003, 1015, 1006):
        _write(app, f"\x1b[?{mode}{'h' if taken else 'l'}")


def _write(app: App[object], sequence: str) -> None:
    driver = app._driver  # pyright: ignore[reportPrivateUsage]  # Textual has no public way to write an escape sequence
    if driver is not None and not app.is_headless:
        with suppress(OSError):
            driver.write(sequence)


def clipboard_programs(environ: Mapping[str, str] = os.environ) -> list[tuple[str, Sequence[str]]]:
    """Installed clipboard programs that work here, best first, each with its target's name.

    These programs report failure, which the escape sequence of a terminal does not.
    """
    found: list[tuple[str, Sequence[str]]] = []
    if environ.get("SSH_CONNECTION"):  # the clipboard of the remote machine is of no use
        environ = {name: value for name, value in environ.items() if name == "TMUX"}
    if environ.get("WAYLAND_DISPLAY"):
        found.append(("the clipboard", ("wl-copy",)))
    if environ.get("DISPLAY"):
        found.append(("the clipboard", ("xclip", "-selection", "clipboard")))
        found.append(("the clipboard", ("xsel", "--clipboard", "--input")))
    if "TMUX" in environ:
        found.append(("tmux's buffer", ("tmux", "load-buffer", "-w", "-")))
    found.append(("the clipboard", ("pbcopy",)))
    return [each for each in found if shutil.which(each[1][0])]


def copy_text(app: App[object], text: str) -> str:
    """Copies a text; returns a sentence that says where to."""
    size = counted(len(text), "character")
    for place, command in clipboard_programs(os.environ):
        try:
            done = subprocess.run(
                command,
                input=text.encode(),
                capture_output=True,
                timeout=_CLIPBOARD_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            return f"Copied {size} to {place}."
    app.copy_to_clipboard(text)
    return f"Sent {size} to the terminal's clipboard. Terminals do not confirm copies."


def editor_command(environ: Mapping[str, str] = os.environ) -> list[str]:
    """The command of the person's editor, `vi` by default."""
    return shlex.split(environ.get("VISUAL") or environ.get("EDITOR") or "vi")


async def edit_text(text: str, environ: Mapping[str, str] = os.environ) -> str:
    """Opens a text in the editor; returns the edited text, or the old one if the editor failed.

    Raises `OSError` or `ValueError` if the editor cannot be started or its file cannot be used.
    """
    with tempfile.TemporaryDirectory(prefix="sapwood-") as folder:
        file = Path(folder) / "message.md"
        file.write_text(text, encoding="utf-8")
        process = await asyncio.create_subprocess_exec(*editor_command(environ), str(file))
        try:
            code = await process.wait()
        finally:
            if process.returncode is None:
                process.terminate()
        return _written(file.read_bytes()).rstrip("\n") if code == 0 else text


def _written(data: bytes) -> str:
    """The text that an editor wrote: not all of them write UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


@contextmanager
def lent_terminal(app: App[object]) -> Generator[None]:
    """Lends the terminal to another program for the block; all that needs no terminal runs on.

    Ctrl+c is meant for that program. Raises `SuspendNotSupported` if the terminal cannot be lent.
    """
    failure: Exception | None = None
    with app.batch_update(), app.suspend():
        before = signal.signal(signal.SIGINT, _ignore)  # a program would inherit SIG_IGN
        try:
            yield
        except Exception as error:  # Textual resumes only after a block that ended
            failure = error
        finally:
            signal.signal(signal.SIGINT, before or signal.SIG_DFL)
    if failure is not None:
        raise failure


def _ignore(*_: object) -> None: ...


class ControlFilter(LineFilter):
    """Replaces characters that a terminal would obey or not show."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Returns the segments of a line without such characters."""
        return without_controls(segments)


def without_controls(segments: list[Segment]) -> list[Segment]:
    """Replaces characters that a terminal would obey or not show, one sign for each."""
    if all(segment.text.isascii() and segment.text.isprintable() for segment in segments):
        return segments
    return [Segment(one_sign_each(text), style, control) for text, style, control in segments]
