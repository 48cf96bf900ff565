"""A state is as small after a million events as after ten: it holds references, never turns."""

import msgspec
from hypothesis import given

from proofs.histories import Operation, histories, next_steps
from sapwood.core.commands import Clear, KeepLast, SetMark
from sapwood.core.evolve import evolve
from sapwood.core.state import WINDOW_STEPS, State
from sapwood.testing import CoreHarness
from tests.core.speaking import conversation, does


def size_of(state: State) -> int:
    """Bytes of a snapshot."""
    return len(msgspec.msgpack.encode(state))


def test_it_does_not_grow_with_the_conversation() -> None:
    world, agent = conversation(20)
    sizes: list[int] = []
    for number in range(700):
        world.turn(agent, f"ask {number} " * 100, "answer " * 100)
        sizes.append(size_of(world.states[agent]))
    steps = sum(step.cause == "window" for step in world.states[agent].undo)
    assert steps == WINDOW_STEPS
    assert max(sizes[-50:]) < max(sizes[-150:-50]) + 50


def test_it_does_not_grow_without_end_by_marks_and_trims() -> None:
    world, agent = conversation(1)
    sizes: list[int] = []
    for number in range(600):
        does(world, SetMark(agent, f"m{number % 30}"))
        world.turn(agent, "ask", "answer")
        does(world, Clear(agent) if number % 7 == 0 else KeepLast(agent, 1))
        sizes.append(size_of(world.states[agent]))
    assert max(sizes[300:]) < 1.2 * max(sizes[:300])


@given(histories())
def test_a_snapshot_in_the_middle_changes_nothing(operations: list[Operation]) -> None:
    world = CoreHarness()
    world.start()
    for operation in operations:
        for step in next_steps(world, operation):
            world.do(step.command, step.actor, step.call)
    for agent, log in world.logs.items():
        state = State(agent)
        for recorded in log:
            packed = msgspec.msgpack.encode(evolve(state, recorded))
            state = msgspec.msgpack.decode(packed, type=State)
        assert state == world.states[agent]


def test_it_knows_the_ratio_of_each_model() -> None:
    world, agent = conversation()
    assert world.states[agent].ratio("unknown").ratio == 1.0
