"""Finding an agent by what a person types."""

from sapwood.core.commands import Archive, Kill, StartAgent, StartSuccessor
from sapwood.core.ids import AgentId
from sapwood.core.refusals import AmbiguousAgent, UnknownAgent
from sapwood.turns.open_agent import find_agent
from tests.store.memory_log import MemoryLog
from tests.turns.commanding import SPACE, Desk

A, B, C = AgentId("abc123"), AgentId("abd456"), AgentId("xyz789")


async def test_an_id_the_start_of_it_or_a_name_will_do(desk: Desk, log: MemoryLog) -> None:
    await desk.do(StartAgent(A, "lead"))
    await desk.do(StartAgent(B, "scout"))
    for typed in ("abc123", "abc", "lead"):
        assert await find_agent(log, SPACE, typed) == A


async def test_nobody_is_found_by_nothing_or_by_a_stranger(desk: Desk, log: MemoryLog) -> None:
    await desk.do(StartAgent(A, "lead"))
    for typed in ("", "zzz", "LEAD", "bc123"):
        assert await find_agent(log, SPACE, typed) == UnknownAgent(typed)


async def test_several_are_told(desk: Desk, log: MemoryLog) -> None:
    for agent in (A, B):
        await desk.do(StartAgent(agent))
    found = await find_agent(log, SPACE, "ab")
    assert isinstance(found, AmbiguousAgent)
    assert sorted(found.agents) == [A, B]


async def test_a_whole_id_is_never_ambiguous(desk: Desk, log: MemoryLog) -> None:
    await desk.do(StartAgent(A))
    await desk.do(StartAgent(AgentId(f"{A}4")))
    assert await find_agent(log, SPACE, A) == A


async def test_a_whole_name_is_not_confused_with_the_start_of_an_id(
    desk: Desk, log: MemoryLog
) -> None:
    await desk.do(StartAgent(C, "abc"))
    for number in range(6):
        await desk.do(StartAgent(AgentId(f"abc12{number}")))
    assert await find_agent(log, SPACE, "abc") == C
    await desk.do(StartSuccessor(C, B))
    assert await find_agent(log, SPACE, "abc") == B


async def test_a_successor_is_found_by_the_name_it_inherited(desk: Desk, log: MemoryLog) -> None:
    await desk.do(StartAgent(A, "lead"))
    await desk.do(StartSuccessor(A, B))
    assert await find_agent(log, SPACE, "lead") == B
    await desk.do(StartSuccessor(B, C))
    assert await find_agent(log, SPACE, "lead") == C


async def test_the_only_bearer_of_a_name_is_found_though_it_rests(
    desk: Desk, log: MemoryLog
) -> None:
    await desk.do(StartAgent(A, "lead"))
    await desk.do(Archive(A))
    assert await find_agent(log, SPACE, "lead") == A
    await desk.do(Kill(A))
    assert await find_agent(log, SPACE, "lead") == A


async def test_a_child_may_say_parent(desk: Desk, log: MemoryLog) -> None:
    await desk.do(StartAgent(A, "lead"))
    assert await find_agent(log, SPACE, "parent", parent=A) == A
    assert await find_agent(log, SPACE, "parent") == UnknownAgent("parent")
