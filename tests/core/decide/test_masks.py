"""Masking: large results become stubs when `head` moves or in an emergency, only by an event."""

import pytest

from sapwood.core.commands import (
    AddReply,
    CompleteTurn,
    Configure,
    FinishTool,
    Fork,
    KeepLast,
    MaskResults,
    Undo,
)
from sapwood.core.content import Text, ToolCall
from sapwood.core.events import ContextTrimmed, ResultsMasked
from sapwood.core.ids import AgentId
from sapwood.core.refusals import BadArguments
from sapwood.core.settings import Settings, SettingsChange
from sapwood.testing import CoreHarness
from tests.core.speaking import (
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

HUGE, SMALL = "x" * 1_000, "small"


def masked(world: CoreHarness, agent: AgentId) -> list[bool]:
    """Of each result in view, whether it is a stub."""
    return [text.startswith("[masked") for text in results(world, agent)]


def test_results_are_whole_unless_something_happens() -> None:
    world, agent = conversation(settings=Settings("scripted", mask_over=100))
    uses_tool(world, agent, HUGE)
    uses_tool(world, agent, HUGE)
    assert masked(world, agent) == [False, False]


def test_an_emergency_masks_all_large_results_so_far_and_none_to_come() -> None:
    world, agent = conversation()
    uses_tool(world, agent, HUGE)
    uses_tool(world, agent, SMALL)
    opens(world, agent)
    does(world, AddReply(agent, (ToolCall("1", "read"),)))
    does(world, FinishTool(agent, "1", HUGE))
    assert does(world, MaskResults(agent, 100)) == "Large tool results are now masked."
    does(world, AddReply(agent, (ToolCall("2", "read"),)))
    does(world, FinishTool(agent, "2", HUGE))
    assert masked(world, agent) == [True, False, True, False]
    does(world, CompleteTurn(agent))
    uses_tool(world, agent, HUGE)
    assert masked(world, agent) == [True, False, True, False, False]


def test_masking_between_turns_reaches_the_newest_turn() -> None:
    world, agent = conversation()
    uses_tool(world, agent, HUGE)
    does(world, MaskResults(agent, 100))
    assert masked(world, agent) == [True]


def test_exactly_so_many_characters_are_not_too_many() -> None:
    world, agent = conversation()
    uses_tool(world, agent, "x" * 500)
    uses_tool(world, agent, "x" * 501)
    does(world, MaskResults(agent, 500))
    assert masked(world, agent) == [False, True]


def test_nothing_to_mask_changes_nothing_and_says_so() -> None:
    world, agent = conversation()
    uses_tool(world, agent, SMALL)
    before = kinds(world, agent)
    says = does(world, MaskResults(agent, 1_000))
    assert says == "No other tool result in view is longer than 1,000 characters."
    assert kinds(world, agent) == before


def test_masking_again_changes_nothing_when_all_is_masked() -> None:
    world, agent = conversation()
    uses_tool(world, agent, HUGE)
    does(world, MaskResults(agent, 100))
    before = kinds(world, agent)
    assert does(world, MaskResults(agent, 100)).startswith("No other tool result")
    assert does(world, MaskResults(agent, 500)).startswith("No other tool result")
    assert kinds(world, agent) == before


def test_a_milder_mask_keeps_what_is_masked() -> None:
    world, agent = conversation()
    uses_tool(world, agent, "x" * 300)
    does(world, MaskResults(agent, 200))
    uses_tool(world, agent, HUGE)
    does(world, MaskResults(agent, 500))
    assert masked(world, agent) == [True, True]


def test_a_stricter_mask_reaches_older_results_too() -> None:
    world, agent = conversation()
    uses_tool(world, agent, "x" * 300)
    uses_tool(world, agent, HUGE)
    does(world, MaskResults(agent, 500))
    does(world, MaskResults(agent, 200))
    assert masked(world, agent) == [True, True]


@pytest.mark.parametrize("over", [0, -1])
def test_characters_count_from_one(over: int) -> None:
    world, agent = conversation()
    uses_tool(world, agent, HUGE)
    assert isinstance(refusal(world, MaskResults(agent, over)), BadArguments)


def test_the_log_keeps_the_whole_result() -> None:
    world, agent = conversation()
    uses_tool(world, agent, HUGE)
    before = list(world.logs[agent])
    does(world, MaskResults(agent, 100))
    assert world.logs[agent][:-1] == before
    assert isinstance(last_event(world, agent), ResultsMasked)


def test_the_window_masks_all_but_the_newest_turn_when_it_moves() -> None:
    settings = Settings("scripted", cap=3_500, low_water=1.0, mask_over=100)
    world, agent = conversation(settings=settings)
    for _ in range(3):
        uses_tool(world, agent, HUGE)
    assert masked(world, agent) == [False, False, False]
    uses_tool(world, agent, HUGE)
    event = last_event(world, agent)
    assert isinstance(event, ContextTrimmed)
    assert event.mask is not None
    assert masked(world, agent) == [True, True, False]


def test_the_window_masks_nothing_unless_it_is_set_to() -> None:
    world, agent = conversation(settings=Settings("scripted", cap=3_500, low_water=1.0))
    for _ in range(4):
        uses_tool(world, agent, HUGE)
    assert masked(world, agent) == [False, False, False]


def test_the_window_brings_nothing_back_that_an_emergency_masked() -> None:
    settings = Settings("scripted", cap=900, low_water=1.0, mask_over=500)
    world, agent = conversation(settings=settings)
    uses_tool(world, agent, "a" * 300)
    uses_tool(world, agent, "b" * 300)
    opens(world, agent)
    does(world, AddReply(agent, (ToolCall("1", "read"),)))
    does(world, FinishTool(agent, "1", HUGE))
    does(world, MaskResults(agent, 100))
    does(world, AddReply(agent, (Text("y" * 800),)))
    does(world, CompleteTurn(agent))
    assert kinds(world, agent)[-1] == "context.trimmed"
    assert all(masked(world, agent))


def test_an_old_emergency_is_forgotten_with_the_turns_it_masked() -> None:
    world, agent = conversation(settings=Settings("scripted", cap=0, mask_over=500))
    uses_tool(world, agent, "x" * 300)
    does(world, MaskResults(agent, 100))
    uses_tool(world, agent, "x" * 300)
    does(world, KeepLast(agent, 1))
    assert world.states[agent].context.mask is None
    assert masked(world, agent) == [False]


def test_a_mask_is_not_undone_with_a_trim_that_came_before_it() -> None:
    world, agent = conversation(2)
    does(world, KeepLast(agent, 1))
    uses_tool(world, agent, HUGE)
    does(world, MaskResults(agent, 100))
    does(world, Undo(agent))
    assert masked(world, agent) == [True]
    assert said(world, agent)[0] == "ask 1"


def test_masks_are_inherited_and_end_where_the_child_begins() -> None:
    world, agent = conversation()
    uses_tool(world, agent, HUGE)
    does(world, MaskResults(agent, 100))
    does(world, Fork(agent, child := AgentId("child")))
    uses_tool(world, child, HUGE)
    assert masked(world, child) == [True, False]
    does(world, MaskResults(child, 100))
    assert masked(world, child) == [True, True]
    does(world, Fork(child, grandchild := AgentId("grandchild")))
    assert masked(world, grandchild) == [True, True]


def test_a_child_without_turns_of_its_own_can_mask_what_it_inherited() -> None:
    world, agent = conversation()
    uses_tool(world, agent, HUGE)
    does(world, Fork(agent, child := AgentId("child")))
    does(world, MaskResults(child, 100))
    assert masked(world, child) == [True]
    assert masked(world, agent) == [False]


def test_a_first_turn_masked_while_it_is_open_can_be_forked() -> None:
    world, agent = conversation()
    opens(world, agent, "ask")
    does(world, AddReply(agent, (ToolCall("1", "read"),)))
    does(world, FinishTool(agent, "1", HUGE))
    does(world, MaskResults(agent, 100))
    does(world, Fork(agent, child := AgentId("child")))
    assert said(world, child) == ["ask"]


def test_masked_results_weigh_as_their_stubs() -> None:
    world, agent = conversation(settings=Settings("scripted", cap=1_500))
    uses_tool(world, agent, HUGE)
    does(world, MaskResults(agent, 100))
    uses_tool(world, agent, HUGE)
    assert masked(world, agent) == [True, False]
    does(world, Configure(agent, SettingsChange(cap=1_050)))
    assert masked(world, agent) == [False]
