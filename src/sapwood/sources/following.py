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
        self.place = place
        self.replaced = False

    def read(self, *, rest: bool = False) -> Iterator[tuple[bytes, int]]:
        """Every row that was not read yet, and where it begins; the `rest` is one too if wanted."""
        with self._path.open("rb", buffering=_BUFFER) as file:
            self._settle(os.fstat(file.fileno()))
            file.seek(self.place.offset)
            while row := _next_row(file):
                offset = self.place.offset
                if not row.endswith(b"\n") and not rest:
                    break
                self.place = Place(self.place.file, file.tell())
                if len(row) < LONGEST_ROW:
                    yield row, offset

    def _settle(self, status: os.stat_result) -> None:
        """Starts anew if this is not the file that was read before."""
        known, now = self.place, (status.st_dev, status.st_ino)
        is_other = known.file not in (START.file, now)
        self.replaced = is_other or status.st_size < known.offset
        self.place = Place(now, 0 if self.replaced else known.offset)


def _next_row(file: BinaryIO) -> bytes:
    """The next line; of one that is too long, enough to know that it is."""
    row = file.readline(LONGEST_ROW)
    if len(row) < LONGEST_ROW:
        return row
    while (more := file.readline(LONGEST_ROW)) and not more.endswith(b"\n"):
        pass
    return row[:-1] + more[-1:]
