"""The thread runs all work with few commits, and work that fails fails alone."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from sapwood.engine.dbos.engine_database import TransactionThread, Work


@pytest.fixture
def database(tmp_path: Path) -> sa.Engine:
    """A table of words."""
    database = sa.create_engine(f"sqlite:///{tmp_path / 'words.db'}")
    with database.begin() as connection:
        connection.execute(sa.text("CREATE TABLE words (word TEXT PRIMARY KEY)"))
    return database


@pytest.fixture
async def thread(database: sa.Engine) -> AsyncGenerator[TransactionThread]:
    """A transaction thread on that database."""
    thread = TransactionThread(database)
    yield thread
    await thread.close()
    database.dispose()


def write(word: str) -> Work[None]:
    def work(connection: sa.Connection) -> None:
        connection.execute(sa.text("INSERT INTO words VALUES (:word)"), {"word": word})

    return work


def words(connection: sa.Connection) -> list[str]:
    return [row.word for row in connection.execute(sa.text("SELECT word FROM words"))]


async def test_much_work_takes_few_commits(thread: TransactionThread, database: sa.Engine) -> None:
    commits: list[object] = []
    event.listen(database, "commit", commits.append)
    await asyncio.gather(*(thread.run(write(f"{number}")) for number in range(100)))
    assert len(await thread.run(words)) == 100
    assert len(commits) < 50


async def test_work_that_fails_fails_alone(thread: TransactionThread) -> None:
    results = await asyncio.gather(
        *(thread.run(write(word)) for word in ("a", "b", "a", "c")), return_exceptions=True
    )
    assert [type(result).__name__ for result in results].count("IntegrityError") == 1
    assert sorted(await thread.run(words)) == ["a", "b", "c"]


async def test_work_on_one_row_runs_in_the_order_given(
    thread: TransactionThread,
) -> None:
    order: list[str] = []
    keys = ["b1", "a1", "b2", "a2", "b3"]
    await asyncio.gather(
        *(thread.run(lambda _, key=key: order.append(key), key[0]) for key in keys)
    )
    for row in "ab":
        assert [key for key in order if key[0] == row] == [key for key in keys if key[0] == row]


async def test_the_work_of_a_quiet_space_does_not_wait_behind_that_of_another(
    thread: TransactionThread,
) -> None:
    order: list[str] = []
    given = threading.Event()
    first = asyncio.ensure_future(thread.run(lambda _: given.wait(60)))
    flood = [
        asyncio.ensure_future(thread.run(lambda _: order.append("flood"), "flood", f"{number}"))
        for number in range(500)
    ]
    quiet = asyncio.ensure_future(thread.run(lambda _: order.append("quiet"), "quiet", "ada"))
    await asyncio.sleep(0)  # all of it was given
    given.set()
    await asyncio.gather(first, quiet, *flood)
    assert order.index("quiet") < 100, order.index("quiet")


async def test_work_that_was_cancelled_is_dropped_or_done(
    thread: TransactionThread,
) -> None:
    waiting = asyncio.create_task(thread.run(write("a")))
    await asyncio.sleep(0)
    waiting.cancel()
    assert await thread.run(words) in ([], ["a"])


class Deadlock(Exception):
    """What the driver of PostgreSQL raises for a deadlock."""

    sqlstate = "40P01"


class ConnectionLost(Exception):
    """What it raises when the server has gone: there is no code."""

    sqlstate = None


@pytest.mark.parametrize(("cause", "told"), [(Deadlock, []), (ConnectionLost, ["gone", ""])])
async def test_a_conflict_is_tried_again_and_is_no_outage(
    database: sa.Engine, cause: type[Exception], told: list[str]
) -> None:
    reports: list[str] = []
    thread = TransactionThread(database, reports.append)
    tries: list[int] = []

    def work(connection: sa.Connection) -> int:
        tries.append(1)
        if len(tries) == 1:
            raise OperationalError("SELECT 1", {}, cause("gone"))
        return len(tries)

    assert await thread.run(work) == 2
    assert reports == told
    await thread.close()
    database.dispose()
