"""An open database of each kind that needs no server, and a way to read what a model would."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

import sapwood
from sapwood import Agent, Sapwood


# `:memory:` is a temporary SQLite file, so the check of a change tries a named one only at night.
@pytest.fixture(params=["memory", pytest.param("sqlite", marks=pytest.mark.night)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the test's database is."""
    return ":memory:" if request.param == "memory" else str(tmp_path / "conversations.db")


@pytest.fixture
async def db(address: str) -> AsyncGenerator[Sapwood]:
    """The test's database, open."""
    async with sapwood.open(address) as opened:
        yield opened


@pytest.fixture
async def agent(db: Sapwood) -> Agent:
    """An agent that has said nothing yet."""
    return await db.start("demo", model="scripted")
