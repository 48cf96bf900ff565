"""Reads HTTP/1.1 requests and writes responses on asyncio streams. Knows nothing about models.

Streams are sent with chunked encoding, so that a client can tell a dropped connection from an end.
"""

import asyncio
import gzip
import zlib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from urllib.parse import parse_qsl

from msgspec import Struct

_PHRASES = {status.value: status.phrase for status in HTTPStatus} | {529: "Overloaded"}


class HttpRequest(Struct, frozen=True):
    """A request. Header names are in lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    keep_alive: bool
    """Whether the client wants to use the connection again."""


class DisconnectReader(asyncio.StreamReader):
    """A reader that cancels the task of its request when the client disconnects."""

    handler_task: asyncio.Task[None] | None = None

    def feed_eof(self) -> None:
        """Called when the client closes the connection."""
        super().feed_eof()
        self._cancel_task()

    def set_exception(self, exc: Exception) -> None:
        """Called when the connection breaks."""
        super().set_exception(exc)
        self._cancel_task()

    def _cancel_task(self) -> None:
        if self.handler_task is not None:
            self.handler_task.cancel()


@contextmanager
def cancel_on_disconnect(
    reader: asyncio.StreamReader, task: asyncio.Task[None] | None
) -> Generator[None]:
    """Within this context, the task is cancelled when the client disconnects."""
    assert isinstance(reader, DisconnectReader)
    if reader.at_eof():
        raise ConnectionResetError
    reader.handler_task = task
    try:
        yield
    finally:
        reader.handler_task = None


async def read_http_request(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> HttpRequest | None:
    """Returns the next request of a connection, or `None` at its end."""
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
    keep_alive = version == "HTTP/1.1" and headers.get("connection", "").lower() != "close"
    return HttpRequest(
        method, path, dict(parse_qsl(query)), headers, _unpacked(headers, body), keep_alive
    )


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
    """Returns the body without compression. An unknown encoding is left as it is."""
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


class HttpResponse:
    """The response to one request, sent as a whole or as a stream."""

    def __init__(self, writer: asyncio.StreamWriter, *, keep_alive: bool) -> None:
        self._writer = writer
        self.keep_alive = keep_alive

    async def send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """Sends a whole response."""
        self._head(status, {**headers, "content-length": str(len(body))}, body)
        await self._writer.drain()

    def start_stream(self, headers: Mapping[str, str]) -> None:
        """Sends the head of a stream."""
        self._head(200, {**headers, "transfer-encoding": "chunked"}, b"")

    async def send_piece(self, data: bytes | bytearray) -> None:
        """Sends a piece of a stream."""
        self._writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        await self._writer.drain()

    async def finish_stream(self) -> None:
        """Sends the regular end of a stream."""
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    async def send_partial(self, headers: Mapping[str, str], body: bytes, size: int) -> None:
        """Announces the whole body, sends its first `size` bytes, and closes the connection."""
        promised = {**headers, "content-length": str(len(body))}
        self._head(200, promised, body[:size])
        await self.close()

    async def close(self) -> None:
        """Closes the connection. Bytes sent before still arrive."""
        self.keep_alive = False
        await self._writer.drain()
        self._writer.close()

    def _head(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        named = {**headers, "connection": "keep-alive" if self.keep_alive else "close"}
        lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        phrase = _PHRASES.get(status, "Scripted")
        self._writer.write(f"HTTP/1.1 {status} {phrase}\r\n{lines}\r\n".encode("latin-1") + body)
