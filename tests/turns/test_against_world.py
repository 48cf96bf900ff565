"""Dispatched by several forgetful processes, a history is the one that the pure core decides."""

from hypothesis import given

from proofs.histories import Operation, histories, next_steps
from sapwood.core.commands import CommandMeta
from sapwood.core.decide import Accepted
from sapwood.core.ids import CommandId
from sapwood.testing import CoreHarness
from sapwood.turns.dispatch import Done
from sapwood.turns.open_agent import open_agent
from tests.store.memory_log import MemoryLog
from tests.turns.commanding import SPACE, Desk


@given(histories())
async def test_logs_states_and_paths_are_the_same(operations: list[Operation]) -> None:
    world, log = CoreHarness(), MemoryLog()
    desks = [Desk(log), Desk(log, kept_open=1), Desk(log, kept_open=2)]
    for operation in operations:
        for step in next_steps(world, operation):
            decision = world.do(step.command, step.actor, step.call)
            number = world.commands
            given_ = CommandMeta(CommandId(f"c{number}"), number * 1_000, step.actor, step.call)
            desk = desks[(operation[1] + number) % len(desks)]
            answer = await desk.dispatcher.dispatch(step.command, given_)
            assert isinstance(answer, Done) == isinstance(decision, Accepted)
            if not isinstance(decision, Accepted):
                assert answer == decision
    for agent, events in world.logs.items():
        assert await log.read(SPACE, agent) == events
        for desk in desks:
            opened = await desk.dispatcher.open(agent)
            assert (opened.state, opened.live) == (world.states[agent], world.lives[agent])
        assert (await open_agent(log, SPACE, agent)).live == world.lives[agent]
