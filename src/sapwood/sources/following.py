"""Reads the rows of a file that may be growing, without ever touching it.

A row is whole when its line has ended; the last, unfinished one is kept back until it is.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

__all__ = ["LONGEST_ROW", "START", "Place", "Rows"]

LONGEST_ROW = 256 * 1024 * 1024
"""A longer row is passed over: no program writes one, and it would have to be held in memory."""

_BUFFER = 1024 * 1024


class Place(Struct, frozen=True):
    """Which file, by its device and number, and up to which byte it was read."""

    file: tuple[int, int] = (0, 0)
    offset: int = 0


START = Place()


class Rows:
    """The rows of one file, from a place on. Read again for what was added since.

    `replaced` says that the file was another one than before, or had become shorter, and so was
    read from its beginning.
    """

    def __init__(self, path: Path, place: Place = START) -> None:
        self._path = path
        self._file = place.file
        self._offset = place.offset
        self.replaced = False

    @property
    def place(self) -> Place:
        """Where the next reading begins."""
        return Place(self._file, self._offset)

    def read(self, *, rest: bool = False) -> Iterator[tuple[bytes, int]]:
        """Every row that was not read yet, and where it begins; the `rest` is one too if wanted."""
        with self._path.open("rb", buffering=_BUFFER) as file:
            self._settle(os.fstat(file.fileno()))
            file.seek(self._offset)
            while row := file.readline(LONGEST_ROW):
                offset = self._offset
                is_long = len(row) == LONGEST_ROW
                if is_long:
                    row = _last_of(file, row)
                if not row.endswith(b"\n") and not rest:
                    break
                self._offset = file.tell() if is_long else offset + len(row)
                if not is_long:
                    yield row, offset

    def _settle(self, status: os.stat_result) -> None:
        """Starts anew if this is not the file that was read before."""
        now = status.st_dev, status.st_ino
        self.replaced = self._file not in (START.file, now) or status.st_size < self._offset
        self._file = now
        if self.replaced:
            self._offset = 0


def _last_of(file: BinaryIO, row: bytes) -> bytes:
    """The last piece of a line that is too long to be held."""
    while not row.endswith(b"\n") and (more := file.readline(LONGEST_ROW)):
        row = more
    return row
