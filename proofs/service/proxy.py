"""The network between a process and the database: it can lose packets, be cut, and lead elsewhere.

TCP hides a lost packet: its bytes arrive late, after it was sent again. So a loss is a pause here.
While the network is cut, nothing passes and nothing is refused; what was sent arrives afterwards.
Bytes pass in the callback that brings them, because every statement of all processes comes by here.
"""

import asyncio
import random
from contextlib import suppress
from typing import cast
from urllib.parse import urlsplit

SENT_AGAIN = 0.2
"""Seconds until Linux sends a lost packet again, at least."""

_PIECE = 1400
"""Bytes of a packet."""


class Proxy:
    """Passes bytes on to a server. New ones begin with `open`."""

    def __init__(self, dsn: str, chance: random.Random) -> None:
        self._dsn = dsn
        self._chance = chance
        self._server: asyncio.Server | None = None
        self._is_cut = False
        self._ends: set[_End] = set()
        self._connecting: set[asyncio.Task[None]] = set()
        self.loss = 0.0
        """The share of packets that is lost."""

    async def open(self) -> None:
        """Begins to listen on a free port."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._accept, "127.0.0.1", 0)

    @property
    def dsn(self) -> str:
        """The address of the database by this way."""
        assert self._server is not None
        there = urlsplit(self._dsn)
        port = self._server.sockets[0].getsockname()[1]
        return there._replace(netloc=f"{there.username}@127.0.0.1:{port}").geturl()

    def cut(self) -> None:
        """Passes nothing on until `heal`."""
        self._is_cut = True

    def heal(self) -> None:
        """Passes everything on again, first what was sent meanwhile."""
        self._is_cut = False
        for end in tuple(self._ends):
            end.pass_on()

    def lead_to(self, dsn: str) -> None:
        """Leads to another server from now on. Existing connections end."""
        self._dsn = dsn
        for end in tuple(self._ends):
            end.abort()

    async def close(self) -> None:
        """Ends all connections."""
        if self._server is not None:
            self._server.close()
        for task in self._connecting:
            task.cancel()
        while self._ends:  # a socket is closed in the next round of the loop
            for end in tuple(self._ends):
                end.abort()
            await asyncio.sleep(0)

    def pause(self, size: int) -> float | None:
        """Seconds by which so many bytes are late; None while nothing passes."""
        if self._is_cut:
            return None
        packets = -(-size // _PIECE)
        is_lost = self.loss and self._chance.random() > (1 - self.loss) ** packets
        return SENT_AGAIN if is_lost else 0.0

    def add(self, end: "_End") -> None:
        """Notes one end of a connection."""
        self._ends.add(end)

    def remove(self, end: "_End") -> None:
        """Forgets one end of a connection."""
        self._ends.discard(end)

    def _accept(self) -> "_End":
        client = _End(self)
        task = asyncio.ensure_future(self._connect(client))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)
        return client

    async def _connect(self, client: "_End") -> None:
        loop, port = asyncio.get_running_loop(), urlsplit(self._dsn).port or 5432
        try:
            _, server = await loop.create_connection(lambda: _End(self), "127.0.0.1", port)
        except OSError:
            client.abort()  # the server is down: the connection ends at once
        else:
            server.join(client)
            client.join(server)


class _End(asyncio.Protocol):
    """One end of a connection. What it receives goes to the other end, in order."""

    def __init__(self, way: Proxy) -> None:
        self._way = way
        self._transport: asyncio.Transport | None = None
        self._other: _End | None = None
        self._waiting: list[bytes] = []
        self._late: asyncio.TimerHandle | None = None
        self._is_ended = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is open."""
        self._transport = cast("asyncio.Transport", transport)
        self._way.add(self)
        if self._is_ended:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Passes bytes on, unless others wait."""
        if self._other is None or self._late or self._waiting or self._way.pause(0) is None:
            self._waiting.append(data)
        elif late := self._way.pause(len(data)):
            self._waiting.append(data)
            self._late = asyncio.get_running_loop().call_later(late, self._arrive)
        else:
            self._other.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends the other end too, after what was received."""
        self._way.remove(self)
        self._is_ended = True
        if not self._waiting:
            self._end_other()

    def pause_writing(self) -> None:
        """The receiver is slow: the other end reads no more for now."""
        if self._other is not None:
            self._other.set_reading(False)

    def resume_writing(self) -> None:
        """The receiver has caught up."""
        if self._other is not None:
            self._other.set_reading(True)

    def join(self, other: "_End") -> None:
        """From now on, what is received goes to this other end."""
        self._other = other
        self.pass_on()

    def pass_on(self) -> None:
        """Passes on what waits, unless nothing passes now."""
        if self._other is None or self._late or self._way.pause(0) is None:
            return
        for data in self._waiting:
            self._other.write(data)
        self._waiting.clear()
        if self._is_ended:
            self._end_other()

    def write(self, data: bytes) -> None:
        """Sends bytes."""
        if self._transport is not None and not self._is_ended:
            self._transport.write(data)

    def set_reading(self, reads: bool) -> None:
        """Whether bytes are received."""
        if self._transport is not None and not self._is_ended:
            with suppress(RuntimeError):  # it is closing
                (self._transport.resume_reading if reads else self._transport.pause_reading)()

    def close(self) -> None:
        """Ends the connection after what was sent."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Ends the connection at once."""
        self._is_ended = True
        if self._late is not None:
            self._late.cancel()
        if self._transport is not None:
            self._transport.abort()

    def _arrive(self) -> None:
        self._late = None
        self.pass_on()

    def _end_other(self) -> None:
        if self._other is not None:
            self._other.close()
