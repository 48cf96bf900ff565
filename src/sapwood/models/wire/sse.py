"""Reads server-sent events from bytes, wherever the network cuts them. Does no I/O.

A provider is not trusted: a line and a whole reply may have only so many bytes, so that a server
cannot fill the memory.
"""

from msgspec import Struct

MAX_LINE = 16 * 2**20
"""Bytes of one line. The largest lines hold a complete answer, or an image."""
MAX_REPLY = 64 * 2**20
"""Bytes of one reply."""

_BOM = b"\xef\xbb\xbf"


class ReplyTooLarge(Exception):
    """A provider sent more than a reply may have. The message names the limit."""


class ServerEvent(Struct, frozen=True, gc=False):
    """One event: its name, '' if it has none, and its data, undecoded."""

    name: str
    data: bytes


class EventReader:
    r"""Takes bytes in pieces of any size and returns the events that they complete.

    Lines end with LF, CRLF or CR. Comments, ids and unknown fields are passed over. So are events
    whose data is empty: proxies send them to keep a connection open. An event that no empty line
    ends is not returned: the connection was cut.

    >>> reader = EventReader()
    >>> reader.feed(b": hello\nevent: ping\nda"), reader.feed(b"ta: {}\r\n\r\n")
    ([], [ServerEvent(name='ping', data=b'{}')])
    """

    def __init__(self, max_line: int = MAX_LINE, max_reply: int = MAX_REPLY) -> None:
        self._max_line = max_line
        self._max_reply = max_reply
        self._size = 0
        self._line: list[bytes] = []
        self._line_size = 0
        self._after_cr = False
        self._is_first = True
        self._name = ""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> list[ServerEvent]:
        """The events that end in this piece. Raises `ReplyTooLarge`."""
        self._size += len(piece)
        if self._size > self._max_reply:
            raise ReplyTooLarge(f"it is longer than {self._max_reply:,} bytes")
        lines = self._split(piece)
        events: list[ServerEvent] = []
        for line in lines:
            if self._is_first:
                line, self._is_first = line.removeprefix(_BOM), False
            if line:
                self._field(line)
            else:
                if any(self._data):
                    events.append(ServerEvent(self._name, b"\n".join(self._data)))
                self._name, self._data = "", []
        return events

    def _split(self, piece: bytes) -> list[bytes]:
        """The lines that end in this piece. The rest waits for the next one."""
        if self._after_cr and piece:
            piece = piece.removeprefix(b"\n")
            self._after_cr = False
        if b"\r" in piece:
            self._after_cr = piece.endswith(b"\r")
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        first, *rest = piece.split(b"\n")
        self._line.append(first)
        self._line_size += len(first)
        longest = max(self._line_size, max(map(len, rest), default=0))
        if longest > self._max_line:
            raise ReplyTooLarge(f"one line is longer than {self._max_line:,} bytes")
        if not rest:
            return []
        lines = [b"".join(self._line), *rest[:-1]]
        self._line, self._line_size = [rest[-1]], len(rest[-1])
        return lines

    def _field(self, line: bytes) -> None:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._name = value.decode(errors="replace")
