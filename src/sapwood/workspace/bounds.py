"""How much a tool returns at most. The runtime's own cap decides what a model sees of it."""

__all__ = ["MOST", "Collected", "cut", "size"]

MOST = 5_000_000
"""Bytes of one result. The whole of a result is kept in the log, so it has to end somewhere."""


def size(count: int) -> str:
    """A number of bytes, for people.

    >>> size(1), size(12_345)
    ('1 byte', '12,345 bytes')
    """
    return "1 byte" if count == 1 else f"{count:,} bytes"


def cut(text: str, most: int = MOST) -> str:
    """The text, or its beginning and a word on what is missing."""
    if len(text) <= most:
        return text
    return f"{text[:most]}\n[{len(text) - most:,} more characters were left out]"


class Collected:
    """Bytes as they arrive: all of them, or the first four fifths and the last fifth of `most`."""

    def __init__(self, most: int = MOST) -> None:
        self._most_last = most // 5
        self._most_first = most - self._most_last
        self._first = bytearray()
        self._last = bytearray()
        self.dropped = 0

    def add(self, data: bytes) -> None:
        """Takes in some more; memory stays bounded."""
        room = self._most_first - len(self._first)
        self._first += data[:room] if room > 0 else b""
        self._last += data[max(room, 0) :]
        if len(self._last) > 2 * self._most_last:
            self._trim()

    def text(self) -> str:
        """What was kept, as text; bytes that are none are shown as such."""
        self._trim()
        if not self.dropped:
            return bytes(self._first + self._last).decode("utf-8", "replace")
        first = bytes(self._first).decode("utf-8", "replace")
        last = bytes(self._last).decode("utf-8", "replace")
        return f"{first}\n[{size(self.dropped)} in the middle were left out]\n{last}"

    def _trim(self) -> None:
        surplus = len(self._last) - self._most_last
        if surplus > 0:
            del self._last[:surplus]
            self.dropped += surplus
