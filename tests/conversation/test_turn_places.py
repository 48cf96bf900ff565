"""`/rewind TURN`, `/edit` and `/start`: every turn is a place to go back to."""

import re

import msgspec
import pytest

from sapwood.conversation.answers import (
    ArgumentNeeded,
    Changed,
    ConversationStarted,
    PromptToEdit,
)
from sapwood.conversation.call import Services
from sapwood.conversation.cut_preview import preview_rewind, rewind_places
from sapwood.conversation.script import CommandStep
from sapwood.conversation.service import ConversationService
from sapwood.core.command_table import TABLE
from sapwood.core.commands import (
    AddReply,
    Clear,
    Command,
    Compact,
    CompleteTurn,
    Configure,
    Drop,
    Fork,
    KeepLast,
    ReadMail,
    Rewind,
    Send,
    SetMark,
    Undo,
)
from sapwood.core.content import Note, Text
from sapwood.core.context import ROOT
from sapwood.core.ids import AgentId, TurnPlace
from sapwood.core.refusals import HumanOnly, TurnRenumbered, UnknownTurn
from sapwood.core.settings import SettingsChange
from tests.conversation.spaces import TestSpace, service_of
from tests.store.memory_log import MemoryLog
from tests.turns.commanding import AGENT, MODEL, Desk

CHILD = AgentId("child")


@pytest.fixture
def log() -> MemoryLog:
    return MemoryLog()


@pytest.fixture
async def desk(log: MemoryLog) -> Desk:
    """Three turns."""
    desk = Desk(log)
    await desk.start()
    for number in range(1, 4):
        await desk.turn(f"ask {number}", f"answer {number}")
    return desk


async def turns(desk: Desk, agent: AgentId = AGENT) -> list[int]:
    """The numbers of the turns in view."""
    return [turn.number for turn in (await desk.dispatcher.open(agent)).live.turns]


async def runs(desk: Desk, name: str, args: str = "", agent: AgentId = AGENT) -> object:
    return await service_of(desk).answer(agent, CommandStep(TABLE[name], args))


async def test_a_rewind_to_a_turn_goes_to_before_it_and_undo_takes_it_back(desk: Desk) -> None:
    before = await desk.said()
    answer = await runs(desk, "rewind", "2")
    assert isinstance(answer, Changed)
    assert answer.message == "Rewound to just before turn 2. 2 turns removed from view."
    assert await desk.said() == before[:2]
    await desk.do(Undo(AGENT))
    assert await desk.said() == before


async def test_an_undo_says_what_the_view_has_outgrown_and_what_to_do(desk: Desk) -> None:
    said = {
        "cap": "the cap is 5: when the next turn ends, the oldest turns leave view. To keep them, "
        "type /config cap 1k. To choose what leaves, type /drop TURNS or /compact.",
        "window": "the model's window only 5: it would refuse the next prompt. To make room, type "
        "/drop TURNS or /redo.",
    }
    await desk.do(KeepLast(AGENT, 1))
    for edge, sentence in said.items():
        await desk.do(Configure(AGENT, msgspec.convert({"cap": 0, edge: 5}, SettingsChange)))
        undone = await runs(desk, "undo")
        assert isinstance(undone, Changed)
        assert re.search(rf"has ~?\d+ tokens now, and {re.escape(sentence)}$", undone.message)
        redone = await runs(desk, "redo")
        assert isinstance(redone, Changed)
        assert redone.message.endswith("2 turns removed from view.")


async def test_the_context_is_as_it_was_there_whatever_was_trimmed_since(desk: Desk) -> None:
    before = await desk.said()
    await desk.do(KeepLast(AGENT, 1))
    await runs(desk, "rewind", "2")
    assert await desk.said() == before[:2]


async def test_marks_after_the_turn_are_dropped_and_earlier_ones_stay(desk: Desk) -> None:
    await desk.do(SetMark(AGENT, "EARLY"))
    await desk.turn("ask 4", "answer 4")
    await desk.do(SetMark(AGENT, "LATE"))
    await runs(desk, "rewind", "4")
    state = (await desk.dispatcher.open(AGENT)).state
    assert [mark.name for mark in state.marks] == ["EARLY"]


async def test_an_inherited_turn_is_a_place_too(desk: Desk) -> None:
    child = AgentId("child")
    await desk.do(Fork(AGENT, child))
    answer = await runs(desk, "rewind", "lead/2", child)
    assert isinstance(answer, Changed)
    assert answer.message == "Rewound to just before turn lead/2. 2 turns removed from view."
    assert len(await turns(desk, child)) == 1
    assert len(await turns(desk)) == 3


async def next_prompt(desk: Desk, agent: AgentId = AGENT) -> list[str]:
    """The origins of the notes in the next prompt, and its text."""
    await desk.turn("changed", "answered", agent)
    prompt = (await desk.dispatcher.open(agent)).live.turns[-1].prompt
    return [part.origin if isinstance(part, Note) else part.text for part in prompt]


async def test_mail_of_a_turn_that_leaves_view_waits_for_the_next_prompt(desk: Desk) -> None:
    for number in (1, 2):
        await desk.do(Send(AGENT, f"m{number}", f"The build {number} is red."))
        await desk.do(ReadMail(AGENT))
        await desk.turn(f"ask {number + 3}", "answer")
    before = await desk.said()
    await runs(desk, "edit", "4")
    await desk.do(Undo(AGENT))
    assert await desk.said() == before
    assert await next_prompt(desk) == ["changed"]
    await runs(desk, "edit", "5")
    assert await next_prompt(desk) == ["mail", "changed"]
    await runs(desk, "rewind", "4")
    assert await next_prompt(desk) == ["mail", "mail", "changed"]


@pytest.mark.parametrize(
    "command",
    [
        KeepLast(AGENT, 1),
        Compact(AGENT, "Numbers.", keep=1),
        Drop(AGENT, (TurnPlace(4, 4),)),
    ],
)
async def test_mail_of_a_turn_that_had_left_view_already_waits_too(
    desk: Desk, command: Command
) -> None:
    await desk.do(Send(AGENT, "m1", "The build is red."))
    await desk.do(ReadMail(AGENT))
    await desk.turn("ask 4", "answer 4")
    await desk.turn("ask 5", "answer 5")
    await desk.do(command)
    answer = await runs(desk, "rewind", "4")
    assert isinstance(answer, Changed)
    assert "before turn 4. 1 note waits for the next prompt again. " in answer.message
    assert await next_prompt(desk) == ["mail", "changed"]


async def test_mail_that_a_bare_clear_took_out_of_view_does_not_wait_again(desk: Desk) -> None:
    for number in (1, 2, 3):
        await desk.do(Send(AGENT, f"m{number}", f"The build {number} is red."))
        await desk.do(ReadMail(AGENT))
        await desk.turn(f"ask {number + 3}", "answer")
        if number == 2:
            await desk.do(Clear(AGENT))
    answer = await runs(desk, "rewind", "4")
    assert isinstance(answer, Changed)
    assert "1 note waits for the next prompt again." in answer.message
    notes = (await desk.dispatcher.open(AGENT)).state.notes
    assert [note.text for note in notes] == ["The build 3 is red."]


async def test_mail_waits_again_if_the_clear_was_undone_or_the_mail_is_in_view_again(
    desk: Desk,
) -> None:
    await desk.do(Send(AGENT, "m1", "The build is red."))
    await desk.do(ReadMail(AGENT))
    await desk.turn("ask 4", "answer 4")
    await desk.turn("ask 5", "answer 5")
    await desk.do(Clear(AGENT))
    await desk.do(Undo(AGENT))
    await desk.do(KeepLast(AGENT, 1))
    await runs(desk, "rewind", "4")
    assert len((await desk.dispatcher.open(AGENT)).state.notes) == 1
    await desk.do(Undo(AGENT))
    await desk.do(Clear(AGENT))
    await runs(desk, "rewind", "5")
    assert await turns(desk) == [1, 2, 3, 4]
    await runs(desk, "rewind", "4")
    assert await next_prompt(desk) == ["mail", "changed"]


async def test_mail_of_before_the_place_on_a_side_branch_does_not_wait(desk: Desk) -> None:
    for number, turn in enumerate((4, 5, 6), 1):
        await desk.do(Send(AGENT, f"m{number}", f"The build {number} is red."))
        await desk.do(ReadMail(AGENT))
        await desk.turn(f"ask {turn}", "answer")
    await runs(desk, "rewind", "5")
    await desk.turn("ask 7", "answer")
    await desk.do(KeepLast(AGENT, 1))
    await runs(desk, "rewind", "6")  # turn 6 is not before turn 7; turns 1 to 4 are before both
    notes = (await desk.dispatcher.open(AGENT)).state.notes
    assert [note.text for note in notes] == ["The build 3 is red."]
    assert sum("The build" in text for text in await desk.said()) == 2


async def test_a_turn_that_is_asked_again_still_says_what_the_model_dropped(desk: Desk) -> None:
    await desk.prompt("ask 4")
    await desk.do(Drop(AGENT, (TurnPlace(1, 1),)), actor=MODEL)
    await desk.do(AddReply(AGENT, (Text("Tidied."),)))
    await desk.do(CompleteTurn(AGENT))
    assert await next_prompt(desk) == ["program", "changed"]
    await runs(desk, "edit")
    assert await next_prompt(desk) == ["program", "changed"]
    await runs(desk, "rewind", "4")
    assert await turns(desk) == [1, 2, 3]
    assert await next_prompt(desk) == ["changed"]


async def test_mail_that_comes_into_view_again_does_not_wait(desk: Desk) -> None:
    await desk.do(Send(AGENT, "m1", "The build is red."))
    await desk.do(ReadMail(AGENT))
    await desk.turn("ask 4", "answer 4")
    await desk.turn("ask 5", "answer 5")
    await runs(desk, "rewind", "4")
    await runs(desk, "rewind", "5")
    assert await next_prompt(desk) == ["changed"]
    assert sum("The build is red." in text for text in await desk.said()) == 1


@pytest.mark.parametrize("command", [KeepLast(CHILD, 1), Clear(CHILD)])
async def test_a_child_whose_first_turn_had_left_view_knows_that_it_is_one(
    desk: Desk, command: Command
) -> None:
    await desk.do(Fork(AGENT, CHILD))
    await desk.turn("ask", "answer", CHILD)
    await desk.turn("ask more", "answer", CHILD)
    await desk.do(command)
    await runs(desk, "rewind", "1", CHILD)
    assert await next_prompt(desk, CHILD) == ["parent", "changed"]


@pytest.mark.parametrize("goal", ["", "Look at the roof."])
async def test_a_child_whose_first_turn_is_edited_knows_that_it_is_one(
    desk: Desk, goal: str
) -> None:
    await desk.do(Fork(AGENT, CHILD, goal=goal))
    if goal:
        await desk.do(AddReply(CHILD, (Text("A roof."),)))
        await desk.do(CompleteTurn(CHILD))
    else:
        await desk.turn("ask", "answer", CHILD)
    for _ in range(2):
        await runs(desk, "edit", "", CHILD)
        assert await next_prompt(desk, CHILD) == ["parent", "changed"]


async def test_notes_of_the_parent_do_not_wait_in_a_fork(desk: Desk) -> None:
    await desk.do(Send(AGENT, "m1", "The build is red."))
    await desk.do(ReadMail(AGENT))
    await desk.turn("ask 4", "answer 4")
    await desk.do(Fork(AGENT, CHILD))
    await runs(desk, "rewind", "lead/4", CHILD)
    assert await next_prompt(desk, CHILD) == ["parent", "changed"]


CARRIED = "[The user's last request before this point, verbatim]\n"


async def said_before(desk: Desk, place: str, agent: AgentId = CHILD) -> list[str]:
    """What the model of an agent would be sent after a rewind to before a turn."""
    assert isinstance(await runs(desk, "rewind", place, agent), Changed)
    return await desk.said(agent)


@pytest.mark.parametrize("command", [KeepLast(AGENT, 1), Compact(AGENT, "Numbers.", keep=1)])
async def test_before_an_inherited_turn_the_last_request_stays_in_view(
    desk: Desk, command: Command
) -> None:
    await desk.do(command)
    await desk.do(Fork(AGENT, CHILD))
    before = await desk.said(CHILD)
    (seen,) = await said_before(desk, "lead/3")
    assert seen.endswith(f"{CARRIED}ask 2")
    await desk.do(Undo(CHILD))
    assert await desk.said(CHILD) == before


async def test_before_an_inherited_turn_there_is_nothing_if_it_came_after_a_clear(
    desk: Desk,
) -> None:
    await desk.do(Clear(AGENT))
    await desk.turn("ask 4", "answer 4")
    await desk.turn("ask 5", "answer 5")
    await desk.do(Fork(AGENT, CHILD))
    assert await said_before(desk, "lead/4") == []


async def test_before_an_inherited_turn_a_request_of_before_a_clear_stays_out(desk: Desk) -> None:
    await desk.do(Clear(AGENT))
    await desk.turn("ask 4", "answer 4")
    await desk.turn("ask 5", "answer 5")
    await desk.do(KeepLast(AGENT, 1))
    await desk.do(Fork(AGENT, CHILD))
    assert await said_before(desk, "lead/5") == [f"{CARRIED}ask 4"]


async def test_before_an_inherited_turn_a_fork_from_a_mark_has_nothing_of_before_it(
    desk: Desk,
) -> None:
    await desk.do(SetMark(AGENT, "HERE"))
    await desk.turn("ask 4", "answer 4")
    await desk.do(Fork(AGENT, CHILD, "HERE"))
    await desk.do(Fork(CHILD, AgentId("grandchild")))
    assert await said_before(desk, "lead/4", AgentId("grandchild")) == []
    assert await said_before(desk, "lead/4") == []


async def test_before_an_inherited_turn_a_request_that_is_still_carried_stays(desk: Desk) -> None:
    await desk.do(Compact(AGENT, "Numbers."))
    await desk.turn("ask 4", "answer 4")
    await desk.do(KeepLast(AGENT, 1))
    await desk.do(Fork(AGENT, CHILD))
    assert await said_before(desk, "lead/4") == [f"{CARRIED}ask 3"]


@pytest.mark.parametrize("typed", ["99", "0", "2-3", "2.1", "99999999999999999999"])
async def test_a_place_that_is_no_turn_is_refused_with_the_numbers(desk: Desk, typed: str) -> None:
    for command in ("rewind", "edit"):
        assert await runs(desk, command, typed) == UnknownTurn(typed, 3)


async def test_a_version_is_refused_with_the_number_of_its_turn(desk: Desk) -> None:
    for command in ("rewind", "edit"):
        for typed, now in (("5", "2"), ("lead:5", "2"), ("lead/8", "3")):
            assert await runs(desk, command, typed) == TurnRenumbered(typed, now)


async def test_the_version_of_an_event_inside_a_turn_never_was_its_number(desk: Desk) -> None:
    for command in ("rewind", "edit", "bring", "diff"):
        assert await runs(desk, command, "9") == UnknownTurn("9", 3)


async def test_edit_gives_the_prompt_back(desk: Desk) -> None:
    answer = await runs(desk, "edit", "2")
    assert isinstance(answer, PromptToEdit)
    assert answer.prompt == "ask 2"
    assert len(await turns(desk)) == 1


async def test_a_bare_edit_means_the_last_turn(desk: Desk) -> None:
    answer = await runs(desk, "edit")
    assert isinstance(answer, PromptToEdit)
    assert answer.prompt == "ask 3"


async def test_a_model_cannot_rewind_to_a_turn(desk: Desk) -> None:
    turn = (await desk.dispatcher.open(AGENT)).live.turns[1]
    command = Rewind(AGENT, before=turn.ref, context=ROOT)
    assert await desk.refused(command, MODEL) == HumanOnly("/rewind")


@pytest.mark.parametrize("name", ["rewind", "edit"])
async def test_where_a_person_can_pick_the_place_is_picked(desk: Desk, name: str) -> None:
    space = TestSpace(desk.log, desk.space, desk.dispatcher)
    service = ConversationService(Services(space, picks=True))
    answer = await service.answer(AGENT, CommandStep(TABLE[name]))
    assert isinstance(answer, ArgumentNeeded)
    places = await rewind_places(space, AGENT, f"/{name}")
    offered = [place.line for place in places if place.turn]
    assert offered == [f"/{name} {first}" for first in reversed(await turns(desk))]
    preview = await preview_rewind(space, AGENT, places[-1])
    assert len(preview.leaving) == 3


async def test_start_makes_a_second_conversation_and_archives_nothing(desk: Desk) -> None:
    answer = await runs(desk, "start")
    assert isinstance(answer, ConversationStarted)
    assert answer.archived is None
    fresh = (await desk.dispatcher.open(answer.agent)).state
    old = (await desk.dispatcher.open(AGENT)).state
    assert (fresh.status, old.status) == ("running", "running")
    assert (fresh.settings, fresh.workspace) == (old.settings, old.workspace)
    assert answer.agent != AGENT
