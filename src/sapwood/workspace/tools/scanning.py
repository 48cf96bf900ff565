"""Searching files in Python, as a program of its own: an expression may take for ever.

Reads a `Scan` as JSON, writes lines as ripgrep does. A process can be ended, a thread that runs
a regular expression cannot, and it would hold up everything else.
"""

import re
import sys
from io import TextIOWrapper
from typing import TextIO

import msgspec
from msgspec import Struct

from sapwood.workspace.errors import ToolError
from sapwood.workspace.places import Place, open_file
from sapwood.workspace.tools.reading import is_binary

__all__ = ["Scan", "scan"]

_LONGEST_LINE = 1_000
_LARGEST = 50_000_000
_PEEK = 8_192
_BAD_PATTERN = 2


class Scan(Struct, frozen=True):
    """What to look for, and in which files: each as it is shown and as it is opened."""

    root: str
    pattern: str
    files: tuple[tuple[str, str], ...]
    context: int = 0
    ignore_case: bool = False


def scan(wanted: Scan, out: TextIO) -> None:
    """Writes every line that fits, with its file and number. Raises `re.error`."""
    pattern = re.compile(wanted.pattern, re.IGNORECASE if wanted.ignore_case else 0)
    written = False
    for shown, real in wanted.files:
        lines = _lines(Place(wanted.root, real, shown))
        if lines is None:
            out.write(f"{shown}: not searched, it is larger than {_LARGEST:,} bytes\n")
            continue
        hits = [number for number, line in enumerate(lines) if pattern.search(line)]
        if hits:
            _write(shown, lines, hits, wanted.context, written, out)
            written = True


def _lines(place: Place) -> list[str] | None:
    """The lines of a file, none if it is not text or cannot be read, None if it is too large."""
    try:
        with open_file(place) as file:
            data = file.read(_PEEK)
            if is_binary(data):
                return []
            data += file.read(_LARGEST)
            if file.read(1):
                return None
    except (ToolError, OSError):
        return []  # gone, changed, or not ours to read
    text = data.decode("utf-8", "replace").removesuffix("\n")
    return [line.removesuffix("\r") for line in text.split("\n")]


def _write(
    shown: str, lines: list[str], hits: list[int], context: int, go_on: bool, out: TextIO
) -> None:
    last = -1
    found = set(hits)
    for hit in hits:
        start = max(hit - context, last + 1)
        if context and (last >= 0 or go_on) and start > last + (last >= 0):
            out.write("--\n")
        for number in range(start, min(hit + context + 1, len(lines))):
            mark = ":" if number in found else "-"
            out.write(f"{shown}{mark}{number + 1}{mark}{_bounded(lines[number])}\n")
            last = number


def _bounded(line: str) -> str:
    if len(line) <= _LONGEST_LINE:
        return line
    return f"{line[:_LONGEST_LINE]} [... omitted end of long line]"


def main() -> int:
    """Scans what the input says."""
    wanted = msgspec.json.decode(sys.stdin.buffer.read(), type=Scan)
    with TextIOWrapper(sys.stdout.buffer, encoding="utf-8", errors="replace") as out:
        try:
            scan(wanted, out)
        except re.error as error:
            sys.stderr.write(f"{error}\n")
            return _BAD_PATTERN
    return 0


if __name__ == "__main__":
    sys.exit(main())
