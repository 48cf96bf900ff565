"""Files of every released schema open; files of other programs are not changed."""

import asyncio
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest

from sapwood.core.ids import Space
from sapwood.core.log_values import AgentSummary, Cursor, LogError
from sapwood.store.sqlite import SqliteLog, schema
from tests.store.contract import append, commit_of, prompt_event, take
from tests.store.sqlite.freeze import ADA, BOB, COMMITS, RELEASED, SNAPSHOT, SPACE


def execute(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)


def frozen(number: int) -> str:
    """The SQL script of a file as it was when this schema was released."""
    return f"BEGIN; {(RELEASED / f'{number:04}.sql').read_text(encoding='utf-8')} COMMIT;"


def tables(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}


def modes(folder: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}


def refusal(path: Path) -> str:
    """The error message of opening the file, which must not change the file."""
    before = path.read_bytes()
    with pytest.raises(LogError) as refused:
        asyncio.run(SqliteLog.open(path))
    assert path.read_bytes() == before
    return str(refused.value)


def test_migrations_are_numbered_without_gaps() -> None:
    numbers = [int(file.name[:4]) for file in sorted(schema.MIGRATIONS.glob("*.sql"))]
    assert numbers == list(range(1, schema.NEWEST + 1))


def test_every_released_schema_is_frozen() -> None:
    assert {int(file.stem) for file in RELEASED.glob("*.sql")} == set(range(1, schema.NEWEST + 1))


@pytest.mark.parametrize("number", range(1, schema.NEWEST + 1))
async def test_a_log_of_every_released_schema_opens_and_goes_on(
    number: int, tmp_path: Path
) -> None:
    path = tmp_path / "log.db"
    execute(path, frozen(number))
    log = await SqliteLog.open(path)
    for agent in (ADA, BOB):
        appends = [each for commit in COMMITS for each in commit.appends if each.agent == agent]
        assert await log.read(SPACE, agent) == [event for each in appends for event in each.events]
    assert await log.summary(SPACE, ADA) == AgentSummary(ADA, 4, name="ada!", created=3)
    for commit in COMMITS:
        assert await log.receipt(SPACE, commit.receipt.command) == commit.receipt
    assert await log.snapshot(SPACE, ADA, "1") == SNAPSHOT
    assert len(await log.search(SPACE, "needle")) == 4
    assert (
        await log.commit(SPACE, commit_of(append(ADA, prompt_event("a needle"), expected=4)))
        is None
    )
    assert len(await log.search(SPACE, "needle")) == 5
    await log.close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (schema.NEWEST,)
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute("DELETE FROM events")


@pytest.mark.parametrize("number", range(1, 5))
async def test_a_cursor_from_before_the_migration_still_goes_on_and_a_later_one_does_not(
    number: int, tmp_path: Path
) -> None:
    path = tmp_path / "log.db"
    execute(path, frozen(number))
    log = await SqliteLog.open(path)
    whole = await take(log.tail(SPACE), 8)
    for place in range(1, 8):  # all events are of one space, so their positions are 1 to 8
        assert await take(log.tail(SPACE, Cursor(0, place)), 8 - place) == whole[place:]
    await log.commit(SPACE, commit_of(append(ADA, prompt_event("new"), expected=4)))
    assert (await take(log.tail(SPACE, Cursor(0, 8)), 1))[0].cursor == Cursor(9)
    for wrong in (Cursor(0, 9), Cursor(0, 99)):
        with pytest.raises(LogError, match="belongs to another space"):
            await take(log.tail(SPACE, wrong), 1)
    with pytest.raises(LogError, match="belongs to another space"):
        await take(log.tail(Space("other"), Cursor(0, 3)), 1)
    await log.close()


async def test_a_new_file_has_the_tables_that_a_migrated_one_has(tmp_path: Path) -> None:
    await (await SqliteLog.open(tmp_path / "new.db")).close()
    execute(tmp_path / "old.db", frozen(schema.NEWEST))
    words = {name for name in tables(tmp_path / "old.db") if name.startswith("words_")}
    assert tables(tmp_path / "new.db") == tables(tmp_path / "old.db") - words


def test_a_file_of_a_newer_sapwood_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    execute(path, f"{frozen(schema.NEWEST)} PRAGMA user_version = 99;")
    assert "written by a newer version of Sapwood (schema 99" in refusal(path)


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    execute(path, "CREATE TABLE recipes (name TEXT)")
    assert "another program's database" in refusal(path)


async def test_a_migration_that_fails_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.db"
    await (await SqliteLog.open(path)).close()
    before = tables(path)
    folder = tmp_path / "migrations"
    folder.mkdir()
    (folder / f"{schema.NEWEST + 1:04}_broken.sql").write_text(
        "CREATE TABLE half (x);\nCREATE TABLE events (x);\n"
    )
    with monkeypatch.context() as patched:
        patched.setattr(schema, "MIGRATIONS", folder)
        patched.setattr(schema, "NEWEST", schema.NEWEST + 1)
        with pytest.raises(LogError, match="already exists"):
            await SqliteLog.open(path)
    assert tables(path) == before
    await (await SqliteLog.open(path)).close()


async def test_a_new_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    log = await SqliteLog.open(path)
    await log.commit(SPACE, COMMITS[0])
    assert set(modes(tmp_path).values()) == {0o600}
    await log.close()
    assert modes(tmp_path) == {"log.db": 0o600}


def test_a_file_that_another_process_is_writing_is_switched_after_it(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    ending = threading.Timer(0.2, other.execute, ["COMMIT"])
    ending.start()
    with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as connection:
        schema.prepare(connection, path)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    ending.join()
    other.close()
