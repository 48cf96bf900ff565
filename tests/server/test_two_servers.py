"""Two server processes on one PostgreSQL database: what one does, the other shows at once."""

from collections.abc import AsyncGenerator, AsyncIterator, Generator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from bench.served import ServedProcess

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def servers(postgres_database: str, tmp_path: Path) -> Generator[list[ServedProcess]]:
    """Two servers that share a database and the tokens."""
    folder = tmp_path / "home"
    folder.mkdir()
    found = [ServedProcess(folder, postgres_database) for _ in range(2)]
    for each in found:
        each.start()
    yield found
    for each in found:
        each.stop()


def client(server: ServedProcess, token: str) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        base_url=server.address, headers={"Authorization": f"Bearer {token}"}, timeout=30
    )


@asynccontextmanager
async def following(
    to: httpx2.AsyncClient, agent: str, last: int = 0
) -> AsyncGenerator[AsyncIterator[int]]:
    """The versions of the events that a follower gets, after the last one that it has."""
    path, headers = f"/v1/agents/{agent}/events", {"Last-Event-ID": str(last)}
    async with to.stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200

        async def versions() -> AsyncIterator[int]:
            async for line in answer.aiter_lines():
                if line.startswith("id: "):
                    yield int(line[4:])

        yield versions()


async def started(to: httpx2.AsyncClient) -> str:
    answer = await to.post("/v1/agents", json={"name": "shared"})
    assert answer.status_code == 201, answer.text
    return answer.json()["agent"]


async def mark(to: httpx2.AsyncClient, agent: str, name: str) -> None:
    answer = await to.post(f"/v1/agents/{agent}/commands/mark", json={"args": name})
    assert answer.status_code == 200, answer.text


async def test_events_of_one_server_arrive_at_followers_of_the_other(
    servers: list[ServedProcess],
) -> None:
    token = servers[0].token()
    async with client(servers[0], token) as one, client(servers[1], token) as two:
        agent = await started(one)
        assert (await two.get(f"/v1/agents/{agent}")).json()["name"] == "shared"
        async with following(two, agent) as versions:
            first = await anext(versions)
            await mark(one, agent, "A")
            await mark(one, agent, "B")
            found = [await anext(versions), await anext(versions)]
    assert found == [first + 1, first + 2]


async def test_a_follower_resumes_at_the_other_server(servers: list[ServedProcess]) -> None:
    token = servers[0].token()
    async with client(servers[0], token) as one, client(servers[1], token) as two:
        agent = await started(one)
        async with following(one, agent) as versions:
            await mark(two, agent, "A")
            last = await anext(versions)
        await mark(one, agent, "B")
        async with following(two, agent, last) as versions:
            await mark(one, agent, "C")
            found = [await anext(versions) for _ in range(3)]
        servers[0].stop()
        await mark(two, agent, "D")
        async with following(two, agent, found[-1]) as versions:
            found.append(await anext(versions))
    assert found == [last + 1, last + 2, last + 3, last + 4]


async def test_a_command_repeated_at_the_other_server_acts_once(
    servers: list[ServedProcess],
) -> None:
    token = servers[0].token()
    async with client(servers[0], token) as one, client(servers[1], token) as two:
        agent = await started(one)
        body = {"args": "A", "id": "one"}
        path = f"/v1/agents/{agent}/commands/mark"
        first = await one.post(path, json=body)
        again = await two.post(path, json=body)
    assert again.json()["message"] == first.json()["message"]
    assert again.json()["repeated"]
