"""The health server of a worker: alive, ready, and its numbers."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sapwood.api import Sapwood
from sapwood.app.connection import connect
from sapwood.app.health_server import Health, HealthServer, health_server
from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import LogError
from sapwood.engine.wake_database import open_wake_database
from sapwood.engine.wake_requests import WakeRequest
from sapwood.metrics import Metrics


class Probe:
    """Asks the server."""

    def __init__(self, port: int, db: Sapwood) -> None:
        self._port = port
        self.db = db

    async def send(self, data: bytes) -> str:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(data)
        await writer.drain()
        async with asyncio.timeout(30):
            answer = await reader.read()
        writer.close()
        return answer.decode()

    async def get(self, path: str, method: str = "GET") -> str:
        return await self.send(f"{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())


@pytest.fixture
async def probe() -> AsyncIterator[Probe]:
    connection = await connect(":memory:")
    server = HealthServer(Health(connection, lambda space: space == "local", Metrics()))
    async with health_server(server, "127.0.0.1", 0) as said:
        port = int(said.partition("127.0.0.1:")[2].partition("/")[0])
        yield Probe(port, Sapwood(connection))
    await connection.close()


async def test_it_lives_and_is_ready(probe: Probe) -> None:
    assert (await probe.get("/healthz")).startswith("HTTP/1.1 200 OK")
    assert (await probe.get("/readyz")).endswith("ready\n")


async def test_it_is_not_ready_without_its_database(
    probe: Probe, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(**_: object) -> None:
        raise LogError("The database is away.")

    monkeypatch.setattr(probe.db.connection.log, "working_spaces", away)
    assert (await probe.get("/readyz")).startswith("HTTP/1.1 503")
    assert (await probe.get("/healthz")).startswith("HTTP/1.1 200")
    assert "sapwood_database_up 0" in await probe.get("/metrics")


async def test_open_turns_are_counted_in_the_served_spaces_alone(probe: Probe) -> None:
    for db in (probe.db, probe.db.space("other")):
        await (await db.start("bird", model="claude")).prompt("How cold is it?")
    text = await probe.get("/metrics")
    assert 'sapwood_open_turns{space="local"} 1' in text
    assert "other" not in text
    assert "How cold" not in text
    assert "text/plain; version=0.0.4" in text


def woken(space: str, seconds: int) -> WakeRequest:
    """An agent that was woken so many seconds ago."""
    drive = f"{time.time_ns() - seconds * 1_000_000_000:016x}"
    return WakeRequest(Space(space), AgentId(f"a{seconds}"), drive)


async def test_the_age_of_waiting_and_running_work_is_measured_by_space(tmp_path: Path) -> None:
    address = str(tmp_path / "log.db")
    connection, metrics = await connect(address), Metrics()
    engine = await open_wake_database(address)
    try:
        health = Health(connection, lambda space: space != "other", metrics)
        for space, seconds in (("busy", 90), ("busy", 5), ("idle", 7), ("other", 500)):
            await engine.wake(woken(space, seconds))
        await engine.wake_here(woken("idle", 40), "worker", "worker/1")
        await health.numbers()
        found = {
            (each.name, dict(each.labels)["space"]): each.value
            for each in metrics.samples()
            if each.name.startswith("sapwood_oldest")
        }
        assert found == {
            ("sapwood_oldest_waiting_seconds", "busy"): pytest.approx(90, abs=30),
            ("sapwood_oldest_waiting_seconds", "idle"): pytest.approx(7, abs=30),
            ("sapwood_oldest_running_seconds", "idle"): pytest.approx(40, abs=30),
        }
    finally:
        await engine.close()
        await connection.close()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"POST /healthz HTTP/1.1\r\n\r\n", "405"),
        (b"GET /etc/passwd HTTP/1.1\r\n\r\n", "404"),
        (b"nonsense\r\n\r\n", "405"),
        (b"GET  HTTP/1.1\r\n\r\n", "404"),
    ],
)
async def test_anything_else_is_refused(probe: Probe, sent: bytes, status: str) -> None:
    assert (await probe.send(sent)).startswith(f"HTTP/1.1 {status}")


async def test_a_head_that_never_ends_is_cut(probe: Probe) -> None:
    assert await probe.send(b"GET /healthz HTTP/1.1\r\nX: " + b"y" * 20_000) == ""
    assert (await probe.get("/healthz", "HEAD")).endswith("\r\n\r\n")
