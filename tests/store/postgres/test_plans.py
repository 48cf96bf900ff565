"""Frequent statements use indexes, and those about one agent read one partition."""

import re
from collections.abc import AsyncGenerator

import asyncpg
import pytest

from sapwood.core.ids import AgentId, EventRef, Space
from sapwood.core.log_values import AgentSummary, Order, Snapshot
from sapwood.store.postgres import PostgresLog, fulltext
from sapwood.store.postgres.connections import ReaderPool
from tests.store.contract import append, commit_of, prompt_event, take

ADA = AgentId("agent-7")
ROOT = AgentId("agent-0")
SPACE = Space("plans")
_TABLES = """
    SELECT oid::regclass::text AS name FROM pg_class
    WHERE relnamespace = 'sapwood'::regnamespace AND relkind = 'r'
"""
"""Their plans must not depend on when the server looks at them by itself."""


@pytest.fixture(scope="module")
def asked() -> list[tuple[str, tuple[object, ...]]]:
    """The statements that the log has run, with their arguments."""
    return []


@pytest.fixture
async def spied(
    postgres_database: str,
    owner: "asyncpg.Connection[asyncpg.Record]",
    asked: list[tuple[str, tuple[object, ...]]],
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncGenerator[PostgresLog]:
    """A log with some agents that records its statements."""
    fetch = ReaderPool.fetch

    async def noted(readers: ReaderPool, query: str, *args: object) -> list[asyncpg.Record]:
        asked.append((query, args))
        return await fetch(readers, query, *args)

    # The look of the background for spaces without an index would be recorded too.
    monkeypatch.setattr(fulltext, "_FIRST_LOOK_SECONDS", 3_600)
    log = await PostgresLog.open(postgres_database)
    if not await log.summary(SPACE, ADA):
        for row in await owner.fetch(_TABLES):
            await owner.execute(f"ALTER TABLE {row['name']} SET (autovacuum_enabled = false)")
        for n in range(300):
            parent = AgentId(f"agent-{n // 3}") if n else None
            grown = append(
                AgentId(f"agent-{n}"),
                prompt_event(f"needle {n}"),
                prompt_event("hay"),
                parent=parent,
                created=n,
            )
            await log.commit(SPACE, commit_of(grown))
        await log.search(SPACE, "needle")
        await log.close()  # waits for the index, whose statements are others
        log = await PostgresLog.open(postgres_database)
    monkeypatch.setattr(ReaderPool, "fetch", noted)
    asked.clear()
    yield log
    await log.close()


async def plans(
    log: PostgresLog, asked: list[tuple[str, tuple[object, ...]]], of: str
) -> list[str]:
    """The plans of the recorded statements about a table."""
    found: list[str] = []
    for query, args in [each for each in asked if f"sapwood.{of}" in each[0]]:
        rows = await ReaderPool.fetch(log._readers, f"EXPLAIN {query}", *args)  # pyright: ignore[reportPrivateUsage]
        found.append("\n".join(row[0] for row in rows))
    assert found
    return found


def partitions(plan: str, table: str) -> set[str]:
    return set(re.findall(rf"\b({table}_\d+)\b(?!_)", plan))


def assert_by_index(plan: str) -> None:
    assert "Seq Scan" not in plan, plan
    assert "Index" in plan, plan


async def test_a_part_of_a_log_is_read_from_one_partition(
    spied: PostgresLog, asked: list[tuple[str, tuple[object, ...]]]
) -> None:
    await spied.read(SPACE, ADA, 1, 2)
    await spied.read(SPACE, ADA, backward=True, limit=1)
    for plan in await plans(spied, asked, "events"):
        assert_by_index(plan)
        assert len(partitions(plan, "events")) == 1
        assert "Sort" not in plan


async def test_receipts_and_snapshots_are_read_from_one_partition(
    spied: PostgresLog, asked: list[tuple[str, tuple[object, ...]]]
) -> None:
    await spied.save_snapshot(SPACE, Snapshot(ADA, 1, "1", b""))
    await spied.snapshot(SPACE, ADA, "1")
    await spied.receipt(SPACE, commit_of().receipt.command)
    for table in ("snapshots", "receipts"):
        plan = (await plans(spied, asked, table))[-1]
        assert_by_index(plan)
        assert len(partitions(plan, table)) == 1


async def test_lists_of_agents_are_read_in_the_order_of_an_index(
    spied: PostgresLog, asked: list[tuple[str, tuple[object, ...]]]
) -> None:
    await spied.summary(SPACE, ADA)
    after = AgentSummary(ADA, 2, created=290)  # most agents are after it: an index pays
    for parent in (None, ROOT):
        for status in (None, "running"):
            await spied.agents(SPACE, after=after, limit=10, parent=parent, status=status)
    await spied.working(SPACE, after=ADA)
    for plan in await plans(spied, asked, "agents"):
        assert_by_index(plan)
        assert "Sort" not in plan, plan


_MANY_CONVERSATIONS = """
    INSERT INTO sapwood.agents (space, agent, version, facts, name, status, created)
    SELECT $1, 'root-' || n, 1,
           '{"agent":"root-' || n || '","version":1,"folder":"/wood","updated":'
               || n * 60000000::bigint || '}',
           '', 'running', n
    FROM generate_series(1, 5000) AS n
"""


async def test_the_conversations_of_a_folder_are_found_by_index_and_sorted_hour_by_hour(
    spied: PostgresLog,
    asked: list[tuple[str, tuple[object, ...]]],
    owner: "asyncpg.Connection[asyncpg.Record]",
) -> None:
    await owner.execute(_MANY_CONVERSATIONS, Space("folder of many"))
    await owner.execute("ANALYZE sapwood.agents")
    await spied.conversations(Space("folder of many"), "/wood", limit=10)
    after = AgentSummary(ADA, 2, updated=200 * 3_600_000_000)
    await spied.conversations(Space("folder of many"), "/wood", after=after, limit=10)
    for plan in await plans(spied, asked, "agents"):
        assert "agents_by_folder" in plan, plan
        assert "Seq Scan" not in plan, plan
        assert "Presorted Key: hour" in plan, plan


_MANY_OWNED = """
    INSERT INTO sapwood.agents (space, agent, version, facts, name, status, created)
    SELECT $1, 'root-' || n, 1,
           '{"agent":"root-' || n || '","version":1,"updated":' || n * 60000000::bigint
               || ',"tags":{"owner":"user-' || n % 7 || '","labels":["vip"]}}',
           '', CASE n % 3 WHEN 0 THEN 'archived' ELSE 'running' END, n
    FROM generate_series(1, 5000) AS n
"""


async def test_lists_by_owner_and_label_are_read_in_the_order_of_an_index(
    spied: PostgresLog,
    asked: list[tuple[str, tuple[object, ...]]],
    owner: "asyncpg.Connection[asyncpg.Record]",
) -> None:
    owned = Space("owned by many")
    await owner.execute(_MANY_OWNED, owned)
    await owner.execute("ANALYZE sapwood.agents")
    await owner.execute("ANALYZE sapwood.agent_keys")
    after = AgentSummary(ADA, 2, created=3000, updated=60 * 3_600_000_000)
    orders: tuple[Order, ...] = ("created", "updated")
    for order in orders:
        for status in (None, "running"):
            await spied.agents(owned, limit=10, owner="user-3", order=order, status=status)
            await spied.agents(owned, after=after, limit=10, label="vip", order=order)
    await spied.agents(owned, after=after, limit=10, order="updated")
    for plan in await plans(spied, asked, "agents"):
        assert_by_index(plan)
        assert "Function Scan" in plan, plan
        inner = plan.split("Function Scan")[1]
        assert not re.search(r"->  Sort", inner), plan
        assert "_by_hour" in plan or "agent_keys_by_age" in plan, plan
        assert "Presorted Key" in plan or "_by_age" in plan, plan


async def test_kin_and_names_are_found_by_index(
    spied: PostgresLog, asked: list[tuple[str, tuple[object, ...]]]
) -> None:
    await spied.ancestors(SPACE, ADA)
    await spied.descendants(SPACE, ROOT)
    await spied.find(SPACE, "agent-7x")
    for plan in await plans(spied, asked, "agents"):
        assert_by_index(plan)


async def test_the_tail_goes_on_by_index_in_its_order(
    spied: PostgresLog, asked: list[tuple[str, tuple[object, ...]]]
) -> None:
    seen = await take(spied.tail(SPACE), 600)
    await take(spied.tail(SPACE, seen[300].cursor), 1)
    for plan in await plans(spied, asked, "events"):
        assert_by_index(plan)
        assert "Merge Append" in plan
        assert "Sort Key" in plan  # that of the merge: the partitions come sorted
        assert not re.search(r"->  (Incremental )?Sort", plan), plan


async def test_a_search_intersects_words_and_scope_in_the_index(
    spied: PostgresLog, asked: list[tuple[str, tuple[object, ...]]]
) -> None:
    hits = await spied.search(SPACE, "needle", agents=[ADA])
    assert [hit.ref for hit in hits] == [EventRef(ADA, 1)]
    for plan in await plans(spied, asked, "search\n        WHERE space"):
        assert "Bitmap Index Scan on search_" in plan, plan
        assert "Seq Scan on search" not in plan, plan
