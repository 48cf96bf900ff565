"""The standard streams: lines on stdout, text from stdin, a progress bar on stderr."""

import errno
import os
import sys
import time
from collections.abc import Iterable
from math import inf
from types import TracebackType

import click

from sapwood.cli.exit_codes import Exit
from sapwood.cli.output_gate import ungated

INPUT_LIMIT = 1_000_000
"""The most bytes that are read from stdin beside a prompt."""

_PIECE = 65_536
_SILENCE_SECONDS = 1.0
_NO_INPUT = "If there is no input, add: < /dev/null"

_NARROWEST = 24
_BAR_WIDTH = 24
_REDRAW_SECONDS = 0.1


def confirmed(question: str) -> bool:
    """Asks a question whose answer is yes by default.

    Raises `SapwoodError` if nobody can answer.
    """
    from sapwood.core.errors import SapwoodError

    try:
        return click.confirm(question, default=True)
    except click.Abort:
        if sys.stdin is not None and sys.stdin.isatty():
            raise  # ctrl+c
        raise SapwoodError(
            "Nothing was changed: there is no terminal to ask for confirmation. To skip the "
            "question, add --yes."
        ) from None


def columns() -> int:
    """Returns the width of the terminal, like `shutil`, whose import takes longer than this."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return max(_NARROWEST, int(given))
    try:
        return max(_NARROWEST, os.get_terminal_size(sys.stdout.fileno()).columns)
    except (OSError, ValueError, AttributeError):
        return 80


def print_lines(lines: Iterable[str]) -> None:
    """Prints lines on stdout, with colours only on a terminal."""
    for line in lines:
        click.echo(line)


class InputOpen(click.ClickException):
    """Stdin did not end within the time limit of the command."""

    exit_code = Exit.TIMED_OUT


def _read(seconds: float | None, limit: float = inf) -> bytes:
    """Reads stdin to its end, or at least to a limit. Says so if nothing comes for a second.

    Raises `InputOpen` if it has not ended after `seconds`, if given.
    """
    try:
        handle = sys.stdin.fileno()
    except (OSError, ValueError):  # a stdin without a file, as in tests
        handle = -1
    if handle < 0 or os.name == "nt":  # pipes of Windows cannot be waited for
        return sys.stdin.buffer.read(-1 if limit == inf else int(limit))

    from select import select

    ends_at = inf if seconds is None else time.monotonic() + seconds
    told_at = time.monotonic() + _SILENCE_SECONDS
    read = bytearray()
    while len(read) < limit:
        if read:
            told_at = inf
        left = min(ends_at, told_at) - time.monotonic()
        if select([handle], [], [], None if left == inf else max(0.0, left))[0]:
            piece = os.read(handle, _PIECE)
            if not piece:
                break
            read += piece
        elif time.monotonic() >= ends_at:
            raise InputOpen(f"stdin was still open after {seconds:g} seconds. {_NO_INPUT}")
        else:
            told_at = inf
            click.echo(f"Waiting for the end of stdin. {_NO_INPUT}", err=True)
    return bytes(read)


def piped_text(seconds: float | None = None) -> str | None:
    """Reads all of stdin. Returns None if stdin is a terminal or closed.

    Raises `InputOpen` if it has not ended after `seconds`, if given.
    """
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        return None
    return _read(seconds).decode("utf-8", "replace")


def given_text(seconds: float | None = None) -> str:
    """Reads what a pipe or a file on stdin gives beside a prompt, up to a limit.

    Reads nothing from a terminal, a device or a closed stdin. Says so on stderr and at the end of
    the text if it is cut. Raises `InputOpen` if it has not ended after `seconds`, if given.
    """
    import stat

    if sys.stdin is None or sys.stdin.closed:
        return ""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):  # a stdin without a file, as in tests
        mode = stat.S_IFIFO if not sys.stdin.isatty() else 0
    if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)):
        return ""
    read = _read(seconds, INPUT_LIMIT + 1)
    text = read[:INPUT_LIMIT].decode("utf-8", "replace").strip("\n")
    if len(read) <= INPUT_LIMIT:
        return text
    cut = f"The input is longer than {INPUT_LIMIT:,} bytes; the rest was left out."
    click.echo(cut, err=True)
    return f"{text}\n[{cut}]"


def file_text(source: str, seconds: float | None = None) -> str:
    """Reads a file, or stdin if it is named `-`. Raises `click.UsageError`.

    Raises `InputOpen` if stdin has not ended after `seconds`, if given.
    """
    from pathlib import Path

    if source == "-":
        return piped_text(seconds) or ""
    try:
        return Path(source).expanduser().read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise click.UsageError(f"'{source}' cannot be read: {error.strerror}.") from error


def write_output(name: str, text: str) -> None:
    """Writes a file in one step, new ones for their owner alone; a device or pipe gets the text.

    Raises `OSError` and leaves the old file as it was if the new one cannot be written.
    """
    from pathlib import Path

    from sapwood.private_files import replace_file

    path = Path(name).expanduser()
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")
    elif not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    else:  # the file of somebody who shared it stays shared
        replace_file(path, text, mode=0o644 if path.exists() else 0o600)


class Progress:
    """A progress bar on stderr, redrawn in place. Draws nothing if stderr is not a terminal."""

    def __init__(self, total: int) -> None:
        self._total = max(total, 1)
        self._done = 0
        self._label = ""
        self._is_visible = sys.stderr.isatty()
        self._started = time.monotonic()
        self._drawn = 0.0

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.clear()

    def set_label(self, label: str) -> None:
        """Sets the text after the bar."""
        from sapwood.display.text import one_line

        self._label = one_line(label)

    def advance(self, done: int) -> None:
        """Adds so many bytes to those that are done."""
        self._done += done
        now = time.monotonic()
        if self._is_visible and now - self._drawn >= _REDRAW_SECONDS:
            self._drawn = now
            self._draw(self.line(now - self._started))

    def clear(self) -> None:
        """Erases the bar, so that other text can be printed."""
        if self._is_visible:
            self._draw("")

    def _draw(self, line: str) -> None:
        stream = ungated(sys.stderr)
        stream.write(f"\r\x1b[K{line}")
        stream.flush()

    def line(self, seconds: float) -> str:
        """Returns the bar after so many seconds."""
        share = min(self._done / self._total, 1.0)
        full = round(share * _BAR_WIDTH)
        rate = self._done / max(seconds, 0.001) / 1_000_000
        empty = _BAR_WIDTH - full
        return f"{'█' * full}{'░' * empty} {share:>4.0%} {rate:.0f} MB/s {self._label}"
