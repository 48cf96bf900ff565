"""Reads the rows of a file that another program may still be writing.

A row is complete when its line has ended. An incomplete last row is read later, when it is
complete.
"""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

LONGEST_ROW = 256 * 1024 * 1024
"""A longer row is skipped: no program writes one, and it would have to fit into memory."""

_BUFFER = 1024 * 1024


def require_regular_file(path: Path) -> None:
    """Raises `OSError` for a pipe, a device or a socket: opening or reading it might never end."""
    if not stat.S_ISREG(os.stat(path).st_mode) and not path.is_dir():
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))


class FilePosition(Struct, frozen=True):
    """A file, by its device and inode, and the byte up to which it was read."""

    file: tuple[int, int] = (0, 0)
    offset: int = 0


START = FilePosition()


class RowFile:
    """The rows of one file from a position on. Each `read` continues where the last one ended.

    `replaced` is true if the file at this path is another one or has become shorter, so that it was
    read from its beginning.
    """

    def __init__(self, path: Path, position: FilePosition = START) -> None:
        self._path = path
        self._file = position.file
        self._offset = position.offset
        self.replaced = False

    @property
    def position(self) -> FilePosition:
        """Where the next `read` begins."""
        return FilePosition(self._file, self._offset)

    def read(self, *, rest: bool = False) -> Iterator[tuple[bytes, int]]:
        """Yields every new row and its offset; with `rest`, also an incomplete last row."""
        require_regular_file(self._path)
        with self._path.open("rb", buffering=_BUFFER) as file:
            self._check_replaced(os.fstat(file.fileno()))
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

    def _check_replaced(self, status: os.stat_result) -> None:
        """Starts from the beginning if this is not the file that was read before."""
        now = status.st_dev, status.st_ino
        self.replaced = self._file not in (START.file, now) or status.st_size < self._offset
        self._file = now
        if self.replaced:
            self._offset = 0


def _last_of(file: BinaryIO, row: bytes) -> bytes:
    """Skips a line that is too long for memory, and returns its last piece."""
    while not row.endswith(b"\n") and (more := file.readline(LONGEST_ROW)):
        row = more
    return row
