"""What differs between two contexts."""

from sapwood.core.commands import Compact, Fork, KeepLast, MaskResults, Rewind, SetMark
from sapwood.core.context_diff import diff, view_change
from sapwood.core.ids import AgentId
from tests.core.speaking import conversation, does, opens, uses_tool


def test_a_context_does_not_differ_from_itself() -> None:
    world, agent = conversation(2)
    found = diff(world.lives[agent], world.lives[agent])
    assert found.same
    assert found.shared == 2


def test_turns_of_one_side_only_are_told_apart() -> None:
    world, agent = conversation(1)
    does(world, SetMark(agent, "HERE"))
    world.turn(agent, "ask 2", "answer 2")
    left = world.lives[agent]
    does(world, Rewind(agent, "HERE"))
    world.turn(agent, "other 2", "answer 2")
    found = diff(left, world.lives[agent])
    assert [turn.prompt[0].text for turn in found.only_left] == ["ask 2"]
    assert [turn.prompt[0].text for turn in found.only_right] == ["other 2"]
    assert found.shared == 1
    assert not found.same


def test_a_child_shares_its_parents_turns() -> None:
    world, agent = conversation(2)
    does(world, Fork(agent, child := AgentId("child")))
    assert diff(world.lives[agent], world.lives[child]).same
    world.turn(child, "ask 3", "answer 3")
    assert diff(world.lives[agent], world.lives[child]).shared == 2


def test_an_open_turn_is_a_turn() -> None:
    world, agent = conversation(1)
    before = world.lives[agent]
    opens(world, agent)
    assert len(diff(before, world.lives[agent]).only_right) == 1


def test_another_summary_and_other_masks_are_differences() -> None:
    world, agent = conversation(1)
    uses_tool(world, agent, "x" * 500)
    before = world.lives[agent]
    does(world, MaskResults(agent, 100))
    masked = world.lives[agent]
    assert (diff(before, masked).mask_differs, diff(before, masked).same) == (True, False)
    does(world, Compact(agent, "Numbers.", keep=1))
    compacted = world.lives[agent]
    assert diff(masked, compacted).front_differs
    does(world, KeepLast(agent, 1))
    assert diff(compacted, world.lives[agent]).front_differs


def test_a_change_of_view_is_told_in_one_sentence() -> None:
    world, agent = conversation(3)
    before = world.lives[agent]
    does(world, Compact(agent, "Numbers.", keep=1))
    after = world.lives[agent]
    assert view_change(before, after) == "The summary back in view, 2 turns removed from view."
    assert view_change(after, before) == "2 turns back in view, the summary removed from view."
    assert view_change(after, after) == ""
