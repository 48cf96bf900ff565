"""`sapwood top`: spaces with work, workers, queues and cost."""

import asyncio
import json
import secrets
from pathlib import Path

import pytest

from sapwood import RecordedReply, Text, Usage
from sapwood.api import open
from tests.cli.calling import Sapwooder


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, home: Path) -> str:
    """A database of either kind."""
    if request.param == "sqlite":
        return str(home / "team.db")
    return str(request.getfixturevalue("postgres_dsn"))


async def fill(address: str, space: str) -> None:
    reply = RecordedReply((Text("Yes."),), "claude", Usage(1_000, 50, cost=2_000_000))
    async with open(address, space=f"{space}-a") as db:
        db.connection.wakes = None
        done = await db.start("done", model="claude")
        await done.record("Is it cold?", reply)
        await done.record("Is it?", reply, status="failed", reason="no network")
        other = await db.space(f"{space}-b").start("open", model="claude")
        await other.prompt("How cold?")


def test_it_shows_what_is_open_and_what_it_cost(
    sapwood: Sapwooder, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = f"top-{secrets.token_hex(4)}"
    asyncio.run(fill(address, space))
    monkeypatch.setenv("SAPWOOD_DATABASE", address)
    monkeypatch.setenv("SAPWOOD_SPACE", f"{space}-a")
    told = sapwood("top", "--json", "--spaces", f"{space}-*")
    assert told.code == 0, told.err
    spaces = {each["space"]: each for each in json.loads(told.out)["spaces"]}
    idle, busy = spaces[f"{space}-a"], spaces[f"{space}-b"]
    assert (idle.get("open", 0), idle["turns"], idle["spent"]["cost"]) == (0, 2, 4_000_000)
    assert busy["open"] == 1
    shown = sapwood("top", "--once", "--spaces", f"{space}-*")
    assert shown.code == 0
    assert "COST" in shown.out
    assert "$4.00" in shown.out


def test_it_counts_nothing_before_its_window(
    sapwood: Sapwooder, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = str(home / "team.db")
    monkeypatch.setenv("SAPWOOD_DATABASE", address)

    async def record() -> None:
        async with open(address) as db:
            await (await db.start("done")).record("Is it cold?", "Yes.")

    asyncio.run(record())
    monkeypatch.setattr("sapwood.app.operations_overview.time", lambda: 4_000_000_000.0)
    [space] = json.loads(sapwood("top", "--json").out)["spaces"]
    assert space["turns"] == 0


def test_without_a_worker_it_says_what_to_type(sapwood: Sapwooder) -> None:
    told = sapwood("top", "--once")
    assert "No worker is running. To start one, type: sapwood worker" in told.out
