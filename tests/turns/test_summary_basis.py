"""A summary stands for the turns that it replaced and for those of the summaries before it."""

import pytest

from sapwood.core.commands import (
    Compact,
    Configure,
    Drop,
    ExtendSummary,
    Fork,
    KeepLast,
    Undo,
)
from sapwood.core.events import SYSTEM
from sapwood.core.ids import AgentId, TurnPlace
from sapwood.core.settings import SettingsChange
from sapwood.turns.summary_basis import MAX_SUMMARIES, summarised_turns
from tests.store.memory_log import MemoryLog
from tests.turns.commanding import AGENT, SPACE, Desk


@pytest.fixture
async def desk(log: MemoryLog) -> Desk:
    """Four turns."""
    desk = Desk(log)
    await desk.start()
    await talk(desk, 4)
    return desk


async def talk(desk: Desk, turns: int) -> None:
    for number in range(turns):
        await desk.turn(f"ask {number}", f"answer {number}")


async def covered(desk: Desk, agent: AgentId = AGENT) -> list[int]:
    """The numbers of the turns for which the summary in view stands."""
    state = (await desk.dispatcher.open(agent)).state
    return [turn.number for turn in await summarised_turns(desk.log, SPACE, state.context)]


async def test_without_a_summary_there_are_none(desk: Desk) -> None:
    await desk.do(KeepLast(AGENT, 1))
    assert await covered(desk) == []


async def test_summaries_in_a_row_stand_for_all_turns_that_they_replaced(desk: Desk) -> None:
    await desk.do(Compact(AGENT, "One.", keep=1))
    assert await covered(desk) == [1, 2, 3]
    await talk(desk, 2)
    await desk.do(Compact(AGENT, "Two."))
    assert await covered(desk) == [1, 2, 3, 4, 5, 6]
    await desk.do(Undo(AGENT))
    assert await covered(desk) == [1, 2, 3]


async def test_turns_that_were_dropped_or_cleared_before_are_not_among_them(desk: Desk) -> None:
    await desk.do(KeepLast(AGENT, 3))
    await desk.do(Drop(AGENT, (TurnPlace(3, 3),)))
    await desk.do(Compact(AGENT, "Two and four."))
    assert await covered(desk) == [2, 4]


async def test_a_child_has_those_of_the_summary_that_it_inherited(desk: Desk) -> None:
    child = AgentId("child")
    await desk.do(Compact(AGENT, "One."))
    await desk.do(Fork(AGENT, child))
    assert await covered(desk, child) == [1, 2, 3, 4]


async def test_a_longer_summary_stands_for_what_left_the_window(desk: Desk) -> None:
    await desk.do(Compact(AGENT, "One.", keep=1))
    await talk(desk, 3)
    await desk.do(Configure(AGENT, SettingsChange(cap=40)))
    state = (await desk.dispatcher.open(AGENT)).state
    in_view = [turn.number for turn in (await desk.dispatcher.open(AGENT)).live.turns]
    assert in_view == [7]
    assert await covered(desk) == [1, 2, 3], "what the window clips is in no summary yet"
    await desk.do(ExtendSummary(AGENT, "More.", state.window_moved_at), actor=SYSTEM)
    assert await covered(desk) == [1, 2, 3, 4, 5, 6]


async def test_only_the_newest_summaries_are_read(desk: Desk) -> None:
    for number in range(MAX_SUMMARIES):
        await desk.do(Compact(AGENT, f"Summary {number}."))
        await talk(desk, 1)
    await desk.do(Compact(AGENT, "The last one."))
    assert await covered(desk) == list(range(5, 5 + MAX_SUMMARIES))
