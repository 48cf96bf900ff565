"""A client of a stream resumes after what it has, however the connection was lost."""

import asyncio
from contextlib import aclosing

import httpx2

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
