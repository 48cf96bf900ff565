"""A proxy that can cut connections at any moment."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit


class Proxy:
    """Forwards everything until `cut` is called."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._writers: list[asyncio.StreamWriter] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self.lose_answer_to: bytes | None = None
        self.down = False

    def cut(self) -> None:
        """Closes every connection."""
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connects a client to the server."""
        if self.down:
            writer.transport.abort()
            return
        server_reader, server_writer = await asyncio.open_connection(self._host, self._port)
        self._writers += (writer, server_writer)
        armed = asyncio.Event()
        for each in (
            self._ask(reader, server_writer, armed),
            self._answer(server_reader, writer, armed),
        ):
            task = asyncio.create_task(each)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _ask(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, armed: asyncio.Event
    ) -> None:
        while data := await _some(reader):
            if self.lose_answer_to and self.lose_answer_to in data:
                self.lose_answer_to = None
                armed.set()
            writer.write(data)
        writer.close()

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, armed: asyncio.Event
    ) -> None:
        while data := await _some(reader):
            if armed.is_set():
                break
            writer.write(data)
        writer.transport.abort() if armed.is_set() else writer.close()

    async def close(self) -> None:
        """Closes every connection and waits for the tasks."""
        self.cut()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _some(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read(65536)
    except OSError:
        return b""


@asynccontextmanager
async def proxy_to(dsn: str) -> AsyncGenerator[tuple[Proxy, str]]:
    """A proxy before a server, and the address of the server through it."""
    parts = urlsplit(dsn)
    proxy = Proxy(parts.hostname or "localhost", parts.port or 5432)
    server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    who = f"{parts.username}:{parts.password}@" if parts.password else f"{parts.username}@"
    try:
        yield proxy, parts._replace(netloc=f"{who}127.0.0.1:{port}").geturl()
    finally:
        server.close()
        await proxy.close()
        await server.wait_closed()
