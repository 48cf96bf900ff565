"""`/undo` and `/redo`: context commands can be taken back, one after the other."""

import pytest

from sapwood.core.commands import (
    Clear,
    Command,
    Compact,
    Configure,
    Fork,
    KeepLast,
    MaskResults,
    ReadMail,
    Redo,
    Rewind,
    Send,
    SetMark,
    Undo,
)
from sapwood.core.ids import AgentId
from sapwood.core.refusals import NothingToRedo, NothingToUndo, TurnIsOpen
from sapwood.core.settings import Settings, SettingsChange
from sapwood.core.state import MARKS_KEPT, UNDO_DEPTH, WINDOW_STEPS
from sapwood.testing import CoreHarness
from tests.core.speaking import (
    conversation,
    does,
    marked,
    opens,
    refusal,
    results,
    said,
    uses_tool,
)

AGENT = AgentId("agent1")
COMMANDS = {
    "clear": Clear(AGENT),
    "clear 1": KeepLast(AGENT, 1),
    "rewind": Rewind(AGENT, "HERE"),
    "compact": Compact(AGENT, "It was about numbers.", keep=1),
}
context_commands = pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)


def marked_conversation() -> tuple[CoreHarness, AgentId]:
    """Two turns, a mark, two turns."""
    world, agent = conversation(2)
    does(world, SetMark(agent, "HERE"))
    world.turn(agent, "ask 3", "answer 3")
    world.turn(agent, "ask 4", "answer 4")
    return world, agent


def command_name(command: Command) -> str:
    """The command as it is typed."""
    return next("/" + name for name, each in COMMANDS.items() if each == command)


@context_commands
def test_undo_restores_the_identical_request_and_redo_takes_that_back(command: Command) -> None:
    world, agent = marked_conversation()
    before, marks = world.request(agent), world.states[agent].marks
    does(world, command)
    after = world.request(agent)
    name = command_name(command)
    assert does(world, Undo(agent)) == f"Undone: {name}."
    assert world.request(agent) == before
    assert world.states[agent].marks == marks
    assert does(world, Redo(agent)) == f"Redone: {name}."
    assert world.request(agent) == after


@context_commands
def test_undo_and_redo_can_be_repeated_for_ever(command: Command) -> None:
    world, agent = marked_conversation()
    before = world.request(agent)
    does(world, command)
    after = world.request(agent)
    for _ in range(3):
        does(world, Undo(agent))
        assert world.request(agent) == before
        does(world, Redo(agent))
        assert world.request(agent) == after


def test_repeated_undo_goes_further_back() -> None:
    world, agent = conversation(4)
    requests = [world.request(agent)]
    for command in (KeepLast(agent, 3), KeepLast(agent, 1), Clear(agent)):
        does(world, command)
        requests.append(world.request(agent))
    for expected in reversed(requests[:-1]):
        does(world, Undo(agent))
        assert world.request(agent) == expected
    assert refusal(world, Undo(agent)) == NothingToUndo()
    for expected in requests[1:]:
        does(world, Redo(agent))
        assert world.request(agent) == expected
    assert refusal(world, Redo(agent)) == NothingToRedo()


def test_turns_made_since_a_moved_head_stay() -> None:
    world, agent = conversation(2)
    does(world, Clear(agent))
    world.turn(agent, "ask 3", "answer 3")
    does(world, Undo(agent))
    assert said(world, agent)[::2] == ["ask 1", "ask 2", "ask 3"]


def test_turns_made_since_a_moved_tip_become_a_side_branch() -> None:
    world, agent = marked_conversation()
    does(world, Rewind(agent, "HERE"))
    world.turn(agent, "other 3", "answer")
    does(world, Undo(agent))
    assert said(world, agent)[::2] == ["ask 1", "ask 2", "ask 3", "ask 4"]
    does(world, Redo(agent))
    assert said(world, agent)[::2] == ["ask 1", "ask 2", "other 3"]


def test_redo_lasts_over_turns_and_marks_until_the_next_context_command() -> None:
    world, agent = conversation(2)
    does(world, Clear(agent))
    does(world, Undo(agent))
    world.turn(agent, "ask 3", "answer 3")
    does(world, SetMark(agent, "HERE"))
    does(world, Redo(agent))
    assert said(world, agent)[::2] == ["ask 3"]
    does(world, Undo(agent))
    does(world, KeepLast(agent, 1))
    assert refusal(world, Redo(agent)) == NothingToRedo()


def test_marks_set_since_a_clear_stay_when_it_is_undone() -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, "OLD"))
    does(world, SetMark(agent, "MOVED"))
    does(world, Clear(agent))
    world.turn(agent, "ask 2", "answer 2")
    does(world, SetMark(agent, "NEW"))
    does(world, SetMark(agent, "MOVED"))
    does(world, Undo(agent))
    assert marked(world, agent) == ["OLD", "NEW", "MOVED"]
    does(world, Rewind(agent, "MOVED"))
    assert said(world, agent)[::2] == ["ask 2"]


def test_marks_of_a_side_branch_go_with_it() -> None:
    world, agent = marked_conversation()
    does(world, Rewind(agent, "HERE"))
    does(world, SetMark(agent, "ASIDE"))
    does(world, Undo(agent))
    assert marked(world, agent) == ["HERE"]


def test_a_clear_brought_back_over_marks_never_holds_too_many() -> None:
    world, agent = conversation(1)
    for round_ in range(2):
        for number in range(MARKS_KEPT):
            does(world, SetMark(agent, f"m{round_}.{number}"))
        if round_ == 0:
            does(world, Clear(agent))
    does(world, Undo(agent))
    assert len(world.states[agent].marks) == MARKS_KEPT


def test_a_mask_set_since_stays() -> None:
    world, agent = conversation(1)
    does(world, KeepLast(agent, 1))
    uses_tool(world, agent, "x" * 500)
    does(world, Clear(agent))
    uses_tool(world, agent, "y" * 500)
    does(world, MaskResults(agent, 100))
    does(world, Undo(agent))
    assert [text[:7] for text in results(world, agent)] == ["[masked", "[masked"]


def test_an_undo_of_a_certain_command_undoes_no_later_one() -> None:
    world, agent = conversation(4)
    does(world, KeepLast(agent, 3))
    step = world.states[agent].undo[-1].version
    does(world, KeepLast(agent, 1))
    assert refusal(world, Undo(agent, step)) == NothingToUndo()
    does(world, Undo(agent))
    does(world, Undo(agent, step))


def test_undo_reaches_so_far_and_no_further() -> None:
    world, agent = conversation(1)
    for number in range(UNDO_DEPTH + 5):
        world.turn(agent, f"more {number}", "yes")
        does(world, KeepLast(agent, 1))
    for _ in range(UNDO_DEPTH):
        does(world, Undo(agent))
    assert refusal(world, Undo(agent)) == NothingToUndo()


@pytest.mark.parametrize("command", [Undo(AGENT), Redo(AGENT)], ids=["undo", "redo"])
def test_a_person_cannot_take_back_under_a_running_turn(command: Command) -> None:
    world, agent = conversation(2)
    does(world, Clear(agent))
    opens(world, agent)
    assert isinstance(refusal(world, command), TurnIsOpen)


def test_what_is_no_context_command_cannot_be_undone() -> None:
    world, agent = conversation(2)
    does(world, SetMark(agent, "HERE"))
    does(world, Fork(agent, AgentId("child")))
    does(world, Configure(agent, SettingsChange(system="Be brief.")))
    assert refusal(world, Undo(agent)) == NothingToUndo()


def test_a_child_has_nothing_to_undo() -> None:
    world, agent = conversation(2)
    does(world, KeepLast(agent, 1))
    does(world, Fork(agent, child := AgentId("child")))
    assert refusal(world, Undo(child)) == NothingToUndo()


# Undo and the window.


def clipped(number: int = 5) -> tuple[CoreHarness, AgentId]:
    """Three turns fit; a fourth moves the window past the first."""
    return conversation(number, Settings(model="scripted", cap=40, low_water=1.0))


def test_undo_brings_back_what_the_window_clipped() -> None:
    world, agent = clipped(4)
    assert said(world, agent)[0] == "ask 2"
    assert does(world, Undo(agent)) == "Undone: the move of the window."
    assert said(world, agent)[0] == "ask 1"
    does(world, Redo(agent))
    assert said(world, agent)[0] == "ask 2"


def test_clipped_turns_stay_once_the_cap_is_raised() -> None:
    world, agent = clipped(4)
    raised = does(world, Configure(agent, SettingsChange(cap=1000)))
    assert "/undo" in raised
    does(world, Undo(agent))
    world.turn(agent, "ask 5", "answer 5")
    assert said(world, agent)[0] == "ask 1"


def test_a_raised_cap_offers_nothing_if_nothing_was_clipped() -> None:
    world, agent = conversation(2)
    assert "/undo" not in does(world, Configure(agent, SettingsChange(cap=200_000)))


def test_the_window_and_commands_are_taken_back_in_turn() -> None:
    world, agent = conversation(2, Settings(model="scripted", cap=40, low_water=1.0))
    does(world, Compact(agent, "Numbers."))
    for number in range(3, 7):
        world.turn(agent, f"ask {number}", f"answer {number}")
    assert "ask 4" in said(world, agent)[0]
    does(world, Undo(agent))
    assert "ask 3" in said(world, agent)[0]
    assert does(world, Undo(agent)) == "Undone: /compact."
    assert said(world, agent)[0] == "ask 1"
    assert refusal(world, Undo(agent)) == NothingToUndo()


def test_moves_of_the_window_do_not_push_commands_out() -> None:
    world, agent = clipped(2)
    does(world, KeepLast(agent, 1))
    for number in range(3, 90):
        world.turn(agent, f"ask {number}", f"answer {number}")
    causes = [step.cause for step in world.states[agent].undo]
    assert causes == ["keep", *["window"] * WINDOW_STEPS]
    for _ in range(WINDOW_STEPS):
        does(world, Undo(agent))
    before = said(world, agent)
    does(world, Undo(agent))
    assert said(world, agent) == before  # the window would have left those turns behind anyway


def test_a_move_of_the_window_is_not_redone_after_the_window_moved_by_itself() -> None:
    world, agent = clipped(4)
    does(world, Undo(agent))
    for number in range(5, 7):
        world.turn(agent, f"ask {number}", f"answer {number}")
    assert refusal(world, Redo(agent)) == NothingToRedo()


def test_redo_still_moves_head_forward_after_the_window_moved() -> None:
    world, agent = conversation(3, Settings(model="scripted", cap=60, low_water=1.0))
    does(world, KeepLast(agent, 1))
    does(world, Undo(agent))
    for number in range(4, 6):
        world.turn(agent, f"ask {number}", f"answer {number}")
    assert said(world, agent)[0] == "ask 2"
    does(world, Redo(agent))
    assert said(world, agent)[0] == "ask 3"


def test_what_an_undo_brought_back_over_the_cap_leaves_with_the_next_prompt() -> None:
    world, agent = conversation(4, Settings(model="scripted", cap=60, low_water=1.0))
    does(world, Clear(agent))
    for number in range(5, 8):
        world.turn(agent, f"ask {number}", f"answer {number}")
    does(world, Undo(agent))
    assert len(said(world, agent)) == 14
    opens(world, agent, "ask 8")
    assert said(world, agent)[0] == "ask 4"


# Undo and notes that wait.


def test_the_note_of_a_rewind_goes_with_the_rewind() -> None:
    world, agent = marked_conversation()
    does(world, Rewind(agent, "HERE", "That led nowhere."))
    does(world, Undo(agent))
    assert world.states[agent].notes == ()
    does(world, Redo(agent))
    assert [note.text for note in world.states[agent].notes] == ["That led nowhere."]


def test_mail_that_waited_before_a_rewind_waits_again_after_its_undo() -> None:
    world, agent = marked_conversation()
    does(world, Send(agent, "m1", "first"))
    does(world, ReadMail(agent))
    does(world, Rewind(agent, "HERE"))
    world.turn(agent, "other", "branch")
    does(world, Undo(agent))
    assert [note.text for note in world.states[agent].notes] == ["first"]


def test_mail_that_a_side_branch_has_seen_does_not_wait_when_it_is_back_in_view() -> None:
    world, agent = marked_conversation()
    does(world, Send(agent, "m1", "first"))
    does(world, ReadMail(agent))
    does(world, Rewind(agent, "HERE", "Why."))
    world.turn(agent, "other", "branch")
    for _ in range(2):
        does(world, Undo(agent))
        assert [note.text for note in world.states[agent].notes] == ["first"]
        does(world, Redo(agent))
        assert world.states[agent].notes == ()
        assert "first" in said(world, agent)[-2]


def test_mail_read_since_a_rewind_is_not_lost_by_its_undo() -> None:
    world, agent = marked_conversation()
    does(world, Send(agent, "m1", "same words"))
    does(world, ReadMail(agent))
    does(world, Rewind(agent, "HERE", "Why."))
    does(world, Send(agent, "m2", "same words"))
    does(world, ReadMail(agent))
    does(world, Undo(agent))
    assert [note.text for note in world.states[agent].notes] == ["same words", "same words"]


def test_notes_delivered_since_a_trim_stay_delivered() -> None:
    world, agent = conversation(2)
    does(world, Send(agent, "m1", "first"))
    does(world, ReadMail(agent))
    does(world, KeepLast(agent, 1))
    world.turn(agent, "ask 3", "answer 3")
    does(world, Undo(agent))
    assert world.states[agent].notes == ()
    assert "first" in said(world, agent)[4]


def test_the_answer_names_the_command_as_it_was() -> None:
    world, agent = conversation(3)
    does(world, KeepLast(agent, 2))
    world.turn(agent, "ask 4", "answer 4")
    assert does(world, Undo(agent)) == "Undone: /clear 2."
    assert does(world, Redo(agent)) == "Redone: /clear 2."
    assert does(world, Undo(agent)) == "Undone: /clear 2."


def test_redo_brings_waiting_notes_back_in_their_order() -> None:
    """A rewind that moves `head` alone, with a note, while another note waits."""
    world, agent = conversation(2)
    does(world, SetMark(agent, "HERE"))
    does(world, KeepLast(agent, 1))
    does(world, Rewind(agent, "HERE", "first"))
    does(world, KeepLast(agent, 1))
    does(world, Rewind(agent, "HERE", "second"))
    notes = world.states[agent].notes
    assert [note.text for note in notes] == ["first", "second"]
    does(world, Undo(agent))
    assert [note.text for note in world.states[agent].notes] == ["first"]
    does(world, Redo(agent))
    assert world.states[agent].notes == notes
