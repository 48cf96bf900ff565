"""`/drop` and `/bring`: turns leave the middle of the view and come back to their place."""

import pytest

from sapwood.conversation.answers import Changed
from sapwood.conversation.script import CommandStep
from sapwood.conversation.timeline_reader import event_cache, read_timeline
from sapwood.core.command_table import TABLE
from sapwood.core.commands import Fork, Rename
from sapwood.core.events import ContextLoaded
from sapwood.core.ids import AgentId
from sapwood.core.refusals import BadArguments, UnknownTurn
from sapwood.core.timeline.layout import lay_out
from sapwood.core.timeline.rows import Fold, edge_label
from sapwood.turns.open_agent import open_agent
from tests.conversation.spaces import service_of
from tests.store.memory_log import MemoryLog
from tests.turns.commanding import AGENT, SPACE, Desk

CHILD = AgentId("child")


@pytest.fixture
async def desk(log: MemoryLog) -> Desk:
    """Six turns."""
    desk = Desk(log)
    await desk.start()
    for number in range(1, 7):
        await desk.turn(f"ask {number}", f"answer {number}")
    return desk


async def types(desk: Desk, line: str, agent: AgentId = AGENT) -> object:
    name, _, rest = line.removeprefix("/").partition(" ")
    return await service_of(desk).answer(agent, CommandStep(TABLE[name], rest))


async def in_view(desk: Desk, agent: AgentId = AGENT) -> list[int]:
    """The turns in view, which another process reads from the log as well."""
    live = (await desk.dispatcher.open(agent)).live
    assert (await open_agent(desk.log, SPACE, agent)).live == live
    return [turn.number for turn in live.turns]


async def folds(desk: Desk, agent: AgentId) -> list[str]:
    timeline = await read_timeline(desk.log, SPACE, agent, event_cache(desk.log, SPACE))
    return [edge_label(row) for row in lay_out(timeline) if isinstance(row, Fold)]


async def test_dropped_turns_come_back_to_their_place(desk: Desk) -> None:
    answer = await types(desk, "/drop 2-4")
    assert isinstance(answer, Changed)
    assert answer.message.endswith("/undo or /bring 2-4 brings them back.")
    assert await in_view(desk) == [1, 5, 6]
    await types(desk, "/bring 3")
    assert await in_view(desk) == [1, 3, 5, 6]
    await types(desk, "/undo")
    assert await in_view(desk) == [1, 5, 6]
    await types(desk, "/bring 2-4")
    assert await in_view(desk) == [1, 2, 3, 4, 5, 6]


async def test_a_turn_from_before_the_head_is_quoted_as_before(desk: Desk) -> None:
    await types(desk, "/clear 3")
    await types(desk, "/drop 5")
    await types(desk, "/bring 1")
    assert await in_view(desk) == [4, 6]
    assert any(isinstance(each.event, ContextLoaded) for each in await desk.log.read(SPACE, AGENT))
    mixed = await types(desk, "/bring 5 2")
    assert isinstance(mixed, BadArguments)


async def test_a_turn_that_does_not_exist_is_refused(desk: Desk) -> None:
    assert await types(desk, "/drop 77") == UnknownTurn("77", 6)
    assert isinstance(await types(desk, "/drop x"), UnknownTurn)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/drop 5,7", "/drop 5 7, /drop 5-7, or /drop 4.2 for a tool result"),
        ("/drop 9-8", "In 9-8, the first number is the larger one. Type /drop 8-9."),
    ],
)
async def test_turns_that_are_mistyped_are_refused_with_what_to_type(
    desk: Desk, line: str, words: str
) -> None:
    refused = await types(desk, line)
    assert isinstance(refused, BadArguments)
    assert words in refused.sentence


async def test_a_fork_shows_what_its_parent_dropped_and_can_load_it(desk: Desk) -> None:
    await desk.do(Rename(AGENT, "lead"))
    await types(desk, "/drop 2-3")
    await desk.do(Fork(AGENT, CHILD))
    (fold,) = await folds(desk, CHILD)
    assert fold.startswith("2 turns dropped · /drop · out of view; /bring lead/2 lead/3 brings")
    await types(desk, "/bring lead/2 lead/3", CHILD)
    assert await in_view(desk, CHILD) == [1, 2, 3, 4, 5, 6]
    assert await folds(desk, CHILD) == []


async def test_a_rewind_into_a_cut_sees_what_was_there(desk: Desk) -> None:
    await types(desk, "/drop 2-4")
    rewound = await types(desk, "/rewind 4")
    assert isinstance(rewound, Changed)
    assert rewound.message.endswith("No longer dropped: turns 2-3.")
    assert await in_view(desk) == [1, 2, 3]
    await types(desk, "/undo")
    assert await in_view(desk) == [1, 5, 6]


async def test_a_rewind_says_which_drops_come_back(desk: Desk) -> None:
    await types(desk, "/drop 2")
    await desk.turn("ask 7", "answer 7")
    await types(desk, "/undo")
    rewound = await types(desk, "/rewind 7")
    assert isinstance(rewound, Changed)
    assert await in_view(desk) == [1, 3, 4, 5, 6]
    assert rewound.message.endswith("2 turns removed from view. Dropped again: turn 2.")
