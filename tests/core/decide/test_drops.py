"""`/drop`: turns and tool results leave the middle of the view, and come back to their place."""

import pytest

from sapwood.core.commands import (
    AddReply,
    Clear,
    Compact,
    CompleteTurn,
    DeferCompact,
    Drop,
    FinishTool,
    Fork,
    KeepLast,
    MaskResults,
    ReadMail,
    Redo,
    Restore,
    Rewind,
    Send,
    SetMark,
    StartTurn,
    Undo,
)
from sapwood.core.content import Text, ToolCall
from sapwood.core.context import Context
from sapwood.core.cuts import NO_CUTS
from sapwood.core.decide import Accepted
from sapwood.core.events import SYSTEM, ContextCut, ContextRestored, ContextTrimmed
from sapwood.core.ids import AgentId, TurnPlace
from sapwood.core.refusals import LastRequestStays, TurnIsOpen, UnknownTurn
from sapwood.core.settings import Settings
from sapwood.core.timeline.layout import lay_out, lay_out_everything
from sapwood.core.timeline.rows import Fold, edge_label
from sapwood.core.timeline.timeline import Timeline
from sapwood.core.turn_numbers import parse_place
from sapwood.testing import CoreHarness
from tests.core.speaking import (
    by_model,
    conversation,
    does,
    kinds,
    last_event,
    opens,
    refusal,
    results,
    said,
    uses_tool,
)

CHILD = AgentId("child")


def places(*typed: str) -> tuple[TurnPlace, ...]:
    """The places as people type them."""
    found = [parse_place(each) for each in typed]
    return tuple([place for place in found if place])


def drop(agent: AgentId, *typed: str) -> Drop:
    """The command to drop these places."""
    return Drop(agent, places(*typed))


def restore(agent: AgentId, *typed: str) -> Restore:
    """The command to bring these places back."""
    return Restore(agent, places(*typed))


def asked(world: CoreHarness, agent: AgentId) -> list[int]:
    """The numbers of the turns in view, and whether reading the log gives the same path."""
    assert world.read_live(agent) == world.lives[agent]
    return [turn.number for turn in world.lives[agent].turns]


def folds(world: CoreHarness, agent: AgentId) -> list[str]:
    """The folds of the timeline, as they are printed."""
    timeline = Timeline()
    for recorded in world.logs[agent]:
        timeline.add(recorded)
    assert len([row for row in lay_out_everything(timeline) if not isinstance(row, Fold)]) > 0
    return [edge_label(row) for row in lay_out(timeline) if isinstance(row, Fold)]


def test_turns_leave_the_middle_and_what_follows_stays() -> None:
    world, agent = conversation(5)
    message = does(world, drop(agent, "2-3"))
    assert message == "Dropped 2 turns, 26 tokens. /undo or /bring 2-3 brings them back."
    assert said(world, agent) == [
        *("ask 1", "answer 1", "ask 4", "answer 4", "ask 5", "answer 5"),
    ]
    assert folds(world, agent) == [
        "2 turns dropped, 26 tokens · /drop 2-3 · out of view; /bring 2-3 brings them back"
    ]


def test_undo_and_redo_take_a_drop_back_and_do_it_again() -> None:
    world, agent = conversation(4)
    before = world.request(agent)
    does(world, drop(agent, "2"))
    after = world.request(agent)
    assert does(world, Undo(agent)) == "Undone: /drop 2."
    assert world.request(agent) == before
    assert world.states[agent].context.cuts is None
    assert does(world, Redo(agent)) == "Redone: /drop 2."
    assert world.request(agent) == after


def test_a_loaded_turn_comes_back_to_its_place() -> None:
    world, agent = conversation(6)
    whole = world.request(agent)
    does(world, drop(agent, "2-5"))
    assert does(world, restore(agent, "3")) == "Brought 1 turn back to its place."
    assert asked(world, agent) == [1, 3, 6]
    assert len(folds(world, agent)) == 2
    does(world, restore(agent, "2-5"))
    assert world.request(agent) == whole
    assert world.states[agent].context == Context(whole and world.states[agent].context.tip)
    assert world.lives[agent].cuts is NO_CUTS


def test_cuts_that_touch_become_one_and_a_larger_one_takes_in_smaller_ones() -> None:
    world, agent = conversation(9)
    for place in ("3", "5", "4", "7"):
        does(world, drop(agent, place))
    assert len(world.lives[agent].cuts.turns) == 2
    does(world, drop(agent, "2-8"))
    assert asked(world, agent) == [1, 9]
    assert len(world.lives[agent].cuts.turns) == 1


def test_a_result_becomes_a_stub_and_comes_back() -> None:
    world, agent = conversation()
    uses_tool(world, agent, "x" * 500)
    uses_tool(world, agent, "y" * 500)
    does(world, drop(agent, "1.1"))
    stub, other = results(world, agent)
    assert stub.startswith("[dropped: 500 characters from read; recall ")
    assert other == "y" * 500
    does(world, restore(agent, "1.1"))
    assert results(world, agent) == ["x" * 500, "y" * 500]


def test_results_of_several_turns_leave_and_short_ones_stay() -> None:
    world, agent = conversation()
    for content in ("x" * 500, "short", "y" * 500):
        uses_tool(world, agent, content)
    before = world.lives[agent]
    does(world, Drop(agent, places("1-3"), only_results=True))
    event = last_event(world, agent)
    assert isinstance(event, ContextCut)
    assert (event.place, event.turns, event.results) == ("--results 1-3", 0, 2)
    assert [each[:8] for each in results(world, agent)] == ["[dropped", "short", "[dropped"]
    does(world, Undo(agent))
    assert world.lives[agent] == before


def test_the_last_request_stays() -> None:
    world, agent = conversation(4)
    assert refusal(world, drop(agent, "2-4")) == LastRequestStays(4, "2-3")
    assert refusal(world, drop(agent, "4")) == LastRequestStays(4)


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("2", "Nothing changed: 2 is not in view."),
        ("3.1", "Nothing changed: there is no result 3.1 in view."),
    ],
)
def test_a_drop_that_changes_nothing_says_so(typed: str, sentence: str) -> None:
    world, agent = conversation(4)
    does(world, drop(agent, "2"))
    count = len(world.logs[agent])
    assert does(world, drop(agent, typed)) == sentence
    assert len(world.logs[agent]) == count


def test_a_drop_of_what_a_summary_covers_says_so() -> None:
    world, agent = conversation(4)
    does(world, Compact(agent, "They counted.", keep=2))
    sentence = does(world, drop(agent, "1"))
    assert sentence == "Nothing changed: 1 left view earlier, and the summary covers it."


def test_a_turn_that_does_not_exist_is_refused() -> None:
    world, agent = conversation(2)
    assert refusal(world, drop(agent, "7")) == UnknownTurn("7", 2)


def test_nothing_is_dropped_while_a_turn_is_open() -> None:
    world, agent = conversation(2)
    opens(world, agent)
    assert isinstance(refusal(world, drop(agent, "1")), TurnIsOpen)


def test_marks_rewinds_and_clears_know_cuts() -> None:
    world, agent = conversation(3)
    does(world, SetMark(agent, "WHOLE"))
    whole = world.request(agent)
    world.turn(agent, "ask 4", "answer 4")
    does(world, drop(agent, "2"))
    does(world, SetMark(agent, "CUT"))
    cut = world.request(agent)
    world.turn(agent, "ask 5", "answer 5")
    does(world, KeepLast(agent, 3))
    assert asked(world, agent) == [3, 4, 5]
    does(world, Rewind(agent, "CUT"))
    assert world.request(agent) == cut
    does(world, Rewind(agent, "WHOLE"))
    assert world.request(agent) == whole
    does(world, Clear(agent))
    assert world.states[agent].context.cuts is None
    assert said(world, agent) == []


def test_a_clear_leaves_nothing_behind_that_was_cut_at_the_tip() -> None:
    world, agent = conversation(1)
    does(world, Send(agent, "m1", "The build is red."))
    does(world, ReadMail(agent))
    does(world, StartTurn(agent))
    does(world, AddReply(agent, (Text("I saw it."),)))
    does(world, CompleteTurn(agent))
    does(world, drop(agent, "2"))
    assert asked(world, agent) == [1]
    does(world, Clear(agent))
    assert asked(world, agent) == []
    assert world.states[agent].context.head == world.states[agent].context.tip


def test_a_fork_inherits_cuts_and_can_load_what_its_parent_dropped() -> None:
    world, agent = conversation(4)
    does(world, drop(agent, "2-3"))
    seen = said(world, agent)
    does(world, Fork(agent, CHILD))
    does(world, Undo(agent))
    assert said(world, CHILD) == seen
    does(world, Restore(CHILD, (TurnPlace(2, 2, agent=agent),)))
    assert [turn.number for turn in world.lives[CHILD].turns] == [1, 2, 4]


@pytest.mark.parametrize(("trims", "typed"), [(False, "2"), (True, "2"), (True, "1")])
def test_a_fork_of_a_fork_of_a_fork_from_a_mark_leaves_out_what_was_dropped(
    trims: bool, typed: str
) -> None:
    world, agent = conversation(3)
    if trims:
        does(world, KeepLast(agent, 2))
    does(world, Fork(agent, CHILD))
    world.turn(CHILD, "ask 1", "answer 1")
    of_child, last = AgentId("of-child"), AgentId("last")
    does(world, Fork(CHILD, of_child))
    does(world, SetMark(of_child, "HERE"))
    for number in range(1, 4):
        world.turn(of_child, f"ask {number}", f"answer {number}")
    does(world, drop(of_child, typed))
    does(world, Fork(of_child, last, "HERE"))
    assert [turn.number for turn in world.lives[last].turns] == [
        number for number in range(1, 4) if str(number) != typed
    ]


def test_a_fork_from_a_mark_inside_a_cut_sees_what_follows() -> None:
    world, agent = conversation(2)
    does(world, SetMark(agent, "HERE"))
    for number in range(3, 6):
        world.turn(agent, f"ask {number}", f"answer {number}")
    does(world, drop(agent, "2-3"))
    does(world, Fork(agent, CHILD, "HERE"))
    assert [turn.number for turn in world.lives[CHILD].turns] == [4, 5]


def test_cuts_before_the_head_are_left_out_and_an_undo_has_them() -> None:
    world, agent = conversation(8)
    does(world, SetMark(agent, "NOW"))
    does(world, drop(agent, "2"))
    does(world, drop(agent, "4"))
    seen = world.request(agent)
    does(world, KeepLast(agent, 3))
    does(world, drop(agent, "7"))
    assert len(world.lives[agent].cuts.turns) == 1
    assert asked(world, agent) == [6, 8]
    does(world, Undo(agent))
    does(world, Undo(agent))
    assert world.request(agent) == seen
    does(world, Redo(agent))
    does(world, Redo(agent))
    assert asked(world, agent) == [6, 8]


def test_a_fork_from_a_mark_before_the_head_has_all_that_followed() -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, "START"))
    for number in range(2, 6):
        world.turn(agent, f"ask {number}", f"answer {number}")
    does(world, drop(agent, "3"))
    does(world, KeepLast(agent, 1))
    does(world, Fork(agent, CHILD, "START"))
    assert [turn.number for turn in world.lives[CHILD].turns] == [2, 3, 4, 5]


def test_a_mask_that_ends_in_a_dropped_turn_masks_the_turns_before_it() -> None:
    world, agent = conversation()
    for _ in range(3):
        uses_tool(world, agent, "x" * 500)
    does(world, MaskResults(agent, 100))
    world.turn(agent, "and now?", "done")
    does(world, drop(agent, "3"))
    assert [each[:7] for each in results(world, agent)] == ["[masked", "[masked"]
    assert asked(world, agent) == [1, 2, 4]


def test_a_models_drop_takes_effect_when_its_turn_ends_with_a_note() -> None:
    world, agent = conversation(3)
    opens(world, agent, "tidy up")
    does(world, AddReply(agent, (ToolCall("1", "slash", "{}"),)))
    assert by_model(world, drop(agent, "1-9"), "1").startswith("This takes effect")
    does(world, FinishTool(agent, "1", "Later."))
    assert asked(world, agent) == [1, 2, 3]
    does(world, AddReply(agent, (Text("tidy"),)))
    does(world, CompleteTurn(agent))
    assert asked(world, agent) == [4]
    (note,) = world.states[agent].notes
    assert note.text == (
        "At the end of your last turn you dropped 3 turns (1-9). "
        "The command load 1-9 brings them back."
    )
    does(world, Undo(agent))
    assert asked(world, agent) == [1, 2, 3, 4]
    assert not world.states[agent].notes


@pytest.mark.parametrize(
    ("keep", "typed", "left", "back"),
    [
        (3, "4", [3, 5], [1, 2, 3, 5]),
        (3, "2", [3, 4, 5], [1, 3, 4, 5]),
        (9, "4", [1, 2, 3, 5], [1, 2, 3, 4, 5]),
        (3, "1-2", [3, 4, 5], [1, 2, 3, 4, 5]),
    ],
)
def test_a_models_drop_takes_effect_when_its_turn_ends_with_a_summary(
    keep: int, typed: str, left: list[int], back: list[int]
) -> None:
    world, agent = conversation(4)
    opens(world, agent, "tidy up")
    by_model(world, drop(agent, typed))
    by_model(world, DeferCompact(agent, keep))
    by_model(world, AddReply(agent, (Text("tidied"),)))
    assert isinstance(world.do(Compact(agent, "Numbers.", keep), SYSTEM), Accepted)
    assert asked(world, agent) == left
    (note,) = world.states[agent].notes
    assert note.text.startswith("At the end of your last turn you dropped ")
    does(world, Undo(agent))
    assert asked(world, agent) == back


def test_a_count_for_a_summary_does_not_stand_for_turns_that_were_dropped() -> None:
    world, agent = conversation(4)
    opens(world, agent, "tidy up")
    by_model(world, drop(agent, "1"))
    by_model(world, DeferCompact(agent, 3))
    by_model(world, AddReply(agent, (Text("tidied"),)))
    world.do(Compact(agent, "Numbers.", 3, tokens=99), SYSTEM)
    trimmed = [each.event for each in world.logs[agent] if isinstance(each.event, ContextTrimmed)]
    assert [(each.turns, each.tokens) for each in trimmed] == [(1, 13)]


def test_a_setting_offers_the_model_to_drop_large_results() -> None:
    world, agent = conversation(settings=Settings("scripted", offer_drops=1_000))
    for size in (3_000, 10, 3_000):
        uses_tool(world, agent, "x" * size)
    world.turn(agent, "the newest turn is not offered", "yes")
    assert said(world, agent)[-2] == "the newest turn is not offered"
    world.turn(agent, "now it is", "yes")
    assert "about 1,500 tokens" in said(world, agent)[-2]
    assert "for example: drop --results 1 3." in said(world, agent)[-2]
    does(world, Drop(agent, places("1", "3"), only_results=True))
    opens(world, agent, "after it")
    assert said(world, agent)[-1] == "after it"


def test_thousands_of_cuts_are_read_from_a_few_events() -> None:
    world, agent = conversation(401)
    for number in range(1, 400, 2):
        does(world, drop(agent, str(number)))
    cuts = world.lives[agent].cuts
    assert len(cuts.turns) == 200
    assert len(cuts.layers) <= 4
    events = [each.event for each in world.logs[agent] if isinstance(each.event, ContextCut)]
    assert sum(event.layer.size for event in events) <= 200 * 13
    assert len(asked(world, agent)) == 201
    does(world, restore(agent, "1-400"))
    assert isinstance(last_event(world, agent), ContextRestored)
    assert len(asked(world, agent)) == 401
    assert kinds(world, agent)[-1] == "context.restored"
