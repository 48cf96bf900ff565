"""Searches files in Python, in a process of its own, because a regular expression may never end.

Reads a `SearchTask` as JSON from stdin and writes lines as ripgrep does. A process can be killed; a
thread with a regular expression cannot, and it would block everything else.
"""

import re
import sys
from io import TextIOWrapper
from typing import TextIO

import msgspec
from msgspec import Struct

from sapwood.workspace.safe_paths import ResolvedPath, open_file
from sapwood.workspace.tool_output import ToolError
from sapwood.workspace.tools.file_reader import is_binary

_MAX_LINE = 1_000
_MAX_FILE = 50_000_000
_PEEK = 8_192
_BAD_PATTERN = 2


class SearchTask(Struct, frozen=True):
    """What to search for, and in which files: for each the shown and the real path."""

    root: str
    pattern: str
    files: tuple[tuple[str, str], ...]
    context: int = 0
    ignore_case: bool = False


def search(wanted: SearchTask, out: TextIO) -> None:
    """Writes every matching line with its file and number. Raises `re.error`."""
    pattern = re.compile(wanted.pattern, re.IGNORECASE if wanted.ignore_case else 0)
    written = False
    for shown, real in wanted.files:
        lines = _lines(ResolvedPath(wanted.root, real, shown))
        if lines is None:
            out.write(f"{shown}: not searched, it is larger than {_MAX_FILE:,} bytes\n")
            continue
        hits = [number for number, line in enumerate(lines) if pattern.search(line)]
        if hits:
            _write(shown, lines, hits, wanted.context, written, out)
            written = True


def _lines(place: ResolvedPath) -> list[str] | None:
    """The lines of a file; none if it is not readable text, None if it is too large."""
    try:
        with open_file(place) as file:
            data = file.read(_PEEK)
            if is_binary(data):
                return []
            data += file.read(_MAX_FILE)
            if file.read(1):
                return None
    except (ToolError, OSError):
        return []  # deleted, changed, or not readable
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
    if len(line) <= _MAX_LINE:
        return line
    return f"{line[:_MAX_LINE]} [... omitted end of long line]"


def main() -> int:
    """Runs the search task from stdin; returns the exit status."""
    wanted = msgspec.json.decode(sys.stdin.buffer.read(), type=SearchTask)
    with TextIOWrapper(sys.stdout.buffer, encoding="utf-8", errors="replace") as out:
        try:
            search(wanted, out)
        except re.error as error:
            sys.stderr.write(f"{error}\n")
            return _BAD_PATTERN
    return 0


if __name__ == "__main__":
    sys.exit(main())
