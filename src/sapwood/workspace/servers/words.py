"""The last words of a server: what it wrote to its error output, bounded."""

import asyncio
import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import TextIO

__all__ = ["LastWords"]

_MOST = 1_000
_LINES = 3


class LastWords:
    """Keeps the end of what a program writes, so that its end can be explained."""

    def __init__(self) -> None:
        self._kept = b""

    @property
    def text(self) -> str:
        """The last lines, '' if there were none."""
        lines = self._kept.decode("utf-8", "replace").strip().splitlines()
        return " ".join(line.strip() for line in lines[-_LINES:])

    @contextmanager
    def listening(self) -> Generator[TextIO]:
        """A file for the program to write to, read here as long as the context is open."""
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        loop = asyncio.get_running_loop()
        loop.add_reader(reading, self._read, reading)
        try:
            with os.fdopen(writing, "w") as file:
                yield file
        finally:
            self._read(reading)
            loop.remove_reader(reading)
            os.close(reading)

    def _read(self, descriptor: int) -> None:
        try:
            data = os.read(descriptor, 65_536)
        except BlockingIOError:
            return
        if not data:  # nobody writes any more; asking again would find the same
            asyncio.get_running_loop().remove_reader(descriptor)
        self._kept = (self._kept + data)[-_MOST:]
