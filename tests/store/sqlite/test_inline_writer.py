"""A single commit is written on the event loop if the disk is fast, and never waits there."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncGenerator
from contextlib import closing
from pathlib import Path

import pytest

from sapwood.core.errors import LogError
from sapwood.store.sqlite.connections import connect
from sapwood.store.sqlite.writer import InlineWriter, WriteLockBusy, Writer


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "numbers.db"
    with closing(connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE numbers (number INTEGER UNIQUE, thread TEXT)")
    return path


@pytest.fixture
async def writer(path: Path) -> AsyncGenerator[Writer]:
    writer = Writer(connect(path), path)
    yield writer
    await writer.close()


def insert(number: int, connection: sqlite3.Connection) -> None:
    thread = threading.current_thread().name
    connection.execute("INSERT INTO numbers VALUES (?, ?)", (number, thread))


def stored(path: Path) -> dict[int, str]:
    with closing(sqlite3.connect(path)) as connection:
        return dict(connection.execute("SELECT number, thread FROM numbers ORDER BY 1").fetchall())


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InlineWriter, "is_fast", property(lambda _: True))


async def test_the_first_commit_goes_to_the_thread(writer: Writer, path: Path) -> None:
    await writer.run(lambda on: insert(1, on))
    assert stored(path) == {1: "sapwood-writer"}


@pytest.mark.usefixtures("quick")
async def test_a_lone_commit_is_written_on_the_loop(writer: Writer, path: Path) -> None:
    await writer.run(lambda on: insert(1, on))
    assert stored(path) == {1: "MainThread"}


@pytest.mark.usefixtures("quick")
async def test_commits_that_come_together_share_a_flush_in_the_thread(
    writer: Writer, path: Path
) -> None:
    await asyncio.gather(*(writer.run(lambda on, n=n: insert(n, on)) for n in range(3)))
    assert stored(path) == dict.fromkeys(range(3), "sapwood-writer")


@pytest.mark.usefixtures("quick")
async def test_the_loop_does_not_wait_for_another_writer(writer: Writer, path: Path) -> None:
    with closing(connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        waiting = asyncio.ensure_future(writer.run(lambda on: insert(1, on)))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        other.execute("COMMIT")
        await waiting
    assert stored(path) == {1: "sapwood-writer"}


@pytest.mark.usefixtures("quick")
async def test_what_fails_on_the_loop_leaves_nothing_behind(writer: Writer, path: Path) -> None:

    def refuse(connection: sqlite3.Connection) -> None:
        insert(1, connection)
        raise LogError("refused")

    with pytest.raises(LogError, match="refused"):
        await writer.run(refuse)
    await writer.run(lambda on: insert(2, on))
    assert stored(path) == {2: "MainThread"}


async def test_what_arrived_before_the_end_is_done(path: Path) -> None:
    writer = Writer(connect(path), path)
    waiting = asyncio.ensure_future(writer.run(lambda on: insert(1, on)))
    await asyncio.sleep(0)
    await writer.close()
    await waiting
    assert list(stored(path)) == [1]


def test_slow_disks_are_left_to_the_thread_until_they_are_quick_again(path: Path) -> None:
    at_once = InlineWriter(path)
    for _ in range(20):
        at_once.record_duration(0.0001)
    assert at_once.is_fast
    at_once.record_duration(0.02)
    assert not at_once.is_fast
    for _ in range(20):
        at_once.record_duration(0.0001)
    assert at_once.is_fast


def test_a_lock_of_another_connection_is_reported_at_once(path: Path) -> None:
    at_once = InlineWriter(path)
    with closing(connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(WriteLockBusy):
            at_once.run(lambda on: insert(1, on))
    at_once.close()
