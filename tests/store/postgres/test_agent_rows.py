"""What an update of an agent's row writes besides the facts, by this and by earlier versions."""

import asyncio
from typing import Any, TypeAlias

import asyncpg
import pytest

from sapwood.core.ids import AgentId, Space
from sapwood.turns.log import Log
from tests.store.contract import append, commit_of, prompt_event, start

Owner: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
ADA, BOB, CID = AgentId("ada"), AgentId("bob"), AgentId("cid")
HOUR = 3_600_000_000
_COLUMNS = "SELECT working, folder, hour FROM sapwood.agents WHERE space = $1 AND agent = $2"
_WRONG = """
    SELECT agent FROM sapwood.agents WHERE space = $1 AND NOT (
        working = (status = 'running' AND strpos(facts, '"working":true') > 0)
        AND folder IS NOT DISTINCT FROM substring(facts from '"folder":"((?:[^"\\\\]|\\\\.)*)"')
        AND hour IS NOT DISTINCT FROM substring(facts from '"updated":(\\d+)')::bigint / 3600000000
    )
"""
SUMMARIES: list[dict[str, Any]] = [
    {},
    {"folder": "/w/wood", "updated": 7 * HOUR + 1, "working": True},
    {"folder": 'a "quoted" \\ päth\n', "updated": HOUR - 1, "asking": True, "working": True},
    {"status": "archived", "working": True, "name": '"working":true', "updated": 9 * HOUR},
    {"name": '"folder":"not mine"', "worktree": "/w", "updated": 1},
]


@pytest.mark.parametrize("after", SUMMARIES, ids=str)
async def test_the_columns_of_lists_are_those_of_the_facts(
    after: dict[str, Any], log: Log, space: Space, owner: Owner
) -> None:
    for agent in (ADA, BOB, CID):
        await start(log, space, agent, **SUMMARIES[1])
    one = append(ADA, prompt_event("alone"), expected=1, **after)
    two = [append(each, prompt_event("both"), expected=1, **after) for each in (BOB, CID)]
    await log.commit(space, commit_of(one))
    await log.commit(space, commit_of(*two))
    assert await owner.fetch(_WRONG, space) == []
    rows = [tuple(await owner.fetchrow(_COLUMNS, space, each) or ()) for each in (ADA, BOB, CID)]
    assert len(set(rows)) == 1


async def test_many_commits_at_once_write_the_columns_of_lists(
    log: Log, space: Space, owner: Owner
) -> None:
    agents = [AgentId(f"agent-{number}") for number in range(20)]
    await asyncio.gather(*(start(log, space, each) for each in agents))
    commits = [
        commit_of(append(each, prompt_event("x"), expected=1, **SUMMARIES[number % len(SUMMARIES)]))
        for number, each in enumerate(agents)
    ]
    await asyncio.gather(*(log.commit(space, each) for each in commits))
    assert await owner.fetch(_WRONG, space) == []
    assert await owner.fetchval("SELECT count(*) FROM sapwood.agents WHERE space = $1", space) == 20


async def test_programs_of_the_schema_before_give_the_facts_only(
    log: Log, space: Space, owner: Owner
) -> None:
    await start(log, space, ADA)
    facts = '{"agent":"ada","version":2,"folder":"/w","updated":7200000000,"working":true}'
    await owner.execute(
        "UPDATE sapwood.agents SET version = 2, facts = $2, name = '', parent = NULL,"
        " status = 'running', created = 5 WHERE space = $1 AND agent = 'ada'",
        *(space, facts),
    )
    assert tuple(await owner.fetchrow(_COLUMNS, space, ADA) or ()) == (True, "/w", 2)


async def test_commits_look_at_the_moves_once_a_move_was_begun(owner: Owner, space: Space) -> None:
    unmoved = "SELECT pg_sequence_last_value('sapwood.unmoved') IS NOT NULL"
    assert await owner.fetchval(unmoved)
    begun = owner.transaction()
    await begun.start()
    await owner.execute(
        "INSERT INTO sapwood.moves (space, id, state) VALUES ($1, 'm', 'leaving')", space
    )
    await begun.rollback()
    assert not await owner.fetchval(unmoved)
