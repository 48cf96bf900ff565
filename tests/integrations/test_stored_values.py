"""Values of a framework: the newest ones count, in any process and after any number of updates."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import sapwood
from sapwood.core.events import ContextTrimmed
from sapwood_frameworks.conversation import Database, StoredValues, agent_id

LARGE = "heron " * 50_000


@pytest.fixture
async def database() -> AsyncIterator[Database]:
    database = Database(":memory:")
    yield database
    await database.close()


async def test_nothing_is_stored_at_first(database: Database) -> None:
    values = StoredValues(database, "app")
    await values.update({})
    assert await values.read() == {}


async def test_values_stay_when_older_ones_are_trimmed(database: Database) -> None:
    values = StoredValues(database, "app")
    await values.update({"first": LARGE})
    for number in range(4):
        await values.update({"number": number})
        assert await values.read() == {"first": LARGE, "number": number}
    db = await database.db()
    events = await (await db.get(agent_id("values/app"))).events()
    assert any(isinstance(each.event, ContextTrimmed) for each in events)


async def test_values_are_found_before_later_events(database: Database) -> None:
    values = StoredValues(database, "app")
    await values.update({"k": 1})
    agent = await (await database.db()).get(agent_id("values/app"))
    for number in range(5):
        await agent.mark(f"M{number}")
    assert await values.read() == {"k": 1}
    await values.update({"n": 2})
    assert await values.read() == {"k": 1, "n": 2}


async def test_updates_at_the_same_time_are_all_kept(database: Database) -> None:
    updates = [StoredValues(database, "app").update({str(n): n}) for n in range(20)]
    await asyncio.gather(*updates)
    assert await StoredValues(database, "app").read() == {str(n): n for n in range(20)}


async def test_updates_of_several_processes_are_all_kept(tmp_path: Path) -> None:
    address = tmp_path / "history.db"
    databases = [Database(address) for _ in range(3)]
    updates = [
        StoredValues(database, "app").update({f"{n}-{place}": n})
        for n in range(5)
        for place, database in enumerate(databases)
    ]
    await asyncio.gather(*updates)
    found = [await StoredValues(database, "app").read() for database in databases]
    assert found == [{f"{n}-{place}": n for n in range(5) for place in range(3)}] * 3
    for database in databases:
        await database.close()


async def test_values_are_stored_again_after_they_were_erased(database: Database) -> None:
    values = StoredValues(database, "app")
    await values.update({"k": 1})
    db: sapwood.Sapwood = await database.db()
    await db.erase(agent_id("values/app"))
    assert await values.read() == {}
    await values.update({"k": 2})
    assert await values.read() == {"k": 2}


async def test_values_are_empty_after_they_were_cleared(database: Database) -> None:
    values = StoredValues(database, "app")
    await values.clear()
    await values.update({"k": 1})
    await values.clear()
    assert await values.read() == {}
    await values.update({"n": 2})
    assert await values.read() == {"n": 2}
