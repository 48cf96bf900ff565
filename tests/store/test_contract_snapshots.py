"""The contract of a log: snapshots are found by agent, layout and version, and are only a cache."""

import pytest

from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import Snapshot
from sapwood.turns.log import Log
from tests.store.contract import OpenLog, start

ADA, BOB = AgentId("ada"), AgentId("bob")


def snapshot(version: int, data: bytes = b"", agent: AgentId = ADA, schema: str = "1") -> Snapshot:
    return Snapshot(agent, version, schema, data or str(version).encode())


async def test_there_is_none_at_first(log: Log, space: Space) -> None:
    await start(log, space, ADA)
    assert await log.snapshot(space, ADA, "1") is None
    assert await log.snapshot(space, AgentId("nobody"), "1") is None


@pytest.mark.parametrize(
    ("at", "version"), [(None, 30), (31, 30), (30, 30), (29, 20), (10, 10), (9, None), (0, None)]
)
async def test_the_newest_at_or_before_a_version_is_found(
    log: Log, space: Space, at: int | None, version: int | None
) -> None:
    await start(log, space, ADA)
    await start(log, space, BOB)
    for saved in (10, 30, 20):
        await log.save_snapshot(space, snapshot(saved))
    found = await log.snapshot(space, ADA, "1", at)
    assert found == (snapshot(version) if version else None)


async def test_another_layout_is_as_good_as_none(log: Log, space: Space) -> None:
    await start(log, space, ADA)
    await start(log, space, BOB)
    await log.save_snapshot(space, snapshot(10, schema="1"))
    await log.save_snapshot(space, snapshot(20, schema="2"))
    assert await log.snapshot(space, ADA, "1") == snapshot(10, schema="1")
    assert await log.snapshot(space, ADA, "2") == snapshot(20, schema="2")
    assert await log.snapshot(space, ADA, "3") is None


async def test_each_agent_has_its_own(log: Log, space: Space) -> None:
    await start(log, space, ADA)
    await start(log, space, BOB)
    await log.save_snapshot(space, snapshot(10))
    await log.save_snapshot(space, snapshot(20, agent=BOB))
    assert await log.snapshot(space, ADA, "1") == snapshot(10)
    assert await log.snapshot(space, BOB, "1") == snapshot(20, agent=BOB)


async def test_saving_it_again_is_no_mistake(log: Log, space: Space) -> None:
    await start(log, space, ADA)
    await start(log, space, BOB)
    await log.save_snapshot(space, snapshot(10, b"first"))
    await log.save_snapshot(space, snapshot(10, b"second"))
    found = await log.snapshot(space, ADA, "1")
    assert found
    assert found.data in (b"first", b"second")


async def test_any_bytes_come_back_as_they_were(log: Log, space: Space, open_log: OpenLog) -> None:
    await start(log, space, ADA)
    await start(log, space, BOB)
    data = bytes(range(256)) * 10_000
    await log.save_snapshot(space, snapshot(1, data))
    found = await (await open_log()).snapshot(space, ADA, "1")
    assert found == snapshot(1, data)
