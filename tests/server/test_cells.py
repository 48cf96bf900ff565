"""Two cells behind the router: a space moves while clients use it, and nobody notices."""

import asyncio
from collections.abc import Generator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx2
import pytest
from starlette.types import ASGIApp

from sapwood.app.connection import connect
from sapwood.app.space_move import move_space
from sapwood.config.config_file import Config
from sapwood.core.events import MarkSet
from sapwood.core.ids import AgentId, Space
from sapwood.store.postgres import PostgresLog
from sapwood_server.access.identity import Identities
from sapwood_server.application import create_application
from sapwood_server.router import MemoryDirectory, Router, create_router
from sapwood_server.served_space import ServedSpaces
from sapwood_server.server_tables import tokens_of
from tests.postgres_session import new_database

SPACE = Space("acme")


class Network(httpx2.AsyncBaseTransport):
    """Sends requests to the applications of cells, by the host in the address."""

    def __init__(self, apps: dict[str, ASGIApp]) -> None:
        self._apps = apps

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return await httpx2.ASGITransport(self._apps[request.url.host]).handle_async_request(
            request
        )


@pytest.fixture
def cells(postgres_dsn: str, postgres_template: str) -> Generator[dict[str, str]]:
    """The databases of two cells."""
    with (
        new_database(postgres_dsn, postgres_template) as first,
        new_database(postgres_dsn, postgres_template) as second,
    ):
        yield {"a": first, "b": second}


async def test_clients_of_a_space_that_moves_lose_nothing_and_get_no_error(
    cells: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    async with AsyncExitStack() as stack:
        apps: dict[str, ASGIApp] = {}
        logs: dict[str, PostgresLog] = {}
        for cell, address in cells.items():
            connection = await connect(address, secrets=())
            stack.push_async_callback(connection.close)
            spaces = ServedSpaces(connection, Config(database=address), {}, drives=False)
            stack.push_async_callback(spaces.close)
            assert isinstance(connection.log, PostgresLog)
            logs[cell] = connection.log
            identities = Identities(tokens_of(connection.log), "local")
            apps[cell] = create_application(spaces, identities, ("router",))
        token, _ = await logs["a"].tokens.create("ada", SPACE, ("read", "write"))
        table = MemoryDirectory()
        await table.add(SPACE, "a")
        router = Router({cell: f"http://{cell}" for cell in cells}, table, Network(apps))
        client = httpx2.AsyncClient(
            transport=httpx2.ASGITransport(create_router(router)),
            base_url="http://router",
            headers={"Authorization": f"Bearer {token}", "Sapwood-Space": SPACE},
            timeout=60,
        )
        await stack.enter_async_context(client)
        answer = await client.post("/v1/agents", json={"name": "demo"})
        assert answer.status_code == 201, answer.text
        agent = AgentId(answer.json()["agent"])
        moved, marks = asyncio.Event(), list[str]()

        async def mark(client_number: int) -> None:
            number = 0
            while not moved.is_set() or number < 2:
                name = f"c{client_number}n{number}"
                done = await client.post(f"/v1/agents/{agent}/commands/mark", json={"args": name})
                assert done.status_code == 200, done.text
                marks.append(name)
                number += 1

        clients = [asyncio.ensure_future(mark(number)) for number in range(3)]
        report = await move_space(cells["a"], SPACE, cells["b"], cell="b")
        moved.set()
        await asyncio.gather(*clients)

        assert report.pause < 2
        assert await table.find(SPACE) == "b"
        events = await logs["b"].read(SPACE, agent)
        assert [each.version for each in events] == list(range(1, len(events) + 1))
        named = [each.event.name for each in events if isinstance(each.event, MarkSet)]
        assert sorted(named) == sorted(marks)
        assert await logs["a"].read(SPACE, agent) == []
        direct = httpx2.AsyncClient(transport=Network(apps), headers=client.headers)
        old = await direct.get(f"http://a/v1/agents/{agent}", headers={"Host": "router"})
        assert (old.status_code, old.headers["sapwood-moved"]) == (421, "b")
        assert old.json()["type"] == "urn:sapwood:problem:space-moved"
