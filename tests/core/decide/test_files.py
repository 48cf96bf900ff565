"""Checkpoints and reverts: what the log is told of files, and how the context follows them."""

from functools import reduce

import pytest

from sapwood.core.checkpoint import Destination, LeftOut, Restored, Saved
from sapwood.core.commands import (
    Command,
    FinishRevert,
    MakeCheckpoint,
    MissCheckpoint,
    ReadMail,
    Rewind,
    Send,
    SetMark,
    StartRevert,
    StartTurn,
    Undo,
)
from sapwood.core.content import Text
from sapwood.core.events import CheckpointMade, CheckpointMissed, ContextReverted, RevertStarted
from sapwood.core.evolve import evolve
from sapwood.core.ids import AgentId
from sapwood.core.refusals import HumanOnly, RevertCutOff, RevertOvertaken, TurnIsOpen
from sapwood.core.state import State
from sapwood.testing import CoreHarness
from tests.core.speaking import MODEL, conversation, does, kinds, last_event, opens, refusal, said

OLD, NEW = Saved("commit1", "tree1"), Saved("commit2", "tree2")


def goes_back(world: CoreHarness, agent: AgentId, to: Destination, restored: Restored) -> str:
    """Starts a revert to the context of an earlier version, and finishes it."""
    does(world, StartRevert(agent, NEW, to))
    started = world.states[agent].version
    then = reduce(evolve, world.logs[agent][: to.context], State(agent))
    return does(world, FinishRevert(agent, started, then.context, OLD, restored))


def test_a_tree_that_the_log_knows_makes_no_second_checkpoint() -> None:
    world, agent = conversation(1)
    does(world, MakeCheckpoint(agent, OLD, 2))
    assert last_event(world, agent) == CheckpointMade(OLD, 2)
    before = len(world.logs[agent])
    does(world, MakeCheckpoint(agent, Saved("other", OLD.tree), 2))
    assert len(world.logs[agent]) == before


def test_a_tree_that_the_log_knows_is_recorded_before_another_turn() -> None:
    world, agent = conversation(1)
    does(world, MakeCheckpoint(agent, OLD, 2))
    first = world.states[agent].version
    does(world, MakeCheckpoint(agent, OLD, first + 1, "before"))
    assert last_event(world, agent) == CheckpointMade(OLD, first + 1, "before", first)
    does(world, MakeCheckpoint(agent, OLD, first + 1, "before"))
    assert world.states[agent].version == first + 1


def test_each_checkpoint_names_the_one_before() -> None:
    world, agent = conversation(1)
    does(world, MakeCheckpoint(agent, OLD, 2, "before"))
    first = world.states[agent].version
    does(world, MakeCheckpoint(agent, NEW, 2))
    assert last_event(world, agent) == CheckpointMade(NEW, 2, "after", first)


def test_what_is_not_covered_is_said() -> None:
    world, agent = conversation(1)
    files = Saved("c", "t", (LeftOut("big.bin", "large"),), 2)
    assert does(world, MakeCheckpoint(agent, files)) == (
        "Checkpoint made. Not covered: big.bin (too large) and 2 more."
    )


def test_of_several_missed_checkpoints_in_a_row_the_first_is_told() -> None:
    world, agent = conversation(1)
    does(world, MissCheckpoint(agent, "Git failed.", 2))
    assert last_event(world, agent) == CheckpointMissed("Git failed.", 2)
    does(world, MissCheckpoint(agent, "Git failed.", 6))
    assert kinds(world, agent).count("checkpoint.missed") == 1
    does(world, MakeCheckpoint(agent, OLD, 6))
    does(world, MissCheckpoint(agent, "Git failed.", 9))
    assert kinds(world, agent).count("checkpoint.missed") == 2


def test_a_revert_moves_the_context_and_undo_moves_it_back() -> None:
    world, agent = conversation(1)
    then, request = world.states[agent].version, world.request(agent)
    world.turn(agent, "ask 2", "answer 2")
    now = world.request(agent)
    told = goes_back(world, agent, Destination(then, then, "after turn 2"), Restored(2, 1))
    assert told == (
        "Files and context are as they were after turn 2: 2 files restored, 1 removed. "
        "Not changed: ignored files. Type /revert to go further back, /revert back to undo "
        "this, or /undo to move only the context."
    )
    assert isinstance(last_event(world, agent), ContextReverted)
    assert world.request(agent) == request
    does(world, Undo(agent))
    assert world.request(agent) == now


def test_what_was_left_is_named_once() -> None:
    world, agent = conversation(1)
    files = Saved("c", "t", (LeftOut("big.bin", "large"), LeftOut("lib/", "repository")))
    does(world, StartRevert(agent, NEW, Destination(1, 1, "then")))
    restored = Restored(1, 0, (LeftOut("big.bin", "unsaved"),))
    context, started = world.states[agent].context, world.states[agent].version
    told = does(world, FinishRevert(agent, started, context, files, restored))
    assert "1 file restored, 0 removed." in told
    assert "big.bin (in the way, and not saved), lib/ (a separate repository)." in told


def test_marks_made_since_are_dropped() -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, "EARLY"))
    then = world.states[agent].version
    world.turn(agent, "ask 2", "answer 2")
    does(world, SetMark(agent, "LATE"))
    goes_back(world, agent, Destination(then, then, "then"), Restored())
    assert [mark.name for mark in world.states[agent].marks] == ["EARLY"]


def test_marks_are_those_of_the_destination() -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, "EARLY"))
    context, marks = world.states[agent].context, world.states[agent].marks
    does(world, SetMark(agent, "LATE"))
    does(world, StartRevert(agent, NEW, Destination(1, 1, "then")))
    started = world.states[agent].version
    does(world, FinishRevert(agent, started, context, OLD, Restored(), (), ()))
    assert world.states[agent].marks == ()
    does(world, StartRevert(agent, NEW, Destination(1, 1, "then")))
    started = world.states[agent].version
    does(world, FinishRevert(agent, started, context, OLD, Restored(), (), marks))
    assert world.states[agent].marks == marks


def test_between_start_and_finish_no_prompt_is_taken() -> None:
    world, agent = conversation(1)
    does(world, StartRevert(agent, NEW, Destination(1, 1, "before turn 2")))
    assert isinstance(last_event(world, agent), RevertStarted)
    started = world.states[agent].version
    prompt = StartTurn(agent, (Text("go on"),))
    assert refusal(world, prompt) == RevertCutOff("before turn 2")
    assert "/revert back to undo it" in refusal(world, prompt).sentence
    does(world, FinishRevert(agent, started, world.states[agent].context, OLD, Restored()))
    does(world, prompt)
    assert said(world, agent)[-1] == "go on"


def test_a_revert_that_another_has_overtaken_is_not_finished() -> None:
    world, agent = conversation(1)
    does(world, StartRevert(agent, NEW, Destination(1, 1, "then")))
    first, context = world.states[agent].version, world.states[agent].context
    does(world, StartRevert(agent, NEW, Destination(1, 1, "then")))
    late = FinishRevert(agent, first, context, OLD, Restored())
    assert refusal(world, late) == RevertOvertaken()


AGENT = AgentId("agent1")
TO = Destination(1, 1, "then")


def test_a_revert_waits_for_the_end_of_the_turn() -> None:
    world, agent = conversation(1)
    opens(world, agent)
    assert refusal(world, StartRevert(agent, NEW, TO)) == TurnIsOpen("/revert")


@pytest.mark.parametrize(
    "command",
    [
        MakeCheckpoint(AGENT, OLD),
        MissCheckpoint(AGENT, "Git failed."),
        StartRevert(AGENT, OLD, TO),
    ],
    ids=lambda command: type(command).__name__,
)
def test_none_of_it_is_for_models(command: Command) -> None:
    world, _ = conversation(1)
    assert isinstance(refusal(world, command, MODEL), HumanOnly)


def test_mail_that_comes_into_view_again_does_not_wait_as_well() -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, "A"))
    world.turn(agent, "ask 2", "answer 2")
    does(world, Send(agent, "m1", "The build is red."))
    does(world, ReadMail(agent))
    does(world, Rewind(agent, "A"))
    world.turn(agent, "ask 3", "answer 3")
    heard, then = world.states[agent].context, world.request(agent)
    does(world, Undo(agent))
    [note] = world.states[agent].notes
    does(world, StartRevert(agent, NEW, TO))
    started = world.states[agent].version
    does(world, FinishRevert(agent, started, heard, OLD, Restored(), (note,)))
    assert world.states[agent].notes == ()
    assert world.request(agent) == then
    does(world, Undo(agent))
    assert world.states[agent].notes == (note,)
