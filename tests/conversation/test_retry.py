"""`/retry` asks the last prompt again, once for each command id."""

from collections.abc import AsyncIterator, Sequence

import pytest
from msgspec import structs

from sapwood.api import Agent, Sapwood
from sapwood.api import open as open_database
from sapwood.conversation.answers import Changed, Prompted
from sapwood.conversation.call import Person
from sapwood.conversation.script import CommandStep
from sapwood.conversation.service import ConversationService
from sapwood.core.checkpoint import Destination, Saved
from sapwood.core.command_table import TABLE
from sapwood.core.commands import StartRevert, StartTurn
from sapwood.core.content import File, Note, PromptPart, Text
from sapwood.core.events import HUMAN, TurnStarted
from sapwood.core.refusals import (
    BadArguments,
    NothingToRetry,
    Refusal,
    RevertCutOff,
    TurnIsOpen,
    UndoTakesTurns,
)
from sapwood.core.state import State
from tests.conversation.cut_off import Killed, dies_before_its_prompt

RETRY = CommandStep(TABLE["retry"])


@pytest.fixture
async def db() -> AsyncIterator[Sapwood]:
    async with open_database(":memory:") as db:
        yield db


async def test_the_last_prompt_is_asked_again_and_its_answer_leaves_view(db: Sapwood) -> None:
    agent = await db.start("demo")
    await agent.record("Where do herons nest?", "In trees.")
    await agent.record("And storks?", "No answer.", status="failed", reason="overloaded")
    [outcome] = await agent.run_command("/retry")
    assert isinstance(outcome.answer, Prompted)
    state = await agent.state()
    assert state.open is not None
    assert state.turns == 3
    asked = [str(part) for message in (await agent.request()).messages for part in message.parts]
    assert sum("And storks?" in part for part in asked) == 1
    assert not any("No answer." in part for part in asked)


async def _contents(agent: Agent) -> list[str]:
    return [str(part) for message in (await agent.request()).messages for part in message.parts]


async def test_undo_names_the_retry_and_brings_the_first_answer_back(db: Sapwood) -> None:
    agent = await db.start("demo")
    await agent.record("Where do herons nest?", "In trees.")
    before = await _contents(agent)
    await agent.run_command("/retry")
    await agent.interrupt()
    [outcome] = await agent.run_command("/undo")
    assert getattr(outcome.answer, "message", "") == (
        "Undone: /retry. 1 turn back in view, 1 turn removed from view."
    )
    assert await _contents(agent) == before
    [outcome] = await agent.run_command("/redo")
    assert getattr(outcome.answer, "message", "").startswith("Redone: /retry.")


async def test_undo_says_how_many_later_turns_leave_with_the_retry(db: Sapwood) -> None:
    agent = await db.start("demo")
    await agent.record("Where do herons nest?", "In trees.")
    await agent.run_command("/retry")
    await agent.interrupt()
    await agent.record("And storks?", "On roofs.")
    await agent.record("And owls?", "In barns.")
    before = await _contents(agent)
    for _ in range(2):  # after a redo too
        [outcome] = await agent.run_command("/undo --anyway")
        assert getattr(outcome.answer, "message", "") == (
            "Undone: /retry and 2 later turns; /redo brings them back. "
            "1 turn back in view, 3 turns removed from view."
        )
        await agent.run_command("/redo")
        assert await _contents(agent) == before


async def test_undo_asks_before_several_later_turns_leave_with_it(db: Sapwood) -> None:
    agent = await db.start("demo")
    await agent.record("Where do herons nest?", "In trees.")
    await agent.run_command("/retry")
    await agent.interrupt()
    await agent.record("And storks?", "On roofs.")
    [outcome] = await agent.run_command("/undo")  # one later turn is said, and no question
    assert "and 1 later turn; /redo brings it back" in outcome.message
    await agent.run_command("/redo")
    await agent.record("And owls?", "In barns.")
    before = await _contents(agent)
    [outcome] = await agent.run_command("/undo")
    assert outcome.answer == UndoTakesTurns("/retry", 3, 4, 2)
    assert outcome.message == (
        "Undoing /retry also removes 2 later turns (3 to 4) from view. Type /undo "
        "--anyway to do it; /redo then brings them back."
    )
    assert await _contents(agent) == before


async def test_a_request_to_undo_that_comes_again_asks_nothing(db: Sapwood) -> None:
    agent = await db.start("demo")
    await agent.record("Where do herons nest?", "In trees.")
    await agent.run_command("/retry")
    await agent.interrupt()
    for prompt in ("And storks?", "And owls?"):
        await agent.record(prompt, "On roofs.")
    await agent.run_command("/clear")
    undo, person = CommandStep(TABLE["undo"]), Person(HUMAN, "once")
    first = await agent.service.answer(agent.id, undo, caller=person)  # of /clear
    assert isinstance(first, Changed)
    again = await agent.service.answer(agent.id, undo, caller=person)
    assert isinstance(again, Changed)
    assert again.events == first.events


async def test_files_of_the_prompt_are_sent_again(db: Sapwood) -> None:
    agent = await db.start("demo")
    picture = File.of(b"GIF89a\x02\x00\x01\x00...", name="dot.gif")
    async with agent.turn((picture, Text("What is this?"))) as turn:
        await turn.reply("A dot.")
    await agent.run_command("/retry")
    [message] = (await agent.request()).messages
    assert message.parts == (picture, Text("What is this?"))


async def _origins(agent: Agent) -> list[str]:
    """The origins of the notes in the newest prompt, and its text."""
    events = [each.event for each in await agent.events()]
    prompt = [event for event in events if isinstance(event, TurnStarted)][-1].prompt
    return [part.origin if isinstance(part, Note) else part.text for part in prompt]


async def test_a_child_that_is_asked_again_still_knows_that_it_is_one(db: Sapwood) -> None:
    lead = await db.start("lead")
    await lead.record("Where do herons nest?", "In trees.")
    [outcome] = await lead.run_command("/fork -- And storks?")
    child = await db.get(getattr(outcome.answer, "child", ""))
    await child.interrupt()
    for _ in range(2):
        await child.run_command("/retry")
        assert await _origins(child) == ["parent", "And storks?"]
        await child.interrupt()


@pytest.mark.parametrize("inherited", [False, True])
async def test_mail_and_shell_output_are_sent_again_and_notes_of_the_program_are_not(
    db: Sapwood, inherited: bool
) -> None:
    agent = await db.start("demo")
    await agent.record("Where do herons nest?", "In trees.")
    notes = (Note("program", "An offer."), Note("mail", "Red."), Note("shell", "a.py", "ls"))
    await agent.service.dispatch(StartTurn(agent.id, (*notes, Text("And storks?"))))
    await agent.interrupt()
    if inherited:
        [outcome] = await agent.run_command("/fork")
        agent = await db.get(getattr(outcome.answer, "child", ""))
    await agent.run_command("/retry")
    parent = ["parent"] if inherited else []
    assert await _origins(agent) == [*parent, "mail", "shell", "And storks?"]


async def test_the_same_command_id_asks_once(db: Sapwood) -> None:
    agent = await db.start("demo")
    await agent.record("Where do herons nest?", "In trees.")
    service = agent.service
    first = await service.answer(agent.id, RETRY, caller=Person(HUMAN, "once"))
    assert isinstance(first, Prompted)
    assert await service.answer(agent.id, RETRY, caller=Person(HUMAN, "twice")) == TurnIsOpen(
        "/retry"
    )
    await agent.interrupt()
    again = await service.answer(agent.id, RETRY, caller=Person(HUMAN, "once"))
    assert isinstance(again, Prompted)
    assert again.turn == first.turn
    assert (await agent.state()).turns == 2


async def test_a_retry_that_was_cut_off_asks_the_same_prompt_when_it_is_repeated(
    db: Sapwood,
) -> None:
    agent = await db.start("demo")
    await agent.record("Deploy to staging.", "Done.")
    await agent.record("And storks?", "On roofs.")
    once = Person(HUMAN, "once")
    with pytest.MonkeyPatch.context() as patch:
        dies_before_its_prompt(patch)
        with pytest.raises(Killed):
            await agent.service.answer(agent.id, RETRY, caller=once)
    assert "And storks?" not in str(await _contents(agent))
    for _ in range(2):  # while its turn is open too
        answer = await agent.service.answer(agent.id, RETRY, caller=once)
        assert isinstance(answer, Prompted)
        state = await agent.state()
        assert (state.turns, state.open and state.open.first) == (3, answer.turn)
    contents = await _contents(agent)
    assert [sum(text in part for part in contents) for text in ("Deploy", "And storks?")] == [1, 1]


async def test_a_hook_that_objects_leaves_everything_as_it_was(db: Sapwood) -> None:
    agent = await db.start("demo")
    await agent.record("Where do herons nest?", "In trees.")
    await agent.record("And storks?", "On roofs.")
    before = (await agent.state(), await _contents(agent))
    asked: list[str] = []

    async def object_to(state: State, prompt: Sequence[PromptPart]) -> Refusal:
        asked.extend(part.text for part in prompt)
        return BadArguments("a prompt", "No storks.")

    service = ConversationService(structs.replace(agent.service.services, check_prompt=object_to))
    for _ in range(2):
        assert await service.answer(agent.id, RETRY) == BadArguments("a prompt", "No storks.")
        assert (await agent.state(), await _contents(agent)) == before
    assert asked == ["And storks?"] * 2


async def test_a_hook_sees_the_prompt_once(db: Sapwood) -> None:
    agent = await db.start("demo")
    await agent.record("And storks?", "On roofs.")
    asked: list[str] = []

    async def agree_to(state: State, prompt: Sequence[PromptPart]) -> None:
        asked.extend(part.text for part in prompt)

    service = ConversationService(structs.replace(agent.service.services, check_prompt=agree_to))
    assert isinstance(await service.answer(agent.id, RETRY), Prompted)
    assert asked == ["And storks?"]


async def test_a_revert_that_was_cut_off_and_cannot_be_finished_leaves_everything(
    db: Sapwood,
) -> None:
    agent = await db.start("demo")
    await agent.record("And storks?", "On roofs.")
    started = StartRevert(agent.id, Saved("c1", "t1"), Destination(1, 1, "turn 1"))
    await agent.service.dispatch(started)
    before = (await agent.state(), await _contents(agent))
    service = ConversationService(structs.replace(agent.service.services, checkpoints=None))
    assert await service.answer(agent.id, RETRY) == RevertCutOff("turn 1")
    assert (await agent.state(), await _contents(agent)) == before


async def test_without_a_prompt_in_view_there_is_nothing_to_ask(db: Sapwood) -> None:
    agent = await db.start("demo")
    answer = await agent.service.answer(agent.id, RETRY)
    assert answer == NothingToRetry()


@pytest.mark.parametrize("args", ["5", "now"])
async def test_it_stands_alone(db: Sapwood, args: str) -> None:
    agent = await db.start("demo")
    answer = await agent.service.answer(agent.id, CommandStep(TABLE["retry"], args))
    assert "takes no arguments" in getattr(answer, "sentence", "")
