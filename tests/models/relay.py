"""A relay in front of a server that records every request body as bytes."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

_HOST = "127.0.0.1"


class Relay:
    """What went by. `url` is where to send to."""

    def __init__(self, target: int) -> None:
        self.url = ""
        self.bodies: list[bytes] = []
        self.connections = 0
        self.open: list[asyncio.Future[None]] = []
        self._target = target

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until either side hangs up."""
        self.connections += 1
        back, forth = await asyncio.open_connection(_HOST, self._target)
        ways = [
            asyncio.ensure_future(self._ask(reader, forth)),
            asyncio.ensure_future(_answer(back, writer)),
        ]
        self.open.append(asyncio.ensure_future(_until_over(ways, forth, writer)))

    async def _ask(self, reader: asyncio.StreamReader, forth: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            body = await reader.readexactly(_length(head))
            self.bodies.append(body)
            forth.write(head + body)
            await forth.drain()


async def _answer(back: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await back.read(65_536):
        writer.write(piece)
        await writer.drain()


async def _until_over(ways: Sequence[asyncio.Future[None]], *writers: asyncio.StreamWriter) -> None:
    await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    for way in ways:
        way.cancel()
    await asyncio.gather(*ways, return_exceptions=True)
    for writer in writers:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.split(b":")[1])
    return 0


@asynccontextmanager
async def open_relay(url: str) -> AsyncGenerator[Relay]:
    """A relay to the server at that address."""
    relay = Relay(urlsplit(url).port or 0)
    server = await asyncio.start_server(relay.connected, _HOST, limit=2**24)
    relay.url = f"http://{_HOST}:{server.sockets[0].getsockname()[1]}"
    try:
        yield relay
    finally:
        server.close()
        await asyncio.gather(*relay.open)
