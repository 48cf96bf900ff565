"""Owner, labels and metadata: given, changed, inherited, and what lists find agents by."""

from typing import Literal, cast

import pytest

from sapwood import Agent, RefusedError, Sapwood, Where
from tests.api.reading import kinds


async def ids(db: Sapwood, where: Where) -> set[str]:
    return {each.agent for each in await db.agents(where=where)}


async def test_an_agent_is_found_by_its_owner_and_labels(db: Sapwood) -> None:
    one = await db.start(owner="user-42", labels=["vip", "eu"], metadata={"plan": "gold"})
    two = await db.start(owner="user-7", labels=["eu"])
    assert await ids(db, Where(owner="user-42")) == {one.id}
    assert await ids(db, Where(label="eu")) == {one.id, two.id}
    assert await ids(db, Where(owner="user-7", label="vip")) == set()
    [summary] = await db.agents(where=Where(owner="user-42", label="vip", status="running"))
    assert (summary.owner, summary.labels, summary.metadata) == (
        "user-42",
        ("eu", "vip"),
        {"plan": "gold"},
    )
    assert await db.space("other").agents(where=Where(owner="user-42")) == []


async def test_labels_owner_and_metadata_change(db: Sapwood) -> None:
    agent = await db.start(owner="user-42", labels=["old"], metadata={"plan": "gold", "x": "1"})
    tagged = await agent.label("new", remove=["old"], owner="user-7", metadata={"x": ""})
    assert (tagged.owner, tagged.labels, tagged.metadata) == ("user-7", ("new",), {"plan": "gold"})
    assert str(tagged) == f"Tagged {agent.id}."
    assert await ids(db, Where(owner="user-42")) == await ids(db, Where(label="old")) == set()
    assert await ids(db, Where(owner="user-7", label="new")) == {agent.id}
    assert (await agent.label("new")).events == ()
    await agent.kill()
    await agent.label(owner="")
    assert await ids(db, Where(owner="user-7")) == set()
    assert await ids(db, Where(label="new", status="killed")) == {agent.id}


async def test_children_forks_and_successors_inherit_the_owner(db: Sapwood) -> None:
    agent = await db.start(owner="user-42", labels=["vip"])
    child = await agent.fork(goal="Look.")
    grandchild = await child.fork()
    fresh = await agent.new()
    everything = {agent.id, child.id, grandchild.id, fresh.id}
    assert await ids(db, Where(owner="user-42")) == everything
    assert await ids(db, Where(label="vip")) == {agent.id, fresh.id}
    assert await ids(db, Where(owner="user-42", parent=agent.id)) == {child.id}


async def test_the_latest_event_comes_first_if_asked(db: Sapwood) -> None:
    first, second = await db.start(owner="ada"), await db.start(owner="ada")
    await first.record("Hello!", "Hello to you.")
    found = await db.agents(where=Where(owner="ada"), order="updated", limit=1)
    assert [each.agent for each in found] == [first.id]
    rest = await db.agents(where=Where(owner="ada"), order="updated", after=found[-1])
    assert [each.agent for each in rest] == [second.id]
    assert [each.agent for each in await db.agents(order="updated")] == [first.id, second.id]
    nested: object = "deep"
    for _ in range(3000):
        nested = [nested]
    for wrong in ("random", nested):
        with pytest.raises(RefusedError, match="order"):
            await db.agents(order=cast("Literal['updated']", wrong))


@pytest.mark.parametrize(
    "labels", [["x" * 101], [""], [" a"], ["a\nb"], ["\x1f"], [f"l{n}" for n in range(33)]]
)
async def test_labels_out_of_bounds_are_refused(agent: Agent, labels: list[str]) -> None:
    before = await kinds(agent)
    with pytest.raises(RefusedError, match="label"):
        await agent.label(*labels)
    assert await kinds(agent) == before


async def test_owner_and_metadata_out_of_bounds_are_refused(db: Sapwood, agent: Agent) -> None:
    for change in (
        {"owner": "x" * 201},
        {"metadata": {"a": "x" * 1001}},
        {"metadata": {str(n): "x" for n in range(33)}},
        {"metadata": {"a b\n": "x"}},
        {"metadata": {"a": 5}},
        {"metadata": 5},
    ):
        with pytest.raises(RefusedError):
            await agent.label(**change)  # pyright: ignore[reportArgumentType]
        with pytest.raises(RefusedError):
            await db.start(**change)  # pyright: ignore[reportArgumentType]
    with pytest.raises(RefusedError):
        await db.agents(where="user-42")  # pyright: ignore[reportArgumentType]


async def test_no_model_sees_them(db: Sapwood) -> None:
    agent = await db.start(owner="user-42", labels=["vip"], metadata={"plan": "gold"})
    await agent.record("Hello!", "Hello to you.")
    request = repr(await agent.request())
    assert not any(word in request for word in ("user-42", "vip", "gold"))


async def test_a_secret_in_a_label_is_masked(db: Sapwood) -> None:
    key = "sk-ant-api03-" + "aB3dE6gH9" * 6
    await db.start(labels=[f"key={key}"])
    [summary] = await db.agents()
    assert key not in str(summary.labels)


async def test_an_owner_that_holds_a_secret_is_refused(db: Sapwood) -> None:
    with pytest.raises(RefusedError, match="an id without a secret"):
        await db.start(owner="sk-ant-api03-" + "aB3dE6gH9" * 6)
