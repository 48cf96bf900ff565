"""`python -m tests.store.sqlite.freeze` freezes a small log of the newest schema as SQL text.

Run once when a schema is released. From then on its file in `released/` is never edited: it is
what users have on their disks, and every later Sapwood has to open it.
"""

import asyncio
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.log_values import Commit, Snapshot
from sapwood.store.sqlite import SqliteLog
from sapwood.store.sqlite.schema import APPLICATION, NEWEST
from tests.store.contract import append, commit_of, prompt_event

RELEASED = Path(__file__).parent / "released"
SPACE = Space("local")
ADA, BOB = AgentId("ada"), AgentId("bob")
BIG = "A long text, stored once. " * 100
SNAPSHOT = Snapshot(ADA, 2, "1", b"\x00\xff")


def _commit(number: int, *agents: AgentId, expected: int = 0) -> Commit:
    command = CommandId(f"command {number}")
    events = [prompt_event(f"needle {number}"), prompt_event(BIG)]
    appends = (
        append(agent, *events, expected=expected, command=command, name=f"{agent}!", created=3)
        for agent in agents
    )
    return commit_of(*appends, command=command, message=f"Did {number}.")


COMMITS = (_commit(1, ADA), _commit(2, BOB), _commit(3, ADA, BOB, expected=2))


async def _sample(path: Path) -> None:
    log = await SqliteLog.open(path)
    for commit in COMMITS[:-1]:
        await log.commit(SPACE, commit)
    await log.save_snapshot(SPACE, SNAPSHOT)
    await log.search(SPACE, "needle")
    await log.commit(SPACE, COMMITS[-1])  # not in the word index yet
    await log.close()


def _dump(connection: sqlite3.Connection) -> Iterator[str]:
    yield f"PRAGMA application_id = {APPLICATION}"
    yield f"PRAGMA user_version = {NEWEST}"
    made = connection.execute(
        "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid"
    ).fetchall()
    virtual = {name for _, name, sql in made if sql.startswith("CREATE VIRTUAL")}
    shadows = {name for _, name, _ in made if name.rpartition("_")[0] in virtual}
    tables = [(name, sql) for kind, name, sql in made if kind == "table"]
    for name, sql in tables:
        if name not in shadows:
            yield sql
        if name in shadows:
            yield f"DELETE FROM {name}"  # what a new word index starts with
        if name not in virtual:
            yield from _rows(connection, name)
    # Last, because they would look at every row.
    yield from (sql for kind, _, sql in made if kind != "table")


def _rows(connection: sqlite3.Connection, table: str) -> Iterator[str]:
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    quoted = " || ', ' || ".join(f"quote({column})" for column in columns)
    for (values,) in connection.execute(f"SELECT {quoted} FROM {table}"):
        yield f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values})"


def main() -> None:
    """Writes the file of the newest schema."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.db")
        asyncio.run(_sample(path))
        with closing(sqlite3.connect(path)) as connection:
            text = "".join(f"{statement};\n" for statement in _dump(connection))
    RELEASED.mkdir(exist_ok=True)
    (RELEASED / f"{NEWEST:04}.sql").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
