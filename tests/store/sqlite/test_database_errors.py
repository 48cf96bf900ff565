"""Errors of the file have clear messages, and the log works again after the cause is gone."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from sapwood.core.events import UnreadableEvent
from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import Commit, LogError
from sapwood.store.master_keys import StoredKeys
from sapwood.store.sqlite import SqliteLog, connections, sqlite_log
from tests.store.contract import append, commit_of, prompt_event, start, texts

SPACE, ADA = Space("space"), AgentId("ada")


def connecting_with(monkeypatch: pytest.MonkeyPatch, pragma: str) -> list[sqlite3.Connection]:
    """Makes the writer's connection run a pragma first, and adds the connection to the list."""
    made: list[sqlite3.Connection] = []

    def connect(path: Path, keys: StoredKeys | None = None) -> sqlite3.Connection:
        made.append(connections.connect(path, busy_seconds=0.05, keys=keys))
        made[-1].execute(pragma)
        return made[-1]

    monkeypatch.setattr(sqlite_log, "connect", connect)
    return made


async def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear reader, " * 500)
    with pytest.raises(LogError, match=r"'.*letter.txt' is not a database. It was left unchanged"):
        await SqliteLog.open(path)
    assert path.read_text() == "Dear reader, " * 500


async def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"'.*nowhere/log.db' cannot be opened.*folder exists"):
        await SqliteLog.open(tmp_path / "nowhere" / "log.db")


async def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="cannot be opened"):
        await SqliteLog.open(tmp_path)


async def test_a_full_disk_keeps_what_was_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = connecting_with(monkeypatch, "PRAGMA max_page_count = 60")
    log = await SqliteLog.open(tmp_path / "log.db")
    await start(log, SPACE, ADA, "kept")
    big = commit_of(append(ADA, prompt_event("x" * 500_000), expected=1))
    with pytest.raises(LogError, match=r"is full.*Everything acknowledged before is kept.*Free"):
        await log.commit(SPACE, big)
    crowd = [commit_of(append(AgentId(f"b{n}"), prompt_event(f"{n}" * 400_000))) for n in range(5)]
    ends = await asyncio.gather(
        *(log.commit(SPACE, each) for each in crowd), return_exceptions=True
    )
    assert all(isinstance(end, LogError) and "is full" in str(end) for end in ends)
    assert texts(await log.read(SPACE, ADA)) == ["kept"]
    made[0].execute("PRAGMA max_page_count = 100000")
    assert await log.commit(SPACE, big) is None
    assert len(await log.read(SPACE, ADA)) == 2
    await log.close()


async def test_a_file_that_cannot_be_written_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = connecting_with(monkeypatch, "PRAGMA query_only = OFF")
    log = await SqliteLog.open(tmp_path / "log.db")
    await start(log, SPACE, ADA, "kept")
    made[0].execute("PRAGMA query_only = ON")
    with pytest.raises(LogError, match=r"cannot be written.*Nothing from this command was stored"):
        await start(log, SPACE, AgentId("bob"))
    assert texts(await log.read(SPACE, ADA)) == ["kept"]
    await log.close()


async def test_waiting_too_long_for_another_process_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connecting_with(monkeypatch, "PRAGMA query_only = OFF")
    log = await SqliteLog.open(tmp_path / "log.db")
    with closing(sqlite3.connect(tmp_path / "log.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LogError, match="Another process has been writing"):
            await start(log, SPACE, ADA)
        other.execute("ROLLBACK")
    await start(log, SPACE, ADA, "now")
    assert texts(await log.read(SPACE, ADA)) == ["now"]
    await log.close()


async def test_a_mistake_in_one_job_leaves_the_thread_alive(tmp_path: Path) -> None:
    log = await SqliteLog.open(tmp_path / "log.db")
    broken = append(ADA, prompt_event("one"), model=b"no text")  # the table takes text only
    crowd: list[Commit] = [
        commit_of(append(AgentId(f"b{n}"), prompt_event("one"))) for n in range(5)
    ]
    ends = await asyncio.gather(
        *(log.commit(SPACE, each) for each in (crowd[0], commit_of(broken), *crowd[1:])),
        return_exceptions=True,
    )
    assert [end is None for end in ends] == [True, False, True, True, True, True]
    assert isinstance(ends[1], LogError)
    await log.close()


async def test_a_missing_text_is_noticed(tmp_path: Path) -> None:
    log = await SqliteLog.open(tmp_path / "log.db")
    await start(log, SPACE, ADA, "x" * 5000)
    with closing(sqlite3.connect(tmp_path / "log.db", isolation_level=None)) as owner:
        owner.execute("DROP TRIGGER contents_never_go")
        owner.execute("DELETE FROM contents")
    (found,) = await log.read(SPACE, ADA)
    assert isinstance(found.event, UnreadableEvent)
    assert found.event.reason == "part of its text is missing"
    await log.close()


async def test_an_event_of_a_newer_sapwood_does_not_stop_a_reader(tmp_path: Path) -> None:
    log = await SqliteLog.open(tmp_path / "log.db")
    await start(log, SPACE, ADA, "known")
    with closing(sqlite3.connect(tmp_path / "log.db", isolation_level=None)) as newer:
        newer.execute(
            "INSERT INTO events (space, agent, version, kind, data, at, actor, command)"
            " VALUES ('space', 'eve', 1, 'turn.dreamt', '{}', 1, 'system', 'c')"
        )
    (found,) = await log.read(SPACE, AgentId("eve"))
    assert isinstance(found.event, UnreadableEvent)
    assert (found.kind, found.event.data, found.event.newer) == ("turn.dreamt", b"{}", True)
    assert [hit.ref.agent for hit in await log.search(SPACE, "known")] == [ADA]
    await start(log, SPACE, AgentId("bob"), "still works")
    assert texts(await log.read(SPACE, ADA)) == ["known"]
    await log.close()


async def test_a_closed_log_says_so(tmp_path: Path) -> None:
    log = await SqliteLog.open(tmp_path / "log.db")
    await start(log, SPACE, ADA)
    await log.close()
    await log.close()
    with pytest.raises(LogError, match=r"closed.*Open it again"):
        await start(log, SPACE, AgentId("bob"))
    with pytest.raises(LogError, match="closed"):
        await log.read(SPACE, ADA)
