"""The tail during long transactions, and the order of events on another server."""

import asyncio
import shutil
import subprocess
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import TailedEvent
from sapwood.store.postgres import PostgresLog
from sapwood.store.postgres.commit_notifier import CommitNotifier, Topic
from sapwood.store.postgres.settled import Settled
from sapwood.turns.log import Log
from tests.store.contract import OpenLog, grow, start, take, texts
from tools.postgres import throwaway

ADA, BOB = AgentId("ada"), AgentId("bob")


@asynccontextmanager
async def open_transaction(dsn: str, wrote: str = "") -> AsyncGenerator[None]:
    """A transaction that has a number, idles and does not end; if given, after a statement."""
    session: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(dsn)
    async with session.transaction():
        if wrote:
            await session.execute(wrote)
        await session.fetchval("SELECT pg_current_xact_id()")
        yield
    await session.close()


def tailed_texts(tailed: list[TailedEvent]) -> list[str]:
    return texts([each.recorded for each in tailed])


_OTHER_AGENT = "UPDATE sapwood.agents SET name = name WHERE false"


async def test_a_late_transaction_of_sapwood_holds_the_tail_back_and_hides_nothing(
    log: Log, space: Space, postgres_database: str
) -> None:
    await start(log, space, ADA, "before")
    looked = asyncio.Event()
    async with open_transaction(postgres_database, _OTHER_AGENT):
        await grow(log, space, ADA, "meanwhile")
        with pytest.MonkeyPatch.context() as patch:
            advance = Settled.advance

            async def seen(settled: Settled) -> None:
                await advance(settled)
                looked.set()

            patch.setattr(Settled, "advance", seen)
            tailing = asyncio.ensure_future(take(log.tail(space), 2))
            await looked.wait()
        assert texts(await take(log.follow(space, ADA), 2)) == ["before", "meanwhile"]
        assert not tailing.done()
    assert tailed_texts(await tailing) == ["before", "meanwhile"]


async def test_a_stranger_who_idles_in_a_transaction_does_not_stall_the_tail(
    log: Log, space: Space, postgres_database: str, postgres_dsn: str
) -> None:
    """Neither in this database nor in another one of the server."""
    own_table = (
        "CREATE TABLE IF NOT EXISTS stranger (words text); INSERT INTO stranger VALUES ('a')"
    )
    async with (
        open_transaction(postgres_database, own_table),
        open_transaction(postgres_dsn),
        asyncio.timeout(20),
    ):
        await start(log, space, ADA, "before")
        await grow(log, space, ADA, "meanwhile")
        seen = await take(log.tail(space), 2)
        assert tailed_texts(seen) == ["before", "meanwhile"]
        assert await log.end(space) == seen[-1].cursor
        other = await PostgresLog.open(postgres_database)
        await grow(log, space, ADA, "later")
        assert tailed_texts(await take(other.tail(space, seen[-1].cursor), 1)) == ["later"]
        await other.close()


async def test_a_late_transaction_hides_nothing_from_a_search(
    log: Log, space: Space, postgres_database: str, open_log: OpenLog
) -> None:
    other = await open_log()
    await start(log, space, ADA, "needle one")
    async with open_transaction(postgres_database):
        for n in range(3):
            await grow(log, space, BOB, f"needle {n}")
            assert len(await other.search(space, "needle")) == n + 2
            assert len(await log.search(space, "needle")) == n + 2
    await grow(log, space, ADA, "needle last")
    assert len(await log.search(space, "needle")) == 5


def _not_sent(notifier: CommitNotifier, topics: Iterable[Topic]) -> None:
    """Does not notify: as if the notification were lost."""


async def test_a_follower_without_a_notification_polls(
    postgres_database: str, log: Log, space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer may be killed between its commit and the notification."""
    eager = await PostgresLog.open(postgres_database, poll=0.05)
    await start(log, space, ADA, "zero")
    following = asyncio.ensure_future(take(eager.follow(space, ADA), 2))
    tailing = asyncio.ensure_future(take(eager.tail(space), 2))
    monkeypatch.setattr(CommitNotifier, "notify", _not_sent)
    await grow(log, space, ADA, "one")
    assert texts(await following) == ["zero", "one"]
    assert tailed_texts(await tailing) == ["zero", "one"]
    await eager.close()


def _copy(source: str, target: str) -> None:
    """Dumps one database into another."""
    programs = max(Path("/usr/lib/postgresql").glob("*/bin"), default=Path(), key=str)
    dump = shutil.which("pg_dump", path=str(programs)) or shutil.which("pg_dump")
    psql = shutil.which("psql", path=str(programs)) or shutil.which("psql")
    assert dump
    assert psql
    text = subprocess.run([dump, "--schema=sapwood", source], check=True, capture_output=True)
    subprocess.run(
        [psql, "--quiet", "--set=ON_ERROR_STOP=1", "--output=/dev/null", target],
        input=text.stdout,
        check=True,
    )


@pytest.mark.night
async def test_the_order_is_kept_on_another_server(
    log: Log, space: Space, owner: "asyncpg.Connection[asyncpg.Record]", postgres_database: str
) -> None:
    for _ in range(2000):  # more transactions than a new server has had
        await owner.fetchval("SELECT pg_current_xact_id()")
    for n in range(5):
        await grow(log, space, ADA, f"old {n}", f"needle {n}")
    await log.search(space, "needle")
    last = (await take(log.tail(space), 10))[-1].cursor
    with throwaway() as elsewhere:
        await asyncio.to_thread(_copy, postgres_database, elsewhere)
        moved = await PostgresLog.open(elsewhere)
        await grow(moved, space, ADA, "new needle")
        await grow(moved, space, BOB, "newer")
        assert tailed_texts(await take(moved.tail(space), 12))[-2:] == ["new needle", "newer"]
        assert tailed_texts(await take(moved.tail(space, last), 2)) == ["new needle", "newer"]
        assert len(await moved.search(space, "needle")) == 6
        await moved.close()
        again = await PostgresLog.open(elsewhere)
        await grow(again, space, BOB, "newest")
        assert tailed_texts(await take(again.tail(space, last), 3)) == [
            "new needle",
            "newer",
            "newest",
        ]
        await again.close()
