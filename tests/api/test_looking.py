"""Looking without changing: requests, budgets, events, news, search, replay, differences."""

import asyncio

import pytest

import sapwood
from sapwood import Agent, LogError, RefusedError, Sapwood
from tests.api.reading import kinds, said


async def test_a_request_is_for_the_agents_model_or_another(agent: Agent) -> None:
    assert (await agent.request()).model == "scripted"
    assert (await agent.request("gpt-5")).model == "gpt-5"


async def test_a_budget_tells_the_blocks_apart_and_how_full_the_window_is(db: Sapwood) -> None:
    agent = await db.start(system="Be brief.", pins={"rule": "No jargon."}, cap=0)
    await agent.record("word " * 80, "ok")
    budget = await agent.budget()
    assert min(budget.system.tokens, budget.pins.tokens, budget.history.tokens) > 0
    assert (budget.share, budget.level) == (None, 0)
    assert sapwood.show(budget.total).startswith("~")
    await agent.configure(window=budget.total.tokens * 2)
    half = await agent.budget()
    assert (half.share, half.level) == (0.5, 1)


async def test_events_are_read_from_either_end(agent: Agent) -> None:
    await agent.mark("A")
    await agent.mark("B")
    assert await kinds(agent) == ["agent.started", "mark.set", "mark.set"]
    assert [event.version for event in await agent.events(2)] == [2, 3]
    assert [event.version for event in await agent.events(1, 2, limit=1)] == [1]
    assert [event.version for event in await agent.events(backward=True, limit=2)] == [3, 2]


async def test_another_task_follows_an_agent_from_its_first_event_on(agent: Agent) -> None:
    seen: list[str] = []
    caught_up = asyncio.Event()

    async def watch() -> None:
        async for recorded in agent.follow():
            seen.append(recorded.kind)
            caught_up.set()
            if recorded.kind == "turn.completed":
                return

    watching = asyncio.create_task(watch())
    await asyncio.wait_for(caught_up.wait(), 60)
    async with agent.turn("Hello!") as turn:
        await turn.reply("Hello to you.")
    await asyncio.wait_for(watching, 60)
    assert seen == ["agent.started", "turn.started", "reply.added", "turn.completed"]


async def test_following_can_start_from_now(agent: Agent) -> None:
    await agent.record("Old.", "Yes.")
    news = agent.follow(after=(await agent.state()).version)
    await agent.mark("NEW")
    assert (await asyncio.wait_for(anext(news), 60)).kind == "mark.set"


async def test_a_tail_tells_of_every_agent_and_goes_on_from_a_cursor(
    db: Sapwood, agent: Agent
) -> None:
    other = await db.start("other")
    tail = db.tail()
    first = await asyncio.wait_for(anext(tail), 60)
    second = await asyncio.wait_for(anext(tail), 60)
    assert [first.recorded.agent, second.recorded.agent] == [agent.id, other.id]
    again = await asyncio.wait_for(anext(db.tail(first.cursor)), 60)
    assert again == second


async def test_search_finds_what_left_view_and_leads_back_to_it(db: Sapwood, agent: Agent) -> None:
    await agent.record("Where do herons nest?", "In tall trees.")
    await agent.clear()
    [hit] = await db.search("heron nests")
    recorded = await db.event(hit.ref)
    assert recorded is not None
    assert (hit.ref.agent, recorded.kind) == (agent.id, "turn.recorded")
    assert "herons" in hit.snippet


async def test_search_keeps_to_the_agents_it_is_given(db: Sapwood) -> None:
    one, two = await db.start("one"), await db.start("two")
    for agent in (one, two):
        await agent.record("heron", "yes")
    assert {hit.ref.agent for hit in await db.search("heron")} == {one.id, two.id}
    assert {hit.ref.agent for hit in await db.search("heron", agents=[two.id])} == {two.id}
    assert {hit.ref.agent for hit in await db.search("heron", agents=one.id)} == {one.id}
    assert await db.search("heron", agents=[]) == []
    pages = [await db.search("heron", limit=1, offset=offset) for offset in range(3)]
    assert [len(page) for page in pages] == [1, 1, 0]


async def test_a_place_without_an_event_is_empty(db: Sapwood, agent: Agent) -> None:
    assert await db.event(sapwood.EventRef(agent.id, 99)) is None


async def test_a_replay_shows_what_the_model_saw_whatever_came_since(agent: Agent) -> None:
    async with agent.turn("First.") as turn:
        sent = await turn.call()
        await turn.reply("Yes.")
    await agent.record("Second.", "Yes.")
    await agent.clear()
    await agent.pin("rule", "No jargon.")
    seen = await agent.replay()
    assert (seen.request, seen.matches) == (sent, True)
    assert (await agent.replay(seen.ref.version)).request == sent


async def test_there_may_be_no_call_to_replay(agent: Agent) -> None:
    with pytest.raises(LogError, match="no model call at the log"):
        await agent.replay()
    with pytest.raises(LogError, match="no model call at version 1"):
        await agent.replay(1)


async def test_a_difference_is_told_in_turns(agent: Agent) -> None:
    await agent.record("one", "1")
    await agent.mark("ONE")
    await agent.record("two", "2")
    await agent.mark("TWO")
    since = await agent.diff("ONE")
    assert (since.shared, len(since.only_left), len(since.only_right)) == (1, 0, 1)
    assert (await agent.diff("TWO")).same
    back = await agent.diff("TWO", "ONE")
    assert [turn.prompt[0].text for turn in back.only_left] == ["two"]
    with pytest.raises(RefusedError, match="Did you mean TWO"):
        await agent.diff("TOW")
    assert await said(agent) == ["one", "1", "two", "2"]
