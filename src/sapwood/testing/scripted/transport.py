"""As much of HTTP/1.1 as model clients speak, over asyncio streams. Knows nothing of models.

A stream goes out in chunks, so that a client can tell a cut from an end.
"""

import asyncio
import gzip
import zlib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from urllib.parse import parse_qsl

from msgspec import Struct

__all__ = ["Hearing", "Incoming", "Outgoing", "giving_up", "read_incoming"]

_PHRASES = {status.value: status.phrase for status in HTTPStatus} | {529: "Overloaded"}


class Incoming(Struct, frozen=True):
    """A request. Names of headers are in lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    keeps: bool
    """Whether the client wants to use the connection again."""


class Hearing(asyncio.StreamReader):
    """A reader that has whoever answers stop when the client hangs up."""

    answering: asyncio.Task[None] | None = None

    def feed_eof(self) -> None:
        """The client has hung up."""
        super().feed_eof()
        self._give_up()

    def set_exception(self, exc: Exception) -> None:
        """The connection broke."""
        super().set_exception(exc)
        self._give_up()

    def _give_up(self) -> None:
        if self.answering is not None:
            self.answering.cancel()


@contextmanager
def giving_up(reader: asyncio.StreamReader, task: asyncio.Task[None] | None) -> Generator[None]:
    """Meanwhile the task is cancelled if the client hangs up."""
    assert isinstance(reader, Hearing)
    if reader.at_eof():
        raise ConnectionResetError
    reader.answering = task
    try:
        yield
    finally:
        reader.answering = None


async def read_incoming(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> Incoming | None:
    """The next request of a connection; `None` when there is no more."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, _, rest = first.partition(" ")
    target, _, version = rest.rpartition(" ")
    headers = {
        name.strip().lower(): value.strip()
        for name, colon, value in (line.partition(":") for line in lines)
        if colon
    }
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    path, _, query = target.partition("?")
    body = await _read_body(reader, headers)
    keeps = version == "HTTP/1.1" and headers.get("connection", "").lower() != "close"
    return Incoming(method, path, dict(parse_qsl(query)), headers, _unpacked(headers, body), keeps)


async def _read_body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if "chunked" not in headers.get("transfer-encoding", ""):
        return await reader.readexactly(int(headers.get("content-length") or 0))
    chunks: list[bytes] = []
    while size := int((await reader.readline()).split(b";")[0] or b"0", 16):
        chunks.append(await reader.readexactly(size))
        await reader.readline()
    await reader.readline()
    return b"".join(chunks)


def _unpacked(headers: Mapping[str, str], body: bytes) -> bytes:
    """The body without compression; one in an unknown way stays, and will be no valid JSON."""
    try:
        match headers.get("content-encoding", "").lower():
            case "gzip":
                return gzip.decompress(body)
            case "deflate":
                return zlib.decompress(body)
            case _:
                return body
    except (OSError, zlib.error):
        return body


class Outgoing:
    """The answer to one request: either whole, or in pieces."""

    def __init__(self, writer: asyncio.StreamWriter, *, keeps: bool) -> None:
        self._writer = writer
        self.keeps = keeps

    async def whole(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """Sends an answer of known length."""
        self._head(status, {**headers, "content-length": str(len(body))}, body)
        await self._writer.drain()

    def start(self, headers: Mapping[str, str]) -> None:
        """Begins a stream."""
        self._head(200, {**headers, "transfer-encoding": "chunked"}, b"")

    async def piece(self, data: bytes | bytearray) -> None:
        """Sends a piece of a stream."""
        self._writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        await self._writer.drain()

    async def finish(self) -> None:
        """Ends a stream well."""
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    async def partial(self, headers: Mapping[str, str], body: bytes, size: int) -> None:
        """Promises a body, sends only so much of it, and hangs up."""
        promised = {**headers, "content-length": str(len(body))}
        self._head(200, promised, body[:size])
        await self.cut()

    async def cut(self) -> None:
        """Hangs up without a word; what was sent before still arrives."""
        self.keeps = False
        await self._writer.drain()
        self._writer.close()

    def _head(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        named = {**headers, "connection": "keep-alive" if self.keeps else "close"}
        lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        phrase = _PHRASES.get(status, "Scripted")
        self._writer.write(f"HTTP/1.1 {status} {phrase}\r\n{lines}\r\n".encode("latin-1") + body)
