"""Agents are offered by words that lead to them."""

from sapwood.conversation.agent_lookup import find
from sapwood.conversation.completion import choices, known_names
from sapwood.core.commands import Archive, StartAgent
from sapwood.core.ids import AgentId
from tests.conversation.spaces import service_of
from tests.turns.commanding import Desk

FIRST, SECOND, PAST = AgentId("k222222222"), AgentId("m222222222"), AgentId("p222222222")


async def test_agents_that_share_a_name_are_offered_by_their_ids(desk: Desk) -> None:
    for agent in (FIRST, SECOND):
        await desk.do(StartAgent(agent, "hello"))
    space = service_of(desk).services.space
    known = await known_names(space, None)
    assert set(known.agents) == {(FIRST, "hello"), (SECOND, "hello")}
    for line in ("/switch ", "/switch he", "/kill hello"):
        assert {each.word for each in choices(line, known)} == {FIRST, SECOND}


async def test_every_offered_word_leads_to_its_agent(desk: Desk) -> None:
    await desk.do(StartAgent(PAST, "hello"))
    await desk.do(Archive(PAST))
    await desk.do(StartAgent(FIRST, "hello"))
    await desk.do(StartAgent(SECOND, "two words"))
    space = service_of(desk).services.space
    known = await known_names(space, None)
    assert set(known.agents) == {("hello", FIRST), (SECOND, "two words")}
    assert set(known.conversations) == {(PAST, "hello")}
    for word, agent in (("hello", FIRST), (PAST, PAST), (SECOND, SECOND)):
        assert await find(space, word) == agent
