"""A client sends a request again until it is answered, and resumes a stream after what it has."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager

import httpx2
import pytest

from sapwood.core.errors import LogUnavailable
from sapwood_server.client import http_session
from sapwood_server.client.http_session import HttpSession


async def test_an_id_without_data_is_where_the_stream_resumes() -> None:
    asked: list[str] = []
    streams = iter(
        (
            "retry: 1000\n\nid: 7.5\nevent: delta\ndata: 1\n\n",
            "retry: 1000\n\nid: 8\nevent: prompt.queued\ndata: 2\n\nid: 8.5\n\n",
            "retry: 1000\n\nid: 8.9\nevent: delta\ndata: 3\n\n",
        )
    )

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.headers["last-event-id"])
        return httpx2.Response(200, text=next(streams), headers=_SSE)

    session = HttpSession("http://127.0.0.1:1", "", transport=httpx2.MockTransport(answer))
    got: list[str] = []
    async with asyncio.timeout(20), aclosing(session.stream("/events", "7")) as messages:
        async for message in messages:
            got.append(message.data)
            if len(got) == 3:
                break
    await session.close()
    assert got == ["1", "2", "3"]
    assert asked == ["7", "7.5", "8.5"]


_SSE = {"Content-Type": "text/event-stream"}


class LateServer:
    """Takes requests, and answers one that is sent for the third time."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self._over = asyncio.Event()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        size = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0])
        self.bodies.append(await reader.readexactly(size))
        if len(self.bodies) < 3:
            await self._over.wait()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        await writer.drain()
        self._over.set()
        writer.close()

    @asynccontextmanager
    async def session(self, patience: float) -> AsyncGenerator[HttpSession]:
        async with await asyncio.start_server(self._answer, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            opened = HttpSession(f"http://127.0.0.1:{port}", "", patience=patience)
            yield opened
            self._over.set()
            await opened.close()


async def test_a_request_that_takes_longer_than_a_read_timeout_is_sent_again_with_its_id(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_session, "_REQUEST", 0.2)
    late = LateServer()
    async with asyncio.timeout(20), late.session(patience=0.1) as session:
        found = await session.post("/v1/agents/a/commands/compact", {"id": "once"}, dict[str, str])
    assert found == {}
    assert late.bodies == [b'{"id":"once"}'] * 3


async def test_a_server_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_session, "_REQUEST", 0.2)
    monkeypatch.setattr(http_session, "_WORK", 0.1)
    late = LateServer()
    async with asyncio.timeout(20), late.session(patience=0.1) as session:
        with pytest.raises(LogUnavailable, match="not responding"):
            await session.post("/v1/agents/a/commands/compact", {"id": "once"}, dict[str, str])
    assert len(late.bodies) == 1
