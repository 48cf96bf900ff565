"""The contract of a log that can erase: an erased agent leaves nothing, and nothing else goes."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import Any, cast

import pytest
from msgspec import structs

from sapwood.core.content import Note, Text
from sapwood.core.erasure import ERASED, Erasure, ErasureItem, Hold
from sapwood.core.events import (
    AgentRenamed,
    AgentStarted,
    ContextLoaded,
    MailReceived,
    MailSent,
    Recorded,
    Size,
    ToolFinished,
    TurnCompleted,
    TurnStarted,
    WordsErased,
)
from sapwood.core.ids import AgentId, CommandId, EventRef, Space
from sapwood.core.live_words import LiveWords
from sapwood.core.log_values import Cursor, Receipt, Snapshot, TailedEvent, VersionConflict
from sapwood.core.view.frames import framed_prompt
from sapwood.lifecycle.erasable_log import ErasableLog, erasable
from sapwood.lifecycle.erasure import Eraser, ExternalStores, resume_erasures
from sapwood.turns.log import Log
from tests.store.backends import MemoryBackend
from tests.store.contract import Backend, OpenLog, append, commit_of, grow, start, take

ADA, BOB, EVE = AgentId("ada"), AgentId("bob"), AgentId("eve")
LONG = "a long text of several agents " * 200


@pytest.fixture
def erasing(log: Log) -> ErasableLog:
    return erasable(log)


async def erase(log: ErasableLog, space: Space, *agents: AgentId) -> Erasure:
    return await Eraser(log, space).erase(agents, by="human:judge")


async def test_nothing_of_an_erased_agent_can_be_read(erasing: ErasableLog, space: Space) -> None:
    await start(erasing, space, ADA, "the heron", name="Ada")
    await start(erasing, space, BOB, "the stork", name="Bob")
    await erasing.save_snapshot(space, Snapshot(ADA, 1, "1", b"data"))
    words = LiveWords(1, CommandId("words"), (Text("arriving"),))
    for agent in (ADA, BOB):
        assert await erasing.save_words(space, agent, 1, words, None)
    assert len(await erasing.search(space, "heron")) == 1
    await erase(erasing, space, ADA)
    assert await erasing.words(space, ADA) is None
    assert await erasing.words(space, BOB) == words
    assert await erasing.read(space, ADA) == []
    assert await erasing.summary(space, ADA) is None
    assert await erasing.find(space, "Ada") == []
    assert await erasing.snapshot(space, ADA, "1") is None
    assert await erasing.search(space, "heron") == []
    assert [summary.agent for summary in await erasing.agents(space)] == [BOB]
    assert [each.recorded.agent for each in await take(erasing.tail(space), 1)] == [BOB]


async def test_everything_else_stays_as_it_was(erasing: ErasableLog, space: Space) -> None:
    await start(erasing, space, BOB, "the stork", LONG)
    before = await erasing.read(space, BOB)
    await start(erasing, space, ADA, "the heron", LONG)
    await erase(erasing, space, ADA)
    assert await erasing.read(space, BOB) == before
    assert [hit.ref.agent for hit in await erasing.search(space, "stork")] == [BOB]
    await grow(erasing, space, BOB, "the crane")
    assert [hit.ref.version for hit in await erasing.search(space, "crane")] == [3]


async def test_a_long_text_stays_as_long_as_somebody_refers_to_it(
    erasing: ErasableLog, space: Space
) -> None:
    for agent in (ADA, BOB):
        await start(erasing, space, agent, LONG)
    before = await erasing.read(space, BOB)
    first = await erase(erasing, space, ADA)
    assert await erasing.read(space, BOB) == before
    second = await erase(erasing, space, BOB)
    if first.contents or second.contents:  # the log in memory has no texts apart
        assert (first.contents, second.contents) == (0, 1)


async def test_children_go_with_their_parent(erasing: ErasableLog, space: Space) -> None:
    await start(erasing, space, ADA)
    await start(erasing, space, BOB, parent=ADA)
    await start(erasing, space, EVE, parent=BOB)
    record = await erase(erasing, space, ADA)
    assert (record.agents, record.events) == (3, 3)
    assert await erasing.agents(space) == []


async def test_a_parent_stays_when_its_child_goes(erasing: ErasableLog, space: Space) -> None:
    await start(erasing, space, ADA)
    await start(erasing, space, BOB, parent=ADA)
    await erase(erasing, space, BOB)
    assert [summary.agent for summary in await erasing.agents(space)] == [ADA]


async def test_the_record_has_counts_and_no_ids(erasing: ErasableLog, space: Space) -> None:
    await start(erasing, space, ADA, "one", "two")
    record = await erase(erasing, space, ADA)
    assert (record.by, record.scope, record.agents, record.events) == (
        *("human:judge", "conversation"),
        *(1, 2),
    )
    assert record.finished >= record.at > 0
    assert await erasing.erasures(space) == [record]
    assert await erasing.erasures(Space(f"{space}-other")) == []
    assert await erasing.unfinished_erasures() == []
    assert "ada" not in str(record)


async def test_mail_that_it_sent_is_replaced_where_it_arrived(
    erasing: ErasableLog, space: Space
) -> None:
    note = Note("mail", "the heron", source=ADA, fence="f00")
    framed = "\n\n".join(
        part.text for part in framed_prompt((note, Note("mail", "mine", source=EVE, fence="f00")))
    )
    sent = append(ADA, MailSent("m", BOB, "the heron"))
    received = append(
        BOB,
        MailReceived("m", "the heron", ADA),
        MailReceived("n", "mine", EVE),
        TurnStarted(None, (note,)),
        ToolFinished("1", f"Mail:\n{framed}\nThe ibis."),
        ContextLoaded(EventRef(ADA, 1), f"quoted {LONG}"),
    )
    await erasing.commit(space, commit_of(sent, received, message="Sent the heron."))
    read = CommandId("read-mail")
    answer = append(BOB, AgentRenamed("Bob"), expected=5, command=read)
    await erasing.commit(space, commit_of(answer, command=read, message=f"You have {framed}"))
    await erasing.save_snapshot(space, Snapshot(BOB, 2, "1", b"the heron"))
    assert await erasing.search(space, "heron")
    record = await erase(erasing, space, ADA)
    receipt = await erasing.receipt(space, read)
    assert receipt
    assert receipt.message == f"You have {framed.replace('the heron', ERASED)}"
    first, other, prompt, result, loaded, _, told = [
        each.event for each in await erasing.read(space, BOB)
    ]
    assert told == WordsErased(ADA)
    assert first == MailReceived("m", ERASED, ADA)
    assert other == MailReceived("n", "mine", EVE)
    assert isinstance(prompt, TurnStarted)
    assert isinstance(result, ToolFinished)
    assert isinstance(loaded, ContextLoaded)
    assert prompt.prompt[0].text == ERASED
    assert result.content == f"Mail:\n{framed.replace('the heron', ERASED)}\nThe ibis."
    assert loaded.text == ERASED
    assert record.rewritten == 4
    assert await erasing.snapshot(space, BOB, "1") is None
    assert await erasing.search(space, "heron") == []
    assert await erasing.search(space, "mine")
    assert await erasing.search(space, "ibis")


async def test_who_goes_on_from_a_changed_log_is_told_too(
    erasing: ErasableLog, space: Space
) -> None:
    """A child has turns of its parent in memory, and one who quoted such a turn has its words."""
    note = Note("mail", "the heron", source=ADA, fence="f00")
    child, reader, stranger = AgentId("child"), AgentId("reader"), AgentId("stranger")
    turn = (TurnStarted(None, (note,)), TurnCompleted(Size(1, "words")))
    await erasing.commit(
        space,
        commit_of(
            append(ADA, MailSent("m", BOB, "the heron")),
            append(BOB, MailReceived("m", "the heron", ADA), *turn),
        ),
    )
    await start(erasing, space, child, parent=BOB)
    quoted = ContextLoaded(EventRef(BOB, 2), "Note (mail): the heron")
    await erasing.commit(space, commit_of(append(reader, AgentStarted(), quoted)))
    await start(erasing, space, stranger)
    before = await erasing.summary(space, child)
    record = await erase(erasing, space, ADA)
    assert record.rewritten == 3
    last = {each: (await erasing.read(space, each))[-1].event for each in (BOB, child, reader)}
    assert set(last.values()) == {WordsErased(ADA)}
    assert len(await erasing.read(space, stranger)) == 1
    assert (await erasing.read(space, reader))[1].event == ContextLoaded(EventRef(BOB, 2), ERASED)
    after = await erasing.summary(space, child)
    assert before
    assert after == structs.replace(before, version=before.version + 1)
    await grow(erasing, space, child, "goes on")


async def test_a_snapshot_from_before_an_erasure_is_not_stored_after_it(
    erasing: ErasableLog, space: Space
) -> None:
    sent = append(ADA, MailSent("m", BOB, "the heron"))
    await erasing.commit(space, commit_of(sent, append(BOB, MailReceived("m", "the heron", ADA))))
    await erase(erasing, space, ADA)
    await erasing.save_snapshot(space, Snapshot(BOB, 1, "1", b"the heron"))
    assert await erasing.snapshot(space, BOB, "1") is None
    await erasing.save_snapshot(space, Snapshot(BOB, 2, "1", b"what is left"))
    assert await erasing.snapshot(space, BOB, "1") == Snapshot(BOB, 2, "1", b"what is left")


async def test_snapshots_and_appends_during_an_erasure_bring_nothing_back(
    erasing: ErasableLog, space: Space, open_log: OpenLog, backend: Backend
) -> None:
    """Another connection saves old snapshots and appends without a pause."""
    other = erasing if isinstance(backend, MemoryBackend) else await open_log()
    sent = append(ADA, MailSent("m", BOB, "the heron"))
    await erasing.commit(space, commit_of(sent, append(BOB, MailReceived("m", "the heron", ADA))))
    tail = cast("AsyncGenerator[TailedEvent]", other.tail(space))
    begun = asyncio.Event()

    async def save() -> None:
        while True:
            await other.save_snapshot(space, Snapshot(BOB, 1, "1", b"the heron"))
            await grow(other, space, BOB, "more")
            begun.set()

    async with asyncio.timeout(60):
        saving = asyncio.ensure_future(save())
        await begun.wait()
        await erase(erasing, space, ADA)
        await other.save_snapshot(space, Snapshot(BOB, 1, "1", b"the heron"))
        saving.cancel()
        await asyncio.gather(saving, return_exceptions=True)
        assert await erasing.snapshot(space, BOB, "1") is None
        events = await erasing.read(space, BOB)
        assert [each.version for each in events] == list(range(1, len(events) + 1))
        assert WordsErased(ADA) in [each.event for each in events]
        async with contextlib.aclosing(tail):
            seen = [(await anext(tail)).recorded for _ in events]
        assert [each.version for each in seen] == [each.version for each in events]


async def test_a_follower_is_told_of_an_erasure(erasing: ErasableLog, space: Space) -> None:
    sent = append(ADA, MailSent("m", BOB, "the heron"))
    await erasing.commit(space, commit_of(sent, append(BOB, MailReceived("m", "the heron", ADA))))
    follow = cast("AsyncGenerator[Recorded]", erasing.follow(space, BOB, 1))
    async with asyncio.timeout(30), contextlib.aclosing(follow):
        told = asyncio.ensure_future(anext(follow))
        await erase(erasing, space, ADA)
        assert (await told).event == WordsErased(ADA)


async def test_a_shared_receipt_keeps_its_place_without_its_words(
    erasing: ErasableLog, space: Space
) -> None:
    command = CommandId("fork-1")
    both = commit_of(
        append(ADA, AgentStarted(name="heron"), command=command),
        append(BOB, AgentStarted(), command=command),
        command=command,
        message="Forked the heron.",
        digest="d1",
    )
    await erasing.commit(space, both)
    await erase(erasing, space, ADA)
    receipt = await erasing.receipt(space, command)
    assert receipt
    assert receipt == Receipt(command, ERASED, (EventRef(BOB, 1),))
    await erase(erasing, space, BOB)
    assert await erasing.receipt(space, command) is None


async def test_the_digest_of_a_command_with_mail_of_an_erased_agent_goes(
    erasing: ErasableLog, space: Space
) -> None:
    note = Note("mail", "the heron", source=ADA, fence="f00")
    sent = append(ADA, MailSent("m", BOB, "the heron"))
    received = append(BOB, MailReceived("m", "the heron", ADA))
    await erasing.commit(space, commit_of(sent, received))
    quoting, other = CommandId("quoting"), CommandId("other")
    turn = append(BOB, TurnStarted(None, (note,)), expected=1, command=quoting)
    await erasing.commit(space, commit_of(turn, command=quoting, message="It.", digest="d1"))
    renamed = append(BOB, AgentRenamed("Bob"), expected=2, command=other)
    await erasing.commit(space, commit_of(renamed, command=other, message="It.", digest="d2"))
    await erase(erasing, space, ADA)
    receipts = [await erasing.receipt(space, each) for each in (quoting, other)]
    assert [each and each.message for each in receipts] == ["It.", "It."]
    assert [each and each.digest for each in receipts] == ["", "d2"]


async def test_a_cursor_from_before_misses_and_repeats_nothing(
    erasing: ErasableLog, space: Space
) -> None:
    await start(erasing, space, ADA, "1", "2", "3")
    await start(erasing, space, BOB, "4")
    await start(erasing, space, EVE, "5", "6")
    seen = (await take(erasing.tail(space), 4))[-1].cursor
    await erase(erasing, space, ADA)
    left = await take(erasing.tail(space, seen), 2)
    assert [each.recorded.agent for each in left] == [EVE, EVE]
    assert [each.cursor for each in left] == [Cursor(5), Cursor(6)]
    everything = await take(erasing.tail(space), 3)
    assert [each.cursor for each in everything] == [Cursor(4), Cursor(5), Cursor(6)]
    inside = await take(erasing.tail(space, Cursor(2)), 1)
    assert inside[0].cursor == Cursor(4)


async def test_a_tail_that_is_open_goes_on(erasing: ErasableLog, space: Space) -> None:
    await start(erasing, space, BOB, "1")
    await start(erasing, space, ADA, "2", "3")
    tail = cast("AsyncGenerator[TailedEvent]", erasing.tail(space))
    async with asyncio.timeout(30), contextlib.aclosing(tail):
        assert [(await anext(tail)).cursor.events for _ in range(2)] == [1, 2]
        await erase(erasing, space, ADA)
        await start(erasing, space, EVE, "4")
        assert (await anext(tail)).cursor.events in (3, 4)  # 3 if the event was read already
        await start(erasing, space, AgentId("fay"), "5")
        found = await anext(tail)
        assert found.cursor.events in (4, 5)


async def test_the_place_of_the_newest_event_is_not_used_again(
    erasing: ErasableLog, space: Space
) -> None:
    await start(erasing, space, BOB, "1")
    await start(erasing, space, ADA, "2", "3")
    seen = (await take(erasing.tail(space), 3))[-1].cursor
    await erasing.search(space, "1")
    await erase(erasing, space, ADA)
    await grow(erasing, space, BOB, "the crane")
    (found,) = await take(erasing.tail(space, seen), 1)
    assert found.recorded.agent == BOB
    assert found.cursor == Cursor(4)
    assert len(await erasing.search(space, "crane")) == 1


async def test_a_process_that_still_has_it_can_neither_append_nor_save(
    erasing: ErasableLog, space: Space
) -> None:
    await start(erasing, space, ADA, "one")
    await erase(erasing, space, ADA)
    with pytest.raises(VersionConflict):
        await erasing.commit(space, commit_of(append(ADA, AgentStarted(), expected=1)))
    await erasing.save_snapshot(space, Snapshot(ADA, 1, "1", b"one"))
    assert await erasing.snapshot(space, ADA, "1") is None


async def test_an_interrupted_erasure_is_finished_later(
    erasing: ErasableLog, space: Space, open_log: OpenLog
) -> None:
    await start(erasing, space, ADA)
    await start(erasing, space, BOB, parent=ADA)
    record = Erasure("e1", 1, "human", "conversation")
    await erasing.begin_erasure(space, record, [ADA])
    await erasing.erase_agent(space, "e1", ADA)
    other = erasable(await open_log())
    (unfinished,) = await other.unfinished_erasures()
    assert {item.agent: item.deleted for item in unfinished.items} == {ADA: True, BOB: False}
    assert await resume_erasures(other) == 1
    assert await other.agents(space) == []
    (finished,) = await other.erasures(space)
    assert (finished.agents, finished.events) == (2, 2)
    assert await resume_erasures(other) == 0


async def test_a_space_is_erased_as_a_whole(erasing: ErasableLog, space: Space) -> None:
    other = Space(f"{space}-other")
    for each in (space, other):
        await start(erasing, each, ADA, "the heron", LONG)
        await start(erasing, each, BOB, "the heron", LONG, parent=ADA)
    assert len(await erasing.search(other, "heron")) == 2
    record = await Eraser(erasing, space).erase_space(by="human")
    assert (record.scope, record.agents) == ("space", 2)
    assert await erasing.search(space, "heron") == []
    assert len(await erasing.search(other, "heron")) == 2
    assert len(await erasing.read(other, ADA)) == 2
    await start(erasing, space, ADA, "anew")
    assert len(await erasing.search(space, "anew")) == 1


async def test_a_hold_is_kept_after_its_release(erasing: ErasableLog, space: Space) -> None:
    await erasing.add_hold(space, Hold("h1", 5, "human:ada", "agent", ADA, "case 42"))
    assert await erasing.release_hold(space, "h1", "human:bob", 6)
    assert not await erasing.release_hold(space, "h1", "human:bob", 7)
    assert not await erasing.release_hold(space, "nothing", "human:bob", 7)
    assert await erasing.holds(space) == [
        Hold("h1", 5, "human:ada", "agent", ADA, "case 42", 6, "human:bob")
    ]
    assert await erasing.holds(Space(f"{space}-other")) == []


async def test_agents_are_replaced_by_a_commit(erasing: ErasableLog, space: Space) -> None:
    await start(erasing, space, ADA, "the heron", LONG)
    await start(erasing, space, BOB, parent=ADA)
    stork = commit_of(append(ADA, AgentStarted(name="stork")))
    record = Erasure(f"replaces-{space}", 1, "human", "archive")
    await erasing.replace_agents(space, record, {ADA: 2, BOB: 1}, stork)
    [summary] = await erasing.agents(space)
    assert (summary.agent, summary.version) == (ADA, 1)
    [unfinished] = await erasing.unfinished_erasures()
    assert (unfinished.record.agents, {each.deleted for each in unfinished.items}) == (2, {True})
    assert await resume_erasures(erasing) == 1
    assert await erasing.search(space, "heron") == []
    await grow(erasing, space, ADA, "the crane")
    assert [hit.ref.agent for hit in await erasing.search(space, "crane")] == [ADA]


@pytest.mark.parametrize(
    "case", ["another version", "a child", "words that arrive", "an id that is taken"]
)
async def test_agents_that_were_used_are_not_replaced(
    case: str, erasing: ErasableLog, space: Space
) -> None:
    for agent in (ADA, EVE):
        await start(erasing, space, agent, "the heron")
    expected, new = {ADA: 1}, ADA
    match case:
        case "another version":
            await grow(erasing, space, ADA, "the crane")
        case "a child":
            await start(erasing, space, BOB, parent=ADA)
        case "words that arrive":
            words = LiveWords(1, CommandId("words"), (Text("arriving"),))
            assert await erasing.save_words(space, ADA, 1, words, None)
        case _:
            new = EVE
    before = (await erasing.agents(space), await erasing.read(space, ADA))
    with pytest.raises(VersionConflict):
        await erasing.replace_agents(
            *(space, Erasure(f"replaces-{space}", 1, "human", "archive"), expected),
            commit_of(append(new, AgentStarted(name="stork"))),
        )
    assert (await erasing.agents(space), await erasing.read(space, ADA)) == before
    assert await erasing.unfinished_erasures() == []


async def test_an_id_that_an_unfinished_erasure_names_can_be_erased_again(
    erasing: ErasableLog, space: Space
) -> None:
    first = Erasure(f"first-{space}", 1, "human", "conversation")
    await start(erasing, space, ADA, "the heron")
    await erasing.begin_erasure(space, first, [ADA])
    await erasing.erase_agent(space, first.id, ADA)
    await start(erasing, space, ADA, "the stork", "a new secret")
    record = await erase(erasing, space, ADA)
    assert (record.agents, record.events) == (1, 2)
    assert await erasing.agents(space) == []
    assert await erasing.search(space, "secret") == []
    [unfinished] = await erasing.unfinished_erasures()
    assert [each.deleted for each in unfinished.items] == [True]
    assert await resume_erasures(erasing) == 1


async def test_mail_goes_from_an_agent_whose_id_an_unfinished_erasure_names(
    erasing: ErasableLog, space: Space
) -> None:
    first = Erasure(f"first-{space}", 1, "human", "conversation")
    await start(erasing, space, BOB)
    await erasing.begin_erasure(space, first, [BOB])
    await erasing.erase_agent(space, first.id, BOB)
    sent = append(ADA, MailSent("m", BOB, "the heron"))
    received = append(BOB, MailReceived("m", "the heron", ADA))
    await erasing.commit(space, commit_of(sent, received))
    await erase(erasing, space, ADA)
    [mail, _] = [each.event for each in await erasing.read(space, BOB)]
    assert mail == MailReceived("m", ERASED, ADA)
    assert await resume_erasures(erasing) == 1


async def test_what_is_begun_in_a_space_while_it_is_erased_stays_whole(
    erasing: ErasableLog, space: Space
) -> None:
    record = Erasure(f"space-{space}", 1, "human", "space")
    await start(erasing, space, ADA, "the heron", LONG)
    await erasing.search(space, "heron")
    await erasing.begin_erasure(space, record, [ADA])
    await erasing.erase_agent(space, record.id, ADA)
    command = CommandId("payment-7")
    begun = append(EVE, AgentStarted(name="anew"), command=command)
    await erasing.commit(space, commit_of(begun, command=command, message="Paid."))
    cursor = await erasing.end(space)
    assert await resume_erasures(erasing) == 1
    assert await erasing.receipt(space, command) is not None
    assert await erasing.end(space) == cursor
    await grow(erasing, space, EVE, "the crane")
    [tailed] = await take(erasing.tail(space, cursor), 1)
    assert tailed.recorded.version == 2
    assert await erasing.search(space, "heron") == []


async def test_an_erasure_that_fails_does_not_keep_others_waiting(
    erasing: ErasableLog, space: Space
) -> None:
    async def fail_for_ada(space: Space, item: ErasureItem) -> None:
        if item.agent == ADA:
            raise OSError("The disk is away.")

    for number, agent in enumerate((ADA, BOB)):
        await start(erasing, space, agent)
        record = Erasure(f"{number}-{space}", number, "human", "conversation")
        await erasing.begin_erasure(space, record, [agent])
    with pytest.raises(OSError, match="disk is away"):
        await resume_erasures(erasing, ExternalStores((fail_for_ada,)))
    [unfinished] = await erasing.unfinished_erasures()
    assert [each.agent for each in unfinished.items] == [ADA]
    assert await erasing.agents(space) == []
    assert await resume_erasures(erasing) == 1


async def test_places_outside_are_cleared_although_another_process_finished_the_erasure(
    erasing: ErasableLog, space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    cleared: list[AgentId] = []

    async def clear(space: Space, item: ErasureItem) -> None:
        cleared.append(item.agent)

    before = erasing.erase_agent

    async def erase_agent(*args: Any) -> frozenset[AgentId]:
        monkeypatch.undo()
        assert await resume_erasures(erasing) == 1
        return await before(*args)

    await start(erasing, space, ADA)
    monkeypatch.setattr(erasing, "erase_agent", erase_agent)
    with contextlib.suppress(KeyError):  # the log in memory has no erasure any more
        await Eraser(erasing, space, ExternalStores((clear,))).erase([ADA], by="human")
        assert cleared == [ADA]
