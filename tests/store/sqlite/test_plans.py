"""Every statement finds its rows by an index: nothing gets slower because others have much."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.log import Facts, Snapshot
from sapwood.store.sqlite import SqliteLog, agents, commits, events, snapshots
from tests.store.contract import append, commit_of, said, start

SPACE, ADA, BOB = Space("space"), AgentId("ada"), AgentId("bob")
AFTER = Facts(ADA, 1, created=1)
COMMIT = commit_of(append(ADA, said("x" * 5000)), append(BOB, said("y"), expected=1))

VERBS: dict[str, Callable[[sqlite3.Connection], object]] = {
    "store": lambda on: commits.store(on, commits.rows_of(SPACE, COMMIT)),
    "receipt": lambda on: commits.find_receipt(on, SPACE, CommandId("c")),
    "read": lambda on: events.read_part(on, SPACE, ADA, 5, None, 10, False),
    "read backward": lambda on: events.read_part(on, SPACE, ADA, 1, 9, None, True),
    "tail": lambda on: events.read_after(on, SPACE, 7, 10),
    "tail of all": lambda on: events.read_all_after(on, 7, 10),
    "origins": lambda on: events.origins_after(on, 7),
    "end": events.last_position,
    "facts": lambda on: agents.find_facts(on, SPACE, ADA),
    "find": lambda on: agents.find_agents(on, SPACE, "a", 10),
    "list": lambda on: agents.list_agents(on, SPACE, AFTER, 10, None, None),
    "list children": lambda on: agents.list_agents(on, SPACE, AFTER, 10, ADA, None),
    "list by status": lambda on: agents.list_agents(on, SPACE, AFTER, 10, None, "running"),
    "list folder": lambda on: agents.list_folder(on, SPACE, "/w", AFTER, 10, "running"),
    "list working": lambda on: agents.list_working(on, SPACE, ADA, 10),
    "ancestors": lambda on: agents.ancestors(on, SPACE, ADA),
    "descendants": lambda on: agents.descendants(on, SPACE, ADA),
    "snapshot": lambda on: snapshots.find_snapshot(on, SPACE, ADA, "1", None),
    "snapshot at": lambda on: snapshots.find_snapshot(on, SPACE, ADA, "1", 5),
    "save": lambda on: snapshots.insert_snapshot(on, SPACE, Snapshot(ADA, 1, "1", b"")),
}
SORTS = {
    "list folder",
    "find",
    "ancestors",
    "descendants",
    "origins",
}  # of what was found, which is little


@pytest.mark.parametrize("name", VERBS)
async def test_no_statement_scans_a_table(name: str, tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    log = await SqliteLog.open(path)
    await start(log, SPACE, BOB)
    await log.close()
    statements: list[str] = []
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.set_trace_callback(statements.append)
        VERBS[name](connection)
        connection.set_trace_callback(None)
        steps = [
            step
            for statement in statements
            if not statement.startswith("--")
            for (*_, step) in connection.execute(f"EXPLAIN QUERY PLAN {statement}")
        ]
    assert steps or name in {"end", "save"}
    for step in steps:
        assert not step.startswith(("SCAN events", "SCAN agents", "SCAN receipts")), steps
        assert not step.startswith("SCAN snapshots"), steps
        assert name in SORTS or "TEMP B-TREE" not in step, steps
