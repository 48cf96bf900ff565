"""The results of tools: their largest size, and the error for a call that did nothing.

The runtime has a smaller limit of its own for what a model sees of a result.
"""

from sapwood.core.errors import SapwoodError
from sapwood.core.plural import counted

MAX_RESULT_BYTES = 5_000_000
"""Bytes of one result. Results are stored whole in the log, so they need a limit."""


def byte_size(count: int) -> str:
    """A number of bytes as text.

    >>> byte_size(1), byte_size(12_345)
    ('1 byte', '12,345 bytes')
    """
    return counted(count, "byte")


def truncate(text: str) -> str:
    """The text, or as much of it as a result may have and a note on how many are missing."""
    if len(text) <= MAX_RESULT_BYTES:
        return text
    missing = len(text) - MAX_RESULT_BYTES
    return f"{text[:MAX_RESULT_BYTES]}\n[{missing:,} more characters were left out]"


class BoundedOutput:
    """Collects bytes: all of them, or the first four fifths and the last fifth of `max_bytes`."""

    def __init__(self, max_bytes: int = MAX_RESULT_BYTES) -> None:
        self._max_last = max_bytes // 5
        self._max_first = max_bytes - self._max_last
        self._first = bytearray()
        self._last = bytearray()
        self.dropped = 0

    def add(self, data: bytes) -> None:
        """Adds bytes; memory use stays bounded."""
        room = self._max_first - len(self._first)
        self._first += data[:room] if room > 0 else b""
        self._last += data[max(room, 0) :]
        if len(self._last) > 2 * self._max_last:
            self._trim()

    def text(self) -> str:
        """The collected bytes as text; invalid UTF-8 becomes replacement characters."""
        self._trim()
        if not self.dropped:
            return bytes(self._first + self._last).decode("utf-8", "replace")
        first = bytes(self._first).decode("utf-8", "replace")
        last = bytes(self._last).decode("utf-8", "replace")
        return f"{first}\n[{byte_size(self.dropped)} in the middle were left out]\n{last}"

    def _trim(self) -> None:
        surplus = len(self._last) - self._max_last
        if surplus > 0:
            del self._last[:surplus]
            self.dropped += surplus


class ToolError(SapwoodError):
    """A tool did not do what was asked. The message tells the model why and what to do instead.

    >>> def cancel(order: str) -> str:
    ...     raise ToolError(f"{order} was sent already. Tell the customer how to send it back.")
    """


class ToolBlocked(ToolError):
    """A permission rule, the mode, or the absence of a person kept a tool from running.

    `remedy` says the same to the person who started the program, with the rule that would help.
    """

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy
