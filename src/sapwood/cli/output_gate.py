"""The gate for all text that the command line prints.

Names, messages and transcripts may contain sequences that move the cursor, rename the window or
hide words. `gated_output` puts a gate before stdout and stderr that makes them visible. Only
sequences of `styled` pass: they carry a number that is new in each process, so that no text can
contain them.
"""

import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from typing import TextIO, cast

import click

_OWN = str(int.from_bytes(os.urandom(6)))


def styled(text: str, *, fg: str | None = None, bold: bool = False, dim: bool = False) -> str:
    """Gives a text a colour or a weight, in a way that the gate lets pass."""
    drawn = click.style("\0", fg=fg, bold=bold or None, dim=dim or None)
    before, after = drawn.replace("\x1b[", f"\x1b[{_OWN};").split("\0")
    return f"{before}{text}{after}"


def unstyled(text: str) -> str:
    """The text without the sequences of `styled`, for output that is not printed to a terminal."""
    return _own_sequence().sub("", text)


class _GatedStream:
    """A stream that shows what a terminal would obey. Everything else goes to the real stream."""

    encoding = "utf-8"
    """Click goes around streams of another encoding. The real stream replaces what it lacks."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self._written = ""

    def write(self, text: str) -> int:
        gated, self._written = _gated(text, self._written)
        return self.stream.write(gated)

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> object:
        return getattr(self.stream, name)


@contextmanager
def gated_output() -> Generator[None]:
    """Puts the gate before stdout and stderr while the block runs."""
    out, err = sys.stdout, sys.stderr
    sys.stdout = cast("TextIO", _GatedStream(out)) if out is not None else out
    sys.stderr = cast("TextIO", _GatedStream(err)) if err is not None else err
    try:
        yield
    finally:
        sys.stdout, sys.stderr = out, err


def ungated(stream: TextIO) -> TextIO:
    """The real stream, for sequences of our own that are not styles."""
    return stream.stream if isinstance(stream, _GatedStream) else stream


@cache
def _own_sequence() -> re.Pattern[str]:
    return re.compile(rf"(\x1b\[){_OWN};([0-9;]*m)")


def _gated(text: str, before: str) -> tuple[str, str]:
    """The text to write after `before`, and the last character of both."""
    from sapwood.display.text import readable

    parts: list[str] = []
    for at, each in enumerate(_own_sequence().split(text)):
        if at % 3:  # a half of one of our own sequences
            parts.append(each)
        else:
            parts.append(readable(each, before))
            before = each[-1:] or before
    return "".join(parts), before
