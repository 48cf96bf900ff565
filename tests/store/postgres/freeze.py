"""`python -m tests.store.postgres.freeze` freezes a small log of the newest schema as SQL text.

Run once when a schema is released. From then on its file in `released/` is never edited: it is
what users have in their databases, and every later Sapwood has to open it.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg

from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.log_values import Commit, Snapshot
from sapwood.store.postgres import PostgresLog
from sapwood.store.postgres.schema import NEWEST, migrations, oldest_of, script
from tests.store.contract import append, commit_of, prompt_event
from tools.postgres import throwaway

RELEASED = Path(__file__).parent / "released"
SPACE = Space("local")
ADA, BOB = AgentId("ada"), AgentId("bob")
BIG = "A long text, stored once. " * 100
SNAPSHOT = Snapshot(ADA, 2, "1", b"\x00\xff")

# The place of an event is given when it is inserted.
_GIVEN = ("position", "tx")
_COLUMNS = """
    SELECT attname FROM pg_attribute
    WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped
        AND attgenerated = '' ORDER BY attnum
"""
_TABLES = ("events", "contents", "receipts", "snapshots", "agents", "search")
_INDEXED = """
INSERT INTO sapwood.searchable (space, tx, position)
SELECT space, tx, position FROM sapwood.events ORDER BY position OFFSET {offset} LIMIT 1;
"""


def _commit(number: int, *agents: AgentId, expected: int = 0) -> Commit:
    command = CommandId(f"command {number}")
    events = [prompt_event(f"needle {number}"), prompt_event(BIG)]
    appends = (
        append(agent, *events, expected=expected, command=command, name=f"{agent}!", created=3)
        for agent in agents
    )
    return commit_of(*appends, command=command, message=f"Did {number}.")


COMMITS = (_commit(1, ADA), _commit(2, BOB), _commit(3, ADA, BOB, expected=2))


async def _sample(dsn: str) -> int:
    """Writes the sample and returns how many events of it are in the search index."""
    log = await PostgresLog.open(dsn)
    for commit in COMMITS[:-1]:
        await log.commit(SPACE, commit)
    await log.save_snapshot(SPACE, SNAPSHOT)
    await log.search(SPACE, "needle")
    await log.commit(SPACE, COMMITS[-1])
    await log.close()
    return sum(len(each.events) for commit in COMMITS[:-1] for each in commit.appends)


async def _inserts(session: "asyncpg.Connection[asyncpg.Record]", table: str) -> AsyncIterator[str]:
    rows = await session.fetch(_COLUMNS, f"sapwood.{table}")
    columns = [row["attname"] for row in rows if row["attname"] not in _GIVEN]
    order = "position" if table == "events" else ", ".join(columns[:3])
    values = " || ', ' || ".join(f"quote_nullable({column})" for column in columns)
    for row in await session.fetch(f"SELECT {values} FROM sapwood.{table} ORDER BY {order}"):
        yield f"INSERT INTO sapwood.{table} ({', '.join(columns)}) VALUES ({row[0]});\n"


async def _freeze(dsn: str) -> str:
    indexed = await _sample(dsn)
    session: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(dsn)
    parts = [
        "CREATE SCHEMA sapwood;\n"
        "CREATE TABLE sapwood.migrations (number integer PRIMARY KEY, name text NOT NULL,"
        " since timestamptz NOT NULL DEFAULT now());\n"
    ]
    for number, name in migrations().items():
        parts.append(script(name))
        parts.append(
            f"INSERT INTO sapwood.migrations (number, name) VALUES ({number}, '{name}');\n"
        )
        if oldest := oldest_of(script(name)):
            parts.append(
                f"UPDATE sapwood.migrations SET oldest = {oldest} WHERE number = {number};\n"
            )
    for table in _TABLES:
        parts += [line async for line in _inserts(session, table)]
    parts.append(_INDEXED.format(offset=indexed - 1))
    await session.close()
    return "".join(parts)


def main() -> None:
    """Writes the file of the newest schema."""
    with throwaway() as dsn:
        text = asyncio.run(_freeze(dsn))
    RELEASED.mkdir(exist_ok=True)
    (RELEASED / f"{NEWEST:04}.sql").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
