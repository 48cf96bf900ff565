"""The writer's thread: what waits goes into one transaction, and what was handed over is done."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import closing
from pathlib import Path

import pytest

from sapwood.core.errors import LogError
from sapwood.store.sqlite.connections import connect
from sapwood.store.sqlite.writer import Writer

Work = Callable[[sqlite3.Connection], None]


def insert(number: int) -> Work:
    return lambda on: void(on.execute("INSERT INTO numbers VALUES (?)", (number,)))


def void(_: object) -> None: ...


def refuse(on: sqlite3.Connection) -> None:
    on.execute("INSERT INTO numbers VALUES (-1)")
    raise LogError("refused")


class Bench:
    """A writer whose statements are recorded, and a gate that holds its thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.statements: list[str] = []
        connection = connect(path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE numbers (number INTEGER UNIQUE)")
        connection.set_trace_callback(self.statements.append)
        self.writer = Writer(connection, path)
        self._gate = threading.Event()

    async def hold(self) -> None:
        """From now on jobs pile up behind one that waits for `let_go`."""
        entered = asyncio.Event()
        loop = asyncio.get_running_loop()

        def wait(_: sqlite3.Connection) -> None:
            loop.call_soon_threadsafe(entered.set)
            assert self._gate.wait(60)

        self._held = asyncio.ensure_future(self.writer.run(wait))
        await entered.wait()
        self.statements.clear()

    async def let_go(self) -> None:
        self._gate.set()
        await self._held

    def numbers(self) -> list[int]:
        with closing(sqlite3.connect(self.path)) as connection:
            return [n for (n,) in connection.execute("SELECT number FROM numbers ORDER BY 1")]


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncGenerator[Bench]:
    bench = Bench(tmp_path / "numbers.db")
    yield bench
    await bench.writer.close()


def count(bench: Bench, start: str) -> int:
    return sum(statement.startswith(start) for statement in bench.statements)


async def test_what_waits_is_written_in_one_transaction(bench: Bench) -> None:
    await bench.hold()
    jobs = [asyncio.ensure_future(bench.writer.run(insert(n))) for n in range(50)]
    await asyncio.sleep(0)
    await bench.let_go()
    await asyncio.gather(*jobs)
    assert bench.numbers() == list(range(50))
    assert count(bench, "BEGIN") == 1
    assert count(bench, "COMMIT") == 2  # one for the blocking job, one for the others


async def test_a_refused_job_leaves_the_others_alone(bench: Bench) -> None:
    await bench.hold()
    works: list[Work] = [insert(1), refuse, insert(2), insert(1), insert(3)]
    jobs = [asyncio.ensure_future(bench.writer.run(work)) for work in works]
    await asyncio.sleep(0)
    await bench.let_go()
    ends = await asyncio.gather(*jobs, return_exceptions=True)
    assert [type(end).__name__ for end in ends] == [
        "NoneType",
        "LogError",
        "NoneType",
        "LogError",
        "NoneType",
    ]
    assert bench.numbers() == [1, 2, 3]
    assert count(bench, "BEGIN") == 1


async def test_a_refused_job_alone_leaves_nothing_behind(bench: Bench) -> None:
    with pytest.raises(LogError):
        await bench.writer.run(refuse)
    await bench.writer.run(insert(1))
    assert bench.numbers() == [1]


async def test_work_that_can_be_done_again_never_joins_a_commit(bench: Bench) -> None:
    await bench.hold()
    jobs = [
        asyncio.ensure_future(bench.writer.run(insert(n), durable=n % 2 == 0)) for n in range(6)
    ]
    await asyncio.sleep(0)
    await bench.let_go()
    await asyncio.gather(*jobs)
    assert bench.numbers() == [0, 1, 2, 3, 4, 5]
    written = [each for each in bench.statements if each.startswith(("BEGIN", "INSERT"))]
    assert [each.rpartition("(")[2].rstrip(")") for each in written] == [
        *("BEGIN IMMEDIATE", "0", "2", "4"),
        *("BEGIN IMMEDIATE", "1"),
        *("BEGIN IMMEDIATE", "3"),
        *("BEGIN IMMEDIATE", "5"),
    ]


async def test_only_commits_wait_for_the_disk(bench: Bench) -> None:
    await bench.writer.run(insert(1), durable=False)
    await bench.writer.run(insert(2))
    levels = [each for each in bench.statements if "synchronous" in each]
    assert levels == ["PRAGMA synchronous = NORMAL", "PRAGMA synchronous = FULL"]


async def test_a_caller_that_stops_waiting_does_not_stop_the_work(bench: Bench) -> None:
    called = asyncio.Event()
    await bench.hold()
    job = asyncio.ensure_future(bench.writer.run(insert(1), called.set))
    await asyncio.sleep(0)
    job.cancel()
    await bench.let_go()
    await called.wait()
    assert job.cancelled()
    assert bench.numbers() == [1]


async def test_closing_waits_for_what_was_handed_over(bench: Bench) -> None:
    await bench.hold()
    jobs = [
        asyncio.ensure_future(bench.writer.run(insert(n), durable=n % 3 > 0)) for n in range(900)
    ]
    await asyncio.sleep(0)
    closing_it = asyncio.ensure_future(bench.writer.close())
    await bench.let_go()
    await closing_it
    assert bench.numbers() == list(range(900))
    await asyncio.gather(*jobs)
    with pytest.raises(LogError, match="closed"):
        await bench.writer.run(insert(1000))


async def test_closing_may_be_interrupted_and_repeated(bench: Bench) -> None:
    await bench.hold()
    closing_it = asyncio.ensure_future(bench.writer.close())
    await asyncio.sleep(0)
    closing_it.cancel()
    await asyncio.gather(closing_it, return_exceptions=True)
    await bench.let_go()
    await bench.writer.close()
    with pytest.raises(LogError, match="closed"):
        await bench.writer.run(insert(1))
