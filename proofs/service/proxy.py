"""The network between a process and the database: it can lose packets, be cut, and lead elsewhere.

TCP hides a lost packet: its bytes arrive late, after it was sent again. So a loss is a pause here.
While the network is cut, nothing passes and nothing is refused; what was sent arrives afterwards.
"""

import asyncio
import random
from contextlib import suppress
from urllib.parse import urlsplit

_SENT_AGAIN = 0.2
"""Seconds until Linux sends a lost packet again, at least."""

_PIECE = 1400
"""Bytes of a packet."""


class Proxy:
    """Passes bytes on to a server. New ones begin with `open`."""

    def __init__(self, dsn: str, chance: random.Random) -> None:
        self._dsn = dsn
        self._chance = chance
        self._server: asyncio.Server | None = None
        self._is_open = asyncio.Event()
        self._is_open.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._passing: set[asyncio.Task[None]] = set()
        self.loss = 0.0
        """The share of packets that is lost."""

    async def open(self) -> None:
        """Begins to listen on a free port."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)

    @property
    def dsn(self) -> str:
        """The address of the database by this way."""
        assert self._server is not None
        there = urlsplit(self._dsn)
        port = self._server.sockets[0].getsockname()[1]
        return there._replace(netloc=f"{there.username}@127.0.0.1:{port}").geturl()

    def cut(self) -> None:
        """Passes nothing on until `heal`."""
        self._is_open.clear()

    def heal(self) -> None:
        """Passes everything on again, first what was sent meanwhile."""
        self._is_open.set()

    def lead_to(self, dsn: str) -> None:
        """Leads to another server from now on. Existing connections end."""
        self._dsn = dsn
        for writer in self._writers:
            writer.transport.abort()

    async def close(self) -> None:
        """Ends all connections."""
        if self._server is not None:
            self._server.close()
        for task in self._passing:
            task.cancel()
        if self._passing:
            await asyncio.wait(self._passing)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._passing.add(task)
        self._writers.add(writer)
        with suppress(asyncio.CancelledError):  # by `close`; asyncio would print it
            await self._pass(reader, writer)
        self._writers.discard(writer)
        self._passing.discard(task)
        writer.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._is_open.wait()
        there = urlsplit(self._dsn)
        try:
            from_server, to_server = await asyncio.open_connection("127.0.0.1", there.port)
        except OSError:
            return  # the server is down: the connection ends at once
        self._writers.add(to_server)
        try:
            async with asyncio.TaskGroup() as ways:
                ways.create_task(self._pump(reader, to_server))
                ways.create_task(self._pump(from_server, writer))
        finally:
            self._writers.discard(to_server)
            to_server.close()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                packets = -(-len(data) // _PIECE)
                if self.loss and self._chance.random() > (1 - self.loss) ** packets:
                    await asyncio.sleep(_SENT_AGAIN)
                await self._is_open.wait()
                writer.write(data)
                await writer.drain()
        writer.transport.abort()
