"""`/kill`: an agent and all its descendants end, open turns included."""

import pytest

from sapwood.core.commands import (
    AddReply,
    Archive,
    Fork,
    Kill,
    SetMark,
    StartSuccessor,
    StartTurn,
)
from sapwood.core.content import Text, ToolCall
from sapwood.core.events import AgentKilled, Size, TurnInterrupted
from sapwood.core.history_size import history
from sapwood.core.ids import AgentId
from sapwood.core.refusals import NotDescendant, NotRunning, RootNeedsHuman, UnknownAgent
from sapwood.testing import CoreHarness
from tests.core.speaking import (
    MODEL,
    by_model,
    conversation,
    does,
    kinds,
    last_event,
    opens,
    refusal,
    results,
)

A, B, C, D = (AgentId(name) for name in "abcd")


def family() -> tuple[CoreHarness, AgentId]:
    """A root with children a and b; a has child c, c has child d."""
    world, root = conversation(1)
    for parent, child in ((root, A), (root, B), (A, C), (C, D)):
        does(world, Fork(parent, child))
    return world, root


def statuses(world: CoreHarness) -> dict[str, str]:
    """Who is running and who is not."""
    return {agent: state.status for agent, state in world.states.items()}


def test_a_kill_ends_the_agent_and_all_below_it_and_lists_them() -> None:
    world, root = family()
    assert does(world, Kill(A)) == "Killed a, c, d."
    assert statuses(world) == {
        root: "running",
        A: "killed",
        B: "running",
        C: "killed",
        D: "killed",
    }


def test_every_log_says_whose_kill_it_was() -> None:
    world, root = family()
    does(world, Kill(A, by=root))
    assert [last_event(world, agent) for agent in (A, C, D)] == [AgentKilled(A, root)] * 3


def test_a_kill_of_what_is_dead_changes_nothing_and_says_so() -> None:
    world, _ = family()
    does(world, Kill(A))
    assert does(world, Kill(A)) == "a was already killed."
    assert does(world, Kill(D)) == "d was already killed."
    assert kinds(world, A).count("agent.killed") == 1


def test_the_living_below_a_dead_agent_can_be_killed_through_it() -> None:
    world, _ = family()
    does(world, Kill(C))
    does(world, Fork(C, late := AgentId("late")))
    assert does(world, Kill(C)) == "Killed late."
    assert world.states[late].status == "killed"


def test_the_resting_are_killed_with_the_rest() -> None:
    world, _ = family()
    does(world, Archive(C))
    assert does(world, Kill(A)) == "Killed a, c, d."


def test_open_turns_end_interrupted_and_their_calls_are_closed() -> None:
    world, _ = family()
    for agent in (A, D):
        opens(world, agent, "go")
        does(world, AddReply(agent, (Text("Let me look."), ToolCall("1", "read"))))
    does(world, Kill(A))
    for agent in (A, D):
        assert kinds(world, agent)[-2:] == ["turn.interrupted", "agent.killed"]
        assert world.states[agent].open is None
        assert results(world, agent) == ["[interrupted: killed]"]


def test_the_size_of_a_turn_killed_from_afar_is_counted_when_it_is_next_in_view() -> None:
    world, _ = family()
    opens(world, D, "go on")
    does(world, Kill(A))
    event = world.logs[D][-2].event
    assert isinstance(event, TurnInterrupted)
    assert event.size == Size(0, "")
    does(world, Fork(D, AgentId("heir")))
    live = world.lives[AgentId("heir")]
    size = history(live, world.counter, world.states[D].ratio())
    prompt = sum(len(part.text) for part in live.turns[-1].prompt)
    assert size.tokens == len("ask 1answer 1") + prompt


def test_the_dead_do_nothing_more() -> None:
    world, _ = family()
    does(world, Kill(A))
    for command in (StartTurn(A, (Text("x"),)), SetMark(A, "X"), StartSuccessor(A, AgentId("y"))):
        reason = refusal(world, command)
        assert reason == NotRunning(A, "killed")


def test_a_model_may_kill_its_own_descendants() -> None:
    world, _ = family()
    assert by_model(world, Kill(D, by=A)) == "Killed d."
    assert by_model(world, Kill(C, by=A)) == "Killed c."


@pytest.mark.parametrize(("by", "target"), [(A, B), (C, A), (B, D), (A, A)])
def test_a_model_may_kill_nobody_else(by: AgentId, target: AgentId) -> None:
    world, _ = family()
    assert refusal(world, Kill(target, by=by), MODEL) == NotDescendant(target)


def test_a_model_that_is_nobody_kills_nobody() -> None:
    world, _ = family()
    assert refusal(world, Kill(A), MODEL) == NotDescendant(A)


def test_only_a_person_kills_a_root() -> None:
    world, root = family()
    assert refusal(world, Kill(root, by=root), MODEL) == RootNeedsHuman(root)
    assert does(world, Kill(root)).startswith(f"Killed {root}, ")


def test_nobody_is_killed_who_never_was() -> None:
    nobody = AgentId("nobody")
    assert refusal(CoreHarness(), Kill(nobody)) == UnknownAgent(nobody)
