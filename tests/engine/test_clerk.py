"""The clerk carries out all wishes, few commits for many, and one that fails fails alone."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import event

from sapwood.engine.dbos.clerk import Clerk, Wish


@pytest.fixture
def database(tmp_path: Path) -> sa.Engine:
    """A table of words."""
    database = sa.create_engine(f"sqlite:///{tmp_path / 'words.db'}")
    with database.begin() as connection:
        connection.execute(sa.text("CREATE TABLE words (word TEXT PRIMARY KEY)"))
    return database


@pytest.fixture
async def clerk(database: sa.Engine) -> AsyncGenerator[Clerk]:
    """A clerk of that database."""
    clerk = Clerk(database)
    yield clerk
    await clerk.close()
    database.dispose()


def write(word: str) -> Wish[None]:
    def wish(connection: sa.Connection) -> None:
        connection.execute(sa.text("INSERT INTO words VALUES (:word)"), {"word": word})

    return wish


def words(connection: sa.Connection) -> list[str]:
    return [row.word for row in connection.execute(sa.text("SELECT word FROM words"))]


async def test_many_wishes_are_few_commits(clerk: Clerk, database: sa.Engine) -> None:
    commits: list[object] = []
    event.listen(database, "commit", commits.append)
    await asyncio.gather(*(clerk.do(write(f"{number}")) for number in range(100)))
    assert len(await clerk.do(words)) == 100
    assert len(commits) < 50


async def test_a_wish_that_fails_fails_alone(clerk: Clerk) -> None:
    results = await asyncio.gather(
        *(clerk.do(write(word)) for word in ("a", "b", "a", "c")), return_exceptions=True
    )
    assert [type(result).__name__ for result in results].count("IntegrityError") == 1
    assert sorted(await clerk.do(words)) == ["a", "b", "c"]


async def test_rows_are_locked_in_one_order_and_wishes_for_a_row_in_theirs(clerk: Clerk) -> None:
    order: list[str] = []
    keys = ["b1", "a1", "b2", "a2", "b3"]
    await asyncio.gather(*(clerk.do(lambda _, key=key: order.append(key), key[0]) for key in keys))
    for row in "ab":
        assert [key for key in order if key[0] == row] == [key for key in keys if key[0] == row]


async def test_a_wish_that_nobody_waits_for_any_more_is_dropped_or_done(clerk: Clerk) -> None:
    waiting = asyncio.create_task(clerk.do(write("a")))
    await asyncio.sleep(0)
    waiting.cancel()
    assert await clerk.do(words) in ([], ["a"])
