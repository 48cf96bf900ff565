"""The word index is filled while nothing is written, and never within a commit."""

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from sapwood.core.erasure import Erasure
from sapwood.core.ids import AgentId, Space
from sapwood.lifecycle.erasure import resume_erasures
from sapwood.store.sqlite import SqliteLog, fulltext
from sapwood.store.sqlite.event_table import last_position
from sapwood.store.sqlite.fulltext import indexed_position
from tests.store.contract import grow, start

SPACE, ADA = Space("space"), AgentId("ada")


def positions(path: Path) -> tuple[int, int]:
    with closing(sqlite3.connect(path)) as connection:
        return indexed_position(connection), last_position(connection)


def wait_for(path: Path, expected: tuple[int, int]) -> None:
    """Polls the file, because there is no event for 'indexed'."""
    deadline = time.monotonic() + 60
    while positions(path) != expected:
        assert time.monotonic() < deadline
        time.sleep(0.01)


async def test_a_commit_does_not_index(tmp_path: Path) -> None:
    log = await SqliteLog.open(tmp_path / "log.db")
    await start(log, SPACE, ADA, "one", "two")
    assert positions(tmp_path / "log.db") == (0, 2)
    await log.search(SPACE, "one")
    assert positions(tmp_path / "log.db") == (2, 2)
    await log.close()


async def test_it_is_indexed_when_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fulltext, "_IDLE_SECONDS", 0.01)
    monkeypatch.setattr(fulltext, "_COMMAND_SECONDS", 0.0)
    log = await SqliteLog.open(tmp_path / "log.db")
    await start(log, SPACE, ADA, *(f"word {n}" for n in range(1000)))
    await asyncio.to_thread(wait_for, tmp_path / "log.db", (1000, 1000))
    await log.close()


async def test_what_one_process_left_undone_the_next_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await SqliteLog.open(tmp_path / "log.db")
    await start(first, SPACE, ADA, "a needle")
    await first.close()
    assert positions(tmp_path / "log.db") == (0, 1)
    monkeypatch.setattr(fulltext, "_IDLE_SECONDS", 0.01)
    monkeypatch.setattr(fulltext, "_COMMAND_SECONDS", 0.0)
    second = await SqliteLog.open(tmp_path / "log.db")
    await asyncio.to_thread(wait_for, tmp_path / "log.db", (1, 1))
    await second.close()


async def test_searches_at_once_index_each_event_once(tmp_path: Path) -> None:
    logs = [await SqliteLog.open(tmp_path / "log.db") for _ in range(3)]
    await grow(logs[0], SPACE, ADA, *(f"needle {n}" for n in range(900)))
    found = await asyncio.gather(
        *(log.search(SPACE, "needle", limit=2000) for log in logs for _ in range(3))
    )
    assert [len(hits) for hits in found] == [900] * 9
    for log in logs:
        await log.close()


async def test_the_index_has_no_words_of_an_erased_space_in_which_somebody_begins_anew(
    tmp_path: Path,
) -> None:
    file = tmp_path / "log.db"
    log = await SqliteLog.open(file)
    await start(log, SPACE, ADA, "zanzibar")
    await log.search(SPACE, "zanzibar")
    await log.begin_erasure(SPACE, Erasure("e1", 1, "human", "space"), [ADA])
    await log.erase_agent(SPACE, "e1", ADA)
    await start(log, SPACE, AgentId("bob"), "the crane")
    await resume_erasures(log)
    await log.close()
    with closing(sqlite3.connect(file)) as connection:
        (number,) = connection.execute("SELECT number FROM spaces").fetchone()
        indexed = connection.execute(f"SELECT id FROM words_{number}_docsize").fetchall()
        kept = connection.execute("SELECT position FROM events WHERE space = ?", (SPACE,))
        assert set(indexed) <= set(kept)
