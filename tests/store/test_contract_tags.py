"""The contract of a log: agents are listed by owner, label and last event, page by page."""

import random
from typing import Any, Literal

import pytest

from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import AgentSummary, Order
from sapwood.core.tags import Entry, Tags
from sapwood.turns.log import Log
from tests.store.contract import append, commit_of, prompt_event

HOUR = 3_600_000_000
Status = Literal["running", "archived", "killed"]
STATUSES: tuple[Status, ...] = ("running", "archived", "killed")


async def store(log: Log, space: Space, summary: AgentSummary, expected: int = 0) -> None:
    fields: dict[str, Any] = {
        name: getattr(summary, name)
        for name in ("created", "updated", "status", "parent", "tags", "folder")
    }
    await log.commit(
        space, commit_of(append(summary.agent, prompt_event("x"), expected=expected, **fields))
    )


async def pages(log: Log, space: Space, limit: int, order: Order, **where: Any) -> list[str]:
    """Every agent of the list, read `limit` at a time."""
    found: list[AgentSummary] = []
    while page := await log.agents(
        space, after=found[-1] if found else None, limit=limit, order=order, **where
    ):
        assert len(page) <= limit
        found += page
    return [summary.agent for summary in found]


def wanted(known: list[AgentSummary], order: Order, where: dict[str, Any]) -> list[str]:
    """The same list, made the plain way."""
    fits = [
        summary
        for summary in known
        if where.get("owner", "") in ("", summary.owner)
        and (not where.get("label") or where["label"] in summary.labels)
        and where.get("status") in (None, summary.status)
        and where.get("parent") in (None, summary.parent)
    ]
    fits.sort(key=lambda each: (getattr(each, order), each.agent), reverse=True)
    return [summary.agent for summary in fits]


@pytest.mark.parametrize("seed", range(3))
async def test_lists_by_owner_label_status_and_parent(log: Log, space: Space, seed: int) -> None:
    rng = random.Random(seed)
    known: dict[AgentId, AgentSummary] = {}
    versions: dict[AgentId, int] = {}
    for _ in range(80):
        agent = AgentId(f"agent-{rng.randrange(30)}")
        before = known.get(agent)
        labels = tuple(sorted({*rng.sample(["a", "b", "c"], rng.randrange(3))}))
        tags = Tags(rng.choice(["", "ada", "bob"]), labels, (Entry("folder", "/x"),))
        summary = AgentSummary(
            agent,
            1,
            rng.choice(STATUSES),
            parent=before.parent if before else rng.choice([None, AgentId("agent-1")]),
            created=before.created if before else rng.randrange(5),
            updated=rng.randrange(4) * HOUR + rng.randrange(1, 4),
            tags=tags if rng.random() < 0.8 else (Tags() if before and before.tags else None),
        )
        await store(log, space, summary, versions.get(agent, 0))
        known[agent], versions[agent] = summary, versions.get(agent, 0) + 1
    orders: tuple[Order, ...] = ("created", "updated")
    for order in orders:
        for owner in ("", "ada", "nobody"):
            for label in ("", "a"):
                for status in (None, "running"):
                    for parent in (None, AgentId("agent-1")):
                        where: dict[str, Any] = {
                            "owner": owner,
                            "label": label,
                            "status": status,
                            "parent": parent,
                        }
                        expected = wanted(list(known.values()), order, where)
                        assert await pages(log, space, 3, order, **where) == expected, where


async def test_tags_are_read_back_and_never_taken_for_other_fields(log: Log, space: Space) -> None:
    entries = (Entry("folder", "/x"), Entry("tags", '"tags":{}'), Entry("updated", "9"))
    tags = Tags('Ada "tags": O\'Neill \u00e9', ("a b", "l"), entries)
    summary = AgentSummary(AgentId("one"), 1, created=1, updated=2, tags=tags)
    await store(log, space, summary)
    found = await log.summary(space, summary.agent)
    assert found is not None
    assert (found.tags, found.folder, found.updated) == (tags, "", 2)
    assert found.metadata["folder"] == "/x"
    assert await log.conversations(space, "/x") == []
    assert [each.agent for each in await log.agents(space, owner=tags.owner)] == ["one"]


async def test_a_key_of_one_kind_is_not_found_as_another(log: Log, space: Space) -> None:
    await store(log, space, AgentSummary(AgentId("one"), 1, tags=Tags("ada", ("bob",))))
    assert await log.agents(space, owner="bob") == []
    assert await log.agents(space, label="ada") == []
    assert await log.agents(space, owner="bob", label="ada") == []
    assert await log.agents(Space("elsewhere"), owner="ada") == []
    assert len(await log.agents(space, owner="ada", label="bob")) == 1
