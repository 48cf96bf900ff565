"""A server that stops: first it accepts no more, then its streams end, and clients go elsewhere."""

import httpx2
import pytest

from tests.server.live_server import LiveServer
from tests.server.serving import record


async def test_a_client_whose_stream_ends_cannot_come_back_to_this_server(live: LiveServer) -> None:
    agent = await record(live.connection, ("Hello.", "Hi."))
    headers = {"Authorization": f"Bearer {live.token()}"}
    found: list[int] = []
    async with httpx2.AsyncClient(base_url=live.address, headers=headers, timeout=30) as client:
        async with client.stream("GET", f"/v1/agents/{agent}/events") as answer:
            async for line in answer.aiter_lines():
                if line.startswith("id: "):
                    found.append(int(line[4:]))
                if len(found) == 2:
                    live.stop.set()  # the stream ends by itself
        assert found == [1, 2]
    async with httpx2.AsyncClient() as again:
        with pytest.raises(httpx2.ConnectError):
            await again.get(f"{live.address}/healthz")
