"""Every statement uses an index, so it does not get slower with the data of others."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.log_values import AgentSummary, Snapshot
from sapwood.store.sqlite import SqliteLog, agent_table, commit_rows, event_table, meaning_table
from tests.store.contract import append, commit_of, prompt_event, start

SPACE, ADA, BOB = Space("space"), AgentId("ada"), AgentId("bob")
AFTER = AgentSummary(ADA, 1, created=1)
COMMIT = commit_of(
    append(ADA, prompt_event("x" * 5000)), append(BOB, prompt_event("y"), expected=1)
)

VERBS: dict[str, Callable[[sqlite3.Connection], object]] = {
    "store": lambda on: commit_rows.store(on, commit_rows.rows_of(SPACE, COMMIT)),
    "receipt": lambda on: commit_rows.find_receipt(on, SPACE, CommandId("c")),
    "read": lambda on: event_table.read_part(on, SPACE, ADA, 5, limit=10),
    "read backward": lambda on: event_table.read_part(on, SPACE, ADA, 1, 9, backward=True),
    "tail": lambda on: event_table.read_after(on, SPACE, 7, 10),
    "tail of all": lambda on: event_table.read_all_after(on, 7, 10),
    "origins": lambda on: event_table.origins_after(on, 7),
    "end": event_table.last_position,
    "sign": lambda on: meaning_table.next_page(on, SPACE),
    "summary": lambda on: agent_table.find_summary(on, SPACE, ADA),
    "find": lambda on: agent_table.find_agents(on, SPACE, "a", 10),
    "list": lambda on: agent_table.list_agents(on, SPACE, after=AFTER),
    "list children": lambda on: agent_table.list_agents(on, SPACE, after=AFTER, parent=ADA),
    "list by status": lambda on: agent_table.list_agents(on, SPACE, after=AFTER, status="running"),
    "list folder": lambda on: agent_table.list_folder(on, SPACE, "/w"),
    "list folder, next page": lambda on: agent_table.list_folder(
        on, SPACE, "/w", after=AFTER, status="running"
    ),
    "list by owner": lambda on: agent_table.list_agents(
        on, SPACE, after=AFTER, status="running", owner="ada"
    ),
    "list by owner and label": lambda on: agent_table.list_agents(
        on, SPACE, owner="ada", label="vip"
    ),
    "list by update": lambda on: agent_table.list_agents(on, SPACE, after=AFTER, order="updated"),
    "list by owner and update": lambda on: agent_table.list_agents(
        on, SPACE, after=AFTER, owner="ada", order="updated"
    ),
    "list children by owner": lambda on: agent_table.list_agents(
        on, SPACE, after=AFTER, parent=ADA, owner="ada"
    ),
    "list working": lambda on: agent_table.list_working(on, SPACE, after=ADA),
    "working spaces": lambda on: agent_table.working_spaces(on, after=SPACE),
    "ancestors": lambda on: agent_table.ancestors(on, SPACE, ADA),
    "descendants": lambda on: agent_table.descendants(on, SPACE, ADA),
    "snapshot": lambda on: event_table.find_snapshot(on, SPACE, ADA, "1", None),
    "snapshot at": lambda on: event_table.find_snapshot(on, SPACE, ADA, "1", 5),
    "save": lambda on: event_table.insert_snapshot(on, SPACE, Snapshot(ADA, 1, "1", b"")),
}
SORTS = {"find", "ancestors", "descendants", "origins"}  # few rows, after they were found
SORTS_BY_HOUR = {  # only the rows of one hour at a time
    *("list folder", "list folder, next page"),
    *("list by update", "list by owner and update"),
}


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
        assert not step.startswith(("SCAN snapshots", "SCAN known", "SCAN agent_keys")), steps
        if name in SORTS_BY_HOUR:
            assert "TEMP B-TREE FOR ORDER BY" not in step, steps
        elif name not in SORTS:
            assert "TEMP B-TREE" not in step, steps


async def test_the_conversations_of_a_folder_are_found_by_their_own_index(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    await (await SqliteLog.open(path)).close()
    with closing(sqlite3.connect(path)) as connection:
        statements: list[str] = []
        connection.set_trace_callback(statements.append)
        agent_table.list_folder(connection, SPACE, "/w", after=AFTER)
        connection.set_trace_callback(None)
        plan = [row[-1] for row in connection.execute(f"EXPLAIN QUERY PLAN {statements[0]}")]
    assert "USING INDEX agents_by_folder (space=? AND folder=? AND hour<?)" in plan[0]
