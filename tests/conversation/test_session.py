"""A person's session: what starts a conversation, what is queued, and what waits for a turn."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from sapwood.conversation.answers import (
    AgentTree,
    Changed,
    ConversationStarted,
    Prompted,
    SettingShown,
    Switched,
)
from sapwood.conversation.service import ConversationService, Outcome
from sapwood.conversation.session import ConversationSession
from sapwood.core.commands import (
    AddReply,
    Command,
    CommandMeta,
    CompleteTurn,
    InterruptTurn,
    StartTurn,
    UnqueuePrompt,
)
from sapwood.core.content import File, Text
from sapwood.core.errors import RefusedError
from sapwood.core.events import TurnStarted
from sapwood.core.ids import AgentId
from sapwood.core.refusals import NoConversation, Refusal, UnknownMark
from sapwood.turns.dispatch import Done
from tests.conversation.spaces import service_of
from tests.turns.commanding import AGENT, Desk


async def kinds(outcomes: AsyncIterator[Outcome]) -> list[type]:
    """The type of each answer."""
    return [type(outcome.answer) async for outcome in outcomes]


@pytest.fixture
async def session(desk: Desk) -> ConversationSession:
    """A session with an agent."""
    await desk.start()
    return ConversationSession(service_of(desk), "here", AGENT)


@pytest.fixture
def empty(desk: Desk) -> ConversationSession:
    """A session before the first message."""
    return ConversationSession(service_of(desk), "here")


async def prompts(desk: Desk) -> list[str]:
    """The texts that opened turns."""
    found = [each.event for each in await desk.log.read(desk.space, AGENT)]
    return [part.text for event in found if isinstance(event, TurnStarted) for part in event.prompt]


async def prompts_of_text(desk: Desk) -> list[str]:
    """The same without the files."""
    found = [each.event for each in await desk.log.read(desk.space, AGENT)]
    parts = [part for event in found if isinstance(event, TurnStarted) for part in event.prompt]
    return [part.text for part in parts if isinstance(part, Text)]


async def ends_turn(desk: Desk) -> None:
    """The model answers, and the turn completes."""
    await desk.do(AddReply(AGENT, (Text("Yes."),)))
    await desk.do(CompleteTurn(AGENT))


async def test_a_first_message_starts_a_conversation_named_after_it(
    desk: Desk, empty: ConversationSession
) -> None:
    assert await kinds(empty.submit("Where do herons nest?")) == [ConversationStarted, Prompted]
    assert empty.agent is not None
    state = (await desk.dispatcher.open(empty.agent)).state
    assert (state.name, state.workspace.folder) == ("Where do herons nest?", "here")


async def test_a_mark_starts_a_conversation_and_a_list_does_not(empty: ConversationSession) -> None:
    assert await kinds(empty.submit("/agents\n/model")) == [AgentTree, SettingShown]
    assert empty.agent is None
    assert await kinds(empty.submit("/mark A")) == [ConversationStarted, Changed]


async def test_what_needs_a_conversation_is_refused_before_there_is_one(
    empty: ConversationSession,
) -> None:
    assert await kinds(empty.submit("/context")) == [NoConversation]
    assert empty.agent is None


async def test_text_is_queued_while_a_turn_is_open_and_sent_when_it_ends(
    desk: Desk, session: ConversationSession
) -> None:
    assert await kinds(session.submit("one")) == [Prompted]
    assert await kinds(session.submit("two")) == []
    assert [each.text for each in await session.queue()] == ["two"]
    assert await kinds(session.turn_ended()) == []
    await ends_turn(desk)
    assert await kinds(session.turn_ended()) == [Prompted]
    assert not await session.queue()


async def test_what_is_typed_between_two_turns_waits_behind_the_queue(
    desk: Desk, session: ConversationSession
) -> None:
    for text in ("one", "two", "three"):
        await kinds(session.submit(text))
    await ends_turn(desk)
    assert await kinds(session.submit("four")) == [Prompted]  # before the end of the turn is seen
    for _ in range(3):
        await kinds(session.turn_ended())
        await ends_turn(desk)
    assert await prompts(desk) == ["one", "two", "three", "four"]


async def test_what_is_queued_as_the_turn_ends_is_sent(
    desk: Desk, session: ConversationSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = session.is_working

    async def ended_after_the_look() -> bool:
        found = await looks()
        monkeypatch.setattr(session, "is_working", looks)
        await ends_turn(desk)
        assert await kinds(session.turn_ended()) == []
        return found

    await kinds(session.submit("one"))
    monkeypatch.setattr(session, "is_working", ended_after_the_look)
    assert await kinds(session.submit("two")) == [Prompted]
    assert await prompts(desk) == ["one", "two"]


async def test_a_text_that_was_taken_back_and_is_sent_again_waits_behind_the_queue(
    desk: Desk, session: ConversationSession
) -> None:
    for text in ("one", "two", "three"):
        await kinds(session.submit(text))
    assert await session.take_back() == "three"
    await desk.do(InterruptTurn(AGENT))
    await kinds(session.turn_ended())
    assert await kinds(session.submit("three")) == [Prompted]
    await ends_turn(desk)
    await kinds(session.turn_ended())
    assert await prompts(desk) == ["one", "two", "three"]


async def test_a_prompt_waits_behind_a_queued_script_that_has_begun(
    desk: Desk, session: ConversationSession
) -> None:
    await kinds(session.submit("one"))
    await kinds(session.submit("/mark A\ntwo"))
    await ends_turn(desk)
    script = session.turn_ended()
    assert isinstance((await anext(script)).answer, Changed)
    assert await kinds(session.submit("three")) == []
    assert await kinds(script) == [Prompted]
    await ends_turn(desk)
    await kinds(session.turn_ended())
    assert await prompts(desk) == ["one", "two", "three"]


async def test_a_turn_that_ends_before_its_text_has_left_the_queue_stops_nothing(
    desk: Desk, session: ConversationSession
) -> None:
    for text in ("one", "two", "three"):
        await kinds(session.submit(text))
    await ends_turn(desk)
    [queued, _] = await session.queue()
    await session.service.prompt(AGENT, "two", command_id=queued.entry)
    await ends_turn(desk)
    await kinds(session.turn_ended())
    assert await prompts(desk) == ["one", "two", "three"]


async def test_a_text_that_is_being_sent_cannot_be_taken_back(
    desk: Desk, session: ConversationSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    await kinds(session.submit("one"))
    await kinds(session.submit("two"))
    await ends_turn(desk)
    sends, taken = session.service.prompt, list[str]()

    async def taken_back_while_sent(*args: Any, **kwargs: Any) -> Prompted | Refusal:
        answer = await sends(*args, **kwargs)
        taken.append(await session.take_back())
        return answer

    monkeypatch.setattr(session.service, "prompt", taken_back_while_sent)
    await kinds(session.turn_ended())
    assert taken == [""]
    assert not await session.queue()


async def test_a_prompt_that_meets_a_turn_that_was_just_opened_is_queued(
    desk: Desk, session: ConversationSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = session.is_working

    async def opened_after_the_look() -> bool:
        found = await looks()
        monkeypatch.setattr(session, "is_working", looks)
        await desk.do(StartTurn(AGENT, (Text("Of a goal."),)))
        return found

    monkeypatch.setattr(session, "is_working", opened_after_the_look)
    assert await kinds(session.submit("one")) == []
    assert [each.text for each in await session.queue()] == ["one"]
    await ends_turn(desk)
    assert await kinds(session.turn_ended()) == [Prompted]
    assert await prompts(desk) == ["Of a goal.", "one"]


async def test_the_queue_outlives_the_process_that_showed_it(
    desk: Desk, session: ConversationSession
) -> None:
    await kinds(session.submit("one"))
    await kinds(session.submit("two"))
    await ends_turn(desk)
    other = ConversationSession(service_of(Desk(desk.log)), "here", AGENT)
    assert [each.text for each in await other.queue()] == ["two"]
    assert await kinds(other.submit("")) == [Prompted]
    assert await prompts(desk) == ["one", "two"]


async def test_two_screens_that_send_the_queue_open_one_turn(
    desk: Desk, session: ConversationSession
) -> None:
    await kinds(session.submit("one"))
    await kinds(session.submit("two"))
    await ends_turn(desk)
    other = ConversationSession(service_of(Desk(desk.log)), "here", AGENT)
    await asyncio.gather(kinds(session.turn_ended()), kinds(other.turn_ended()))
    assert await prompts(desk) == ["one", "two"]
    assert not await session.queue()


async def test_a_process_that_dies_before_it_removes_a_sent_text_sends_it_once(
    desk: Desk, session: ConversationSession
) -> None:
    await kinds(session.submit("one"))
    await kinds(session.submit("two"))
    await ends_turn(desk)
    [queued] = await session.queue()
    await session.service.prompt(AGENT, "two", command_id=queued.entry)  # and then it dies
    await ends_turn(desk)
    other = ConversationSession(service_of(Desk(desk.log)), "here", AGENT)
    await kinds(other.turn_ended())
    assert await prompts(desk) == ["one", "two"]
    assert not await other.queue()


def on_this_machine(desk: Desk, folder: Path) -> ConversationSession:
    """A screen on the machine of its person."""
    services = structs.replace(service_of(desk).services, on_this_machine=True)
    return ConversationSession(ConversationService(services), str(folder), AGENT)


async def parts_of_last_prompt(desk: Desk) -> list[type]:
    opened = await desk.dispatcher.open(AGENT)
    turn = opened.live.open
    assert turn is not None
    return [type(part) for part in turn.prompt]


async def test_a_text_with_a_file_whose_process_died_is_sent_once_and_what_is_behind_it_too(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes.md").write_text("Herons nest in trees.")
    await desk.start()
    first = on_this_machine(desk, tmp_path)
    for text in ("one", "two @notes.md", "three"):
        await kinds(first.submit(text))
    await ends_turn(desk)

    async def dies(command: Command, meta: CommandMeta) -> Done | Refusal:
        if isinstance(command, UnqueuePrompt):
            raise asyncio.CancelledError
        return await dispatch(command, meta)

    with monkeypatch.context() as patched:
        dispatch = desk.dispatcher.dispatch
        patched.setattr(desk.dispatcher, "dispatch", dies)
        with pytest.raises(asyncio.CancelledError):
            await kinds(first.turn_ended())
    assert await parts_of_last_prompt(desk) == [File, Text]
    await ends_turn(desk)
    other = on_this_machine(Desk(desk.log), tmp_path)
    assert await kinds(other.turn_ended()) == [Prompted]
    assert (await prompts_of_text(desk), await other.queue()) == (
        ["one", "two @notes.md", "three"],
        (),
    )


async def test_a_screen_says_that_it_did_not_attach_the_files_of_another_one(
    desk: Desk, tmp_path: Path
) -> None:
    (tmp_path / "notes.md").write_text("Herons nest in trees.")
    await desk.start()
    first = on_this_machine(desk, tmp_path)
    for text in ("one", "two @notes.md and @nobody"):
        await kinds(first.submit(text))
    await ends_turn(desk)
    other = on_this_machine(Desk(desk.log), tmp_path)
    [outcome] = [each async for each in other.turn_ended()]
    assert "were not attached" in outcome.message
    assert await parts_of_last_prompt(desk) == [Text]
    assert await kinds(first.turn_ended()) == []


def too_large(folder: Path) -> None:
    (folder / "photo.png").unlink(missing_ok=True)
    with (folder / "photo.png").open("wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        file.truncate(60_000_000)


def leads_out(folder: Path) -> None:
    (folder.parent / "secret.png").write_bytes(b"\x89PNG\r\n\x1a\n secret")
    (folder / "photo.png").unlink(missing_ok=True)
    (folder / "photo.png").symlink_to(folder.parent / "secret.png")


@pytest.mark.parametrize("spoil", [too_large, leads_out])
@pytest.mark.parametrize("text", ["two @photo.png", "/mark HERE\ntwo @photo.png"])
@pytest.mark.parametrize("is_here", [True, False])
async def test_a_queued_text_whose_file_cannot_be_sent_is_sent_without_it(
    desk: Desk, tmp_path: Path, spoil: Callable[[Path], None], text: str, is_here: bool
) -> None:
    """The file may have changed since the text was queued, or be another one on this machine."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n heron")
    await desk.start()
    first = on_this_machine(desk, folder)
    for each in ("one", text, "three"):
        await kinds(first.submit(each))
    await ends_turn(desk)
    spoil(folder)
    screen = first if is_here else on_this_machine(Desk(desk.log), folder)
    [*_, outcome] = [each async for each in screen.turn_ended()]
    assert isinstance(outcome.answer, Prompted)
    assert "were not attached" in outcome.message
    assert await parts_of_last_prompt(desk) == [Text]
    assert [each.text for each in await screen.queue()] == ["three"]


async def test_two_screens_that_send_a_text_with_a_file_at_once_open_one_turn(
    desk: Desk, tmp_path: Path
) -> None:
    (tmp_path / "notes.md").write_text("Herons nest in trees.")
    await desk.start()
    first = on_this_machine(desk, tmp_path)
    for text in ("one", "two @notes.md"):
        await kinds(first.submit(text))
    await ends_turn(desk)
    other = on_this_machine(Desk(desk.log), tmp_path)
    answers = await asyncio.gather(kinds(first.turn_ended()), kinds(other.turn_ended()))
    assert {kind for each in answers for kind in each} == {Prompted}
    assert await prompts_of_text(desk) == ["one", "two @notes.md"]
    assert not await first.queue()


async def test_the_newest_queued_text_can_be_taken_back(
    desk: Desk, session: ConversationSession
) -> None:
    await kinds(session.submit("one"))
    await kinds(session.submit("two"))
    await kinds(session.submit("three"))
    assert await session.take_back() == "three"
    assert [each.text for each in await session.queue()] == ["two"]
    await session.take_back()
    assert await session.take_back() == ""


async def test_commands_are_carried_out_while_a_turn_is_open(session: ConversationSession) -> None:
    await kinds(session.submit("one"))
    assert await kinds(session.submit("/mark A")) == [Changed]


async def test_the_rest_of_a_script_waits_for_its_prompt(
    desk: Desk, session: ConversationSession
) -> None:
    assert await kinds(session.submit("/mark A\none\n/mark B")) == [Changed, Prompted]
    await kinds(session.submit("two"))
    await ends_turn(desk)
    assert await kinds(session.turn_ended()) == [Changed, Prompted]
    assert not await session.queue()


async def test_after_an_interrupt_the_queue_waits_until_it_is_sent(
    desk: Desk, session: ConversationSession
) -> None:
    await kinds(session.submit("one\n/mark B"))
    await kinds(session.submit("two"))
    session.drop_rest()
    await desk.do(InterruptTurn(AGENT))
    assert await kinds(session.turn_ended()) == []
    assert await kinds(session.submit("")) == [Prompted]
    assert [mark.name for mark in (await desk.dispatcher.open(AGENT)).state.marks] == []


async def test_a_refusal_ends_a_script(session: ConversationSession) -> None:
    assert await kinds(session.submit("/rewind NOWHERE\n/mark A\none")) == [UnknownMark]
    with pytest.raises(RefusedError, match="no command /mrak"):
        await kinds(session.submit("/mrak A"))


async def test_a_session_goes_on_with_the_agent_that_was_switched_to(
    desk: Desk, session: ConversationSession
) -> None:
    scout = AgentId("scout")
    await desk.start(scout)
    outcomes = [outcome async for outcome in session.submit("/switch scout\n/mark A")]
    assert [type(outcome.answer) for outcome in outcomes] == [Switched, Changed]
    assert not any(isinstance(outcome.answer, Refusal) for outcome in outcomes)
    assert session.agent == scout
    assert [mark.name for mark in (await desk.dispatcher.open(scout)).state.marks] == ["A"]
