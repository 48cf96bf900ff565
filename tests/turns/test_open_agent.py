"""Opening: a snapshot, the events since, and the live path are as good as the whole history."""

from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.histories import Operation, histories, next_steps
from sapwood.core.commands import Fork, KeepLast
from sapwood.core.evolve import evolve
from sapwood.core.ids import AgentId, Space
from sapwood.core.live_path import EMPTY
from sapwood.core.log_values import AgentSummary, Append, Snapshot
from sapwood.core.state import State
from sapwood.core.view import view
from sapwood.testing import CoreHarness
from sapwood.turns.open_agent import (
    SCHEMA,
    OpenAgent,
    open_agent,
    open_state,
    read_live,
    refreshed,
    snapshot_of,
)
from tests.core.speaking import conversation, does
from tests.store.contract import commit_of
from tests.store.memory_log import MemoryLog
from tests.turns.commanding import SPACE
from tests.turns.logs import stored


def folded(world: CoreHarness, agent: AgentId, version: int) -> State:
    """The state as of a version, from the first event on."""
    state = State(agent)
    for recorded in world.logs[agent][:version]:
        state = evolve(state, recorded)
    return state


def played(operations: list[Operation]) -> CoreHarness:
    """The world after a generated history."""
    world = CoreHarness()
    world.start()
    for operation in operations:
        for step in next_steps(world, operation):
            world.do(step.command, step.actor, step.call)
    return world


async def test_nobody_is_opened_as_nobody(log: MemoryLog) -> None:
    opened = await open_agent(log, SPACE, AgentId("nobody"))
    assert opened == OpenAgent(State(AgentId("nobody")), EMPTY)


@given(histories())
async def test_an_opened_agent_is_the_agent(operations: list[Operation]) -> None:
    world = played(operations)
    log = await stored(world)
    for agent in world.logs:
        opened = await open_agent(log, SPACE, agent)
        assert opened.state == world.states[agent]
        assert opened.live == world.lives[agent]


@given(histories(), st.randoms(use_true_random=False))
async def test_a_snapshot_and_the_tail_are_the_whole_fold_at_every_version(
    operations: list[Operation], random: Random
) -> None:
    world = played(operations)
    log = await stored(world)
    for agent, events in world.logs.items():
        for version in random.sample(range(1, len(events) + 1), k=min(3, len(events))):
            await log.save_snapshot(SPACE, snapshot_of(folded(world, agent, version)))
        for version in random.sample(range(len(events) + 1), k=min(6, len(events))):
            opened = await open_agent(log, SPACE, agent, version)
            assert opened.state == folded(world, agent, version)
            if version:
                request = view(opened.state, opened.live)
                assert request == world.request_at(agent, version)


async def test_the_past_is_opened_as_it_was() -> None:
    world, agent = conversation(3)
    before, version = world.request(agent), len(world.logs[agent])
    does(world, KeepLast(agent, 1))
    world.turn(agent, "ask 4", "answer 4")
    opened = await open_agent(await stored(world), SPACE, agent, version)
    assert view(opened.state, opened.live) == before


async def test_a_version_to_come_is_the_newest() -> None:
    world, agent = conversation(1)
    assert await open_state(await stored(world), SPACE, agent, 1_000) == world.states[agent]


BAD_SNAPSHOTS = {
    "garbage": b"\xc1\xff garbage",
    "nothing": b"",
    "something else": msgspec.msgpack.encode({"agent": 7}),
    "half a state": msgspec.msgpack.encode(State(AgentId("agent1"), 3))[:-3],
    "another agent": msgspec.msgpack.encode(State(AgentId("agent2"), 3)),
    "another version": msgspec.msgpack.encode(State(AgentId("agent1"), 2)),
}


@pytest.mark.parametrize("data", BAD_SNAPSHOTS.values(), ids=BAD_SNAPSHOTS)
async def test_a_snapshot_that_cannot_be_read_is_passed_over(data: bytes) -> None:
    world, agent = conversation(2)
    log = await stored(world)
    await log.save_snapshot(SPACE, Snapshot(agent, 3, SCHEMA, data))
    assert (await open_agent(log, SPACE, agent)).state == world.states[agent]


async def test_an_older_snapshot_serves_when_the_newest_cannot_be_read() -> None:
    world, agent = conversation(3)
    log = await stored(world)
    await log.save_snapshot(SPACE, snapshot_of(folded(world, agent, 4)))
    await log.save_snapshot(SPACE, Snapshot(agent, 6, SCHEMA, b"garbage"))
    assert await open_state(log, SPACE, agent) == world.states[agent]
    assert await open_state(log, SPACE, agent, 5) == folded(world, agent, 5)


async def test_a_snapshot_of_another_schema_is_passed_over() -> None:
    world, agent = conversation(2)
    log = await stored(world)
    wrong = msgspec.msgpack.encode(State(agent, 3, name="wrong"))
    await log.save_snapshot(SPACE, Snapshot(agent, 3, f"{SCHEMA}x", wrong))
    assert await open_state(log, SPACE, agent) == world.states[agent]


async def test_a_snapshot_of_another_space_is_not_seen() -> None:
    world, agent = conversation(2)
    log, other = await stored(world), Space("other")
    events = tuple(world.logs[agent][:3])
    summary = AgentSummary(agent, len(events))
    await log.commit(other, commit_of(Append(agent, 0, events, summary)))
    await log.save_snapshot(other, snapshot_of(folded(world, agent, 3)))
    assert await open_state(log, other, agent) == folded(world, agent, 3)
    assert await open_state(log, SPACE, agent) == world.states[agent]


async def test_what_others_appended_is_taken_in() -> None:
    world, agent = conversation(1)
    log = await stored(world)
    opened = await open_agent(log, SPACE, agent)
    assert await refreshed(log, SPACE, opened) is opened
    for version in range(1, len(world.logs[agent])):
        past = await open_agent(log, SPACE, agent, version)
        assert (await refreshed(log, SPACE, past)).state == world.states[agent]


async def test_the_path_of_another_context_can_be_read() -> None:
    world, agent = conversation(1)
    context = world.states[agent].context
    world.turn(agent, "ask 2", "answer 2")
    live = await read_live(await stored(world), SPACE, world.states[agent], context=context)
    assert [turn.prompt[0].text for turn in live.turns] == ["ask 1"]


async def test_a_deep_chain_of_forks_is_opened_from_its_end() -> None:
    world, agent = conversation(1)
    for number in range(300):
        does(world, Fork(agent, child := AgentId(f"c{number}")))
        agent = child
        world.turn(agent, f"ask {number}", "yes")
    opened = await open_agent(await stored(world), SPACE, agent)
    assert len(opened.live.turns) == 301
