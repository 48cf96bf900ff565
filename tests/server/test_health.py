"""Health of the server: whether it lives, whether it is ready, and its numbers."""

import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from sapwood.api import open
from sapwood.core.log_values import LogUnavailable
from tests.server.serving import Served


async def test_readiness_follows_the_database_and_the_drain(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(**_: object) -> list[str]:
        raise LogUnavailable("away")

    async with served.plain_client() as client:
        assert (await client.get("/healthz")).status_code == 200
        assert (await client.get("/readyz")).json() == {"status": "ready"}
        with monkeypatch.context() as patched:
            patched.setattr(served.connection.log, "working_spaces", away)
            gone = await client.get("/readyz")
        served.spaces.draining = True
        draining = await client.get("/readyz")
        alive = await client.get("/healthz")
    assert (gone.status_code, draining.status_code, alive.status_code) == (503, 503, 200)
    assert draining.json()["detail"] == "The server is shutting down. Use another one."


async def test_the_numbers_need_the_scope_of_an_administrator(served: Served) -> None:
    async with served.client("admin") as client, served.client("read", "write") as other:
        await client.get("/nowhere")
        await other.get("/v1/agents")
        numbers = await client.get("/metrics")
        refused = await other.get("/metrics")
    assert numbers.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "sapwood_database_up 1" in numbers.text
    assert 'sapwood_http_requests_total{method="GET",status="200"}' in numbers.text
    assert refused.status_code == 403


async def test_the_numbers_name_every_space_so_no_administrator_of_a_tenant_reads_them(
    served: Served,
) -> None:
    async with open(served.connection.log, space="acme") as db:
        await (await db.start("bird", model="claude")).prompt("How cold is it?")
    async with served.client("admin") as client, served.client("admin", space="bolt") as tenant:
        numbers = await client.get("/metrics")
        refused = await tenant.get("/metrics")
    assert 'sapwood_open_turns{space="acme"} 1' in numbers.text  # though no agent runs here
    assert refused.status_code == 403
    assert "acme" not in refused.text


def test_a_server_that_drains_says_so_and_answers_until_it_stops(tmp_path: Path) -> None:
    options = ["--port", "0", "--no-agents", "--drain", "600"]
    server = subprocess.Popen(
        [sys.executable, "-m", "sapwood.cli", "serve", *options],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stderr is not None
    try:
        address = server.stderr.readline().split()[2].rstrip(".")
        server.stderr.readline()
        assert httpx2.get(f"{address}/readyz").status_code == 200
        server.send_signal(signal.SIGTERM)
        assert "Draining" in server.stderr.readline()
        assert httpx2.get(f"{address}/readyz").status_code == 503
        assert httpx2.get(f"{address}/healthz").status_code == 200
    finally:
        server.send_signal(signal.SIGTERM)  # the second signal stops it at once
        server.wait(60)
        server.stderr.close()
