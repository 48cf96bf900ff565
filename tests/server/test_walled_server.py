"""A server with two logins: one to serve, and a reader that sees one space at a time."""

from pathlib import Path

import httpx2
import pytest

from bench.served import ServedProcess
from tests.store.postgres.roles import granted_roles, login

pytestmark = pytest.mark.timeout(180)
LOGINS = ("sapwood_test_web IN ROLE sapwood_server", "sapwood_test_eyes IN ROLE sapwood_reader")


async def test_everything_is_served_through_the_wall(
    postgres_dsn: str, postgres_database: str, tmp_path: Path
) -> None:
    async with granted_roles(postgres_dsn, postgres_database, *LOGINS):
        address = login(postgres_database, "sapwood_test_web")
        reader = ("--reader-database", login(postgres_database, "sapwood_test_eyes"))
        with ServedProcess(tmp_path, address, reader) as served:
            headers = {"Authorization": f"Bearer {served.token()}"}
            async with httpx2.AsyncClient(
                base_url=served.address, headers=headers, timeout=60
            ) as client:
                await use(client)


async def use(client: httpx2.AsyncClient) -> None:
    agent = (await client.post("/v1/agents", json={"name": "heron"})).json()["agent"]
    path = f"/v1/agents/{agent}"
    marked = await client.post(f"{path}/commands/mark", json={"args": "A", "id": "one"})
    again = await client.post(f"{path}/commands/mark", json={"args": "A", "id": "one"})
    assert marked.status_code == 200, marked.text
    assert again.headers["idempotency-replayed"] == "true"
    assert [each["agent"] for each in (await client.get("/v1/agents")).json()["agents"]] == [agent]
    for rest in ("", "/rows", "/context", "/cuts", "/log", "/calls"):
        answer = await client.get(f"{path}{rest}")
        assert answer.status_code == 200, (rest, answer.text)
    assert (await client.get("/v1/search", params={"q": "heron"})).status_code == 200
    assert (await client.get(f"/c/{agent}")).status_code == 200
    async with client.stream("GET", f"{path}/events") as stream:
        async for line in stream.aiter_lines():
            if line == "event: mark.set":
                break
