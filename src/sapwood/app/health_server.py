"""The HTTP server of a worker or router: whether it lives, whether it is ready, its numbers.

| path | answer |
| --- | --- |
| `/healthz` | 200: the process runs |
| `/readyz` | 200: the database answers within two seconds; otherwise 503 |
| `/metrics` | counts and durations, for Prometheus |

It answers GET and HEAD, closes each connection after its answer, and tells nothing of what was
said. It has no login: listen on loopback, or where only your monitoring can reach it.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from importlib import metadata
from itertools import islice
from typing import Protocol

from sapwood.app.connection import Connection
from sapwood.core.errors import SapwoodError
from sapwood.core.ids import Space
from sapwood.core.log_values import LogError
from sapwood.engine.workers import read_engine_status
from sapwood.metrics import METRICS, Metrics

_CHECK_SECONDS = 2.0
_REQUEST_SECONDS = 4 * _CHECK_SECONDS
"""Longer than three checks of a slow database, and within the ten seconds of Prometheus."""

_MAX_BYTES = 8_192
_MAX_SPACES, _MAX_AGENTS = 50, 1_000
_MAX_LISTED = 10_000
_TEXT = "text/plain; charset=utf-8"
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


class Health:
    """Whether the database answers, and the numbers of this process.

    `covers` says whose open turns and queues are counted: of a worker, the spaces that it serves.
    """

    def __init__(
        self,
        connection: Connection,
        covers: Callable[[Space], bool] = lambda _: True,
        metrics: Metrics = METRICS,
    ) -> None:
        self._connection = connection
        self._covers = covers
        self._metrics = metrics
        metrics.set("sapwood_info", 1, version=metadata.version("sapwood"))

    async def numbers(self) -> str:
        if await self.database_answers():
            await self._count_open_turns()
            await self._measure_queue()
        return self._metrics.text()

    async def database_answers(self) -> bool:
        try:
            async with asyncio.timeout(_CHECK_SECONDS):
                await self._connection.log.working_spaces(limit=1)
        except (LogError, TimeoutError, OSError):
            self._metrics.set("sapwood_database_up", 0)
            return False
        self._metrics.set("sapwood_database_up", 1)
        return True

    async def _count_open_turns(self) -> None:
        log = self._connection.log
        with suppress(LogError, TimeoutError):
            async with asyncio.timeout(_CHECK_SECONDS):
                listed = await log.working_spaces(limit=_MAX_LISTED)
                counted: dict[Space, int] = {}
                for space in islice(filter(self._covers, listed), _MAX_SPACES):
                    with suppress(LogError):  # it may be encrypted, and the key missing
                        counted[space] = len(await log.working(space, limit=_MAX_AGENTS))
                self._metrics.clear("sapwood_open_turns")
                for space, count in counted.items():
                    self._metrics.set("sapwood_open_turns", count, space=space)

    async def _measure_queue(self) -> None:
        """How old the work of the engine is in the covered spaces, waiting and running."""
        with suppress(LogError, TimeoutError):
            async with asyncio.timeout(_CHECK_SECONDS):
                status = await read_engine_status(self._connection.address or ":memory:")
            ages: dict[tuple[str, Space], float] = {}
            for each in sorted(status.queued, key=lambda each: -each.seconds):
                name = f"sapwood_oldest_{'running' if each.worker else 'waiting'}_seconds"
                if self._covers(each.space) and len(ages) < 2 * _MAX_SPACES:
                    ages.setdefault((name, each.space), each.seconds)
            for name in ("sapwood_oldest_waiting_seconds", "sapwood_oldest_running_seconds"):
                self._metrics.clear(name)
            for (name, space), seconds in ages.items():
                self._metrics.set(name, seconds, space=space)


class ProcessHealth(Protocol):
    """What a health server reports of its process."""

    async def numbers(self) -> str:
        """Counts and durations, in the text format of Prometheus."""
        ...

    async def database_answers(self) -> bool:
        """Whether the database answers within two seconds."""
        ...


class HealthServer:
    """Answers the three paths."""

    def __init__(self, health: ProcessHealth) -> None:
        self._health = health

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers one request and closes the connection."""
        try:
            with suppress(TimeoutError, ConnectionError, asyncio.LimitOverrunError):
                async with asyncio.timeout(_REQUEST_SECONDS):
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(await self._answer(head))
                    await writer.drain()
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    async def _answer(self, head: bytes) -> bytes:
        line = head.partition(b"\r\n")[0].decode("latin-1").split(" ")
        method, path = (line[0], line[1].partition("?")[0]) if len(line) == 3 else ("", "")
        paths: dict[str, Callable[[], Awaitable[tuple[str, str, str]]]] = {
            "/healthz": self._alive,
            "/readyz": self._readiness,
            "/metrics": self._numbers,
        }
        if method not in ("GET", "HEAD"):
            return _response("405 Method Not Allowed", "Use GET.\n")
        if path not in paths:
            return _response("404 Not Found", f"Use one of {', '.join(paths)}.\n")
        status, kind, text = await paths[path]()
        return _response(status, text, kind, with_body=method == "GET")

    async def _alive(self) -> tuple[str, str, str]:
        return "200 OK", _TEXT, "ok\n"

    async def _readiness(self) -> tuple[str, str, str]:
        if await self._health.database_answers():
            return "200 OK", _TEXT, "ready\n"
        return "503 Service Unavailable", _TEXT, "The database is not responding.\n"

    async def _numbers(self) -> tuple[str, str, str]:
        return "200 OK", PROMETHEUS, await self._health.numbers()


def _response(status: str, text: str, kind: str = _TEXT, *, with_body: bool = True) -> bytes:
    body = text.encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + (body if with_body else b"")


@asynccontextmanager
async def health_server(server: HealthServer, host: str, port: int) -> AsyncGenerator[str]:
    """Listens inside the block and yields a sentence with the address; port 0 chooses a free one.

    Raises `SapwoodError` if it cannot listen there.
    """
    try:
        listening = await asyncio.start_server(server.handle, host, port, limit=_MAX_BYTES)
    except OSError as error:
        raise SapwoodError(f"--health cannot listen on {host}:{port}: {error}.") from error
    try:
        chosen = listening.sockets[0].getsockname()[1]
        yield f"Health and metrics: http://{host}:{chosen}/healthz, /readyz, /metrics"
    finally:
        listening.close()
        await listening.wait_closed()
