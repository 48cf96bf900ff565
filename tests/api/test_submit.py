"""Submissions: what a person would type, carried out in order."""

import pytest

from sapwood import Agent, RefusedError, Sapwood
from sapwood.core.refusals import Refusal, UnknownMark
from sapwood.runtime.dispatch import Done
from tests.api.reading import said


async def test_text_opens_a_turn_that_can_be_taken_up(agent: Agent) -> None:
    await agent.submit("What is 6 x 7?")
    async with agent.turn() as turn:
        await turn.reply("42")
    assert await said(agent) == ["What is 6 x 7?", "42"]


async def test_mark_goal_and_fork_sent_at_once_start_a_child_and_no_turn(
    wood: Sapwood, agent: Agent
) -> None:
    marked, forked = await agent.submit("/mark T\nFind the leak.\n/fork T")
    assert isinstance(marked.done, Done)
    assert isinstance(forked.done, Done)
    [facts] = await wood.agents(parent=agent.id)
    assert forked.done.says == f"Forked. Child: {facts.agent} (from T)"
    assert await said(await wood.agent(facts.agent)) == ["Find the leak."]
    assert (await agent.state()).open is None
    await agent.record("And now?", "We wait.")
    assert "Delegated to agent" in (await said(agent))[0]


async def test_a_script_stops_at_the_first_refusal_and_keeps_what_was_done(agent: Agent) -> None:
    outcomes = await agent.submit("/mark A\n/rewind B\n/mark C")
    assert [isinstance(outcome.done, Refusal) for outcome in outcomes] == [False, True]
    assert outcomes[-1].done == UnknownMark("B", ())
    assert [mark.name for mark in (await agent.state()).marks] == ["A"]


async def test_an_unknown_command_alone_is_refused_before_anything_happens(agent: Agent) -> None:
    with pytest.raises(RefusedError, match=r"There is no command /mrak\. Did you mean /mark"):
        await agent.submit("/mrak A")
    assert (await agent.state()).version == 1


async def test_other_agents_are_named_as_a_person_would(wood: Sapwood, agent: Agent) -> None:
    scout = await wood.start("scout")
    await agent.submit(f"/send scout Look at the cache.\n/kill {scout.id[:6]}")
    assert [letter.text for letter in await scout.mail()] == ["Look at the cache."]
    assert (await scout.state()).status == "killed"


async def test_what_only_a_face_can_answer_has_no_answer_here(agent: Agent) -> None:
    [outcome] = await agent.submit("/help")
    assert outcome.done is None


async def test_two_slashes_send_a_line_as_it_is(agent: Agent) -> None:
    await agent.submit("//mark is a command")
    assert await said(agent) == ["/mark is a command"]
