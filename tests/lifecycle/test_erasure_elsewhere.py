"""Erasure reaches processes that have a receiver of erased mail in memory (law 14)."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest
from msgspec import structs

import sapwood
from sapwood import Agent, Sapwood
from sapwood.conversation import open_timeline
from sapwood.conversation.answers import Prompted
from sapwood.conversation.open_timeline import OpenTimeline
from sapwood.conversation.script import CommandStep
from sapwood.conversation.service import ConversationService
from sapwood.core.command_table import TABLE
from sapwood.core.commands import Fork
from sapwood.core.content import PromptPart
from sapwood.core.erasure import ERASED
from sapwood.core.events import WordsErased
from sapwood.core.ids import AgentId
from sapwood.core.state import State
from sapwood.turns.clock_and_ids import command_meta
from sapwood.turns.open_agent import SCHEMA, snapshot_of

SECRET = "the heron nests in the reeds"


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "log.db")
    return request.getfixturevalue("postgres_dsn")


@pytest.fixture
async def db(address: str, tmp_path: Path) -> AsyncGenerator[Sapwood]:
    async with sapwood.open(address, space=f"elsewhere-{tmp_path.name}") as opened:
        yield opened


@pytest.fixture
async def other(address: str, db: Sapwood) -> AsyncGenerator[Sapwood]:
    async with sapwood.open(address, space=db.connection.space) as opened:
        yield opened


async def mailed(db: Sapwood) -> tuple[Agent, Agent]:
    sender, receiver = await db.start("sender"), await db.start("receiver")
    await sender.run_command(f"/send {receiver.id} {SECRET}")
    return sender, receiver


async def everything(agent: Agent) -> str:
    return f"{await agent.request()} {await agent.state()} {await agent.mail()}"


async def test_an_open_receiver_does_not_show_erased_mail(db: Sapwood, other: Sapwood) -> None:
    sender, receiver = await mailed(db)
    elsewhere = await other.get(receiver.id)
    await elsewhere.run_command("/check-mail")
    await elsewhere.record("Look at the mail.", "I do.")
    assert SECRET in await everything(elsewhere)
    await sender.erase()
    assert SECRET not in await everything(elsewhere)
    assert ERASED in await everything(elsewhere)


async def test_an_open_receiver_does_not_send_erased_mail(db: Sapwood, other: Sapwood) -> None:
    """A command is decided on the state in memory, without reading first."""
    sender, receiver = await mailed(db)
    elsewhere = await other.get(receiver.id)
    assert SECRET in await everything(elsewhere)
    await sender.erase()
    await elsewhere.run_command("/check-mail")
    await elsewhere.record("Look at the mail.", "I do.")
    assert SECRET not in str(await elsewhere.events())
    assert SECRET not in str(await elsewhere.request())


async def test_a_child_of_a_receiver_does_not_show_erased_mail(db: Sapwood, other: Sapwood) -> None:
    sender, receiver = await mailed(db)
    await receiver.run_command("/check-mail")
    await receiver.record("Look at the mail.", "I do.")
    await receiver.run_command("/fork -- Go on.")
    [summary] = await db.agents(parent=receiver.id)
    child = await other.get(summary.agent)
    assert SECRET in str(await child.request())
    await sender.erase()
    assert SECRET not in str(await child.request())


async def test_a_child_that_took_the_prompt_of_an_open_turn_loses_the_mail_in_it(
    db: Sapwood,
) -> None:
    sender, receiver = await mailed(db)
    await receiver.run_command("/check-mail")
    async with receiver.turn("Look at the mail.") as turn:
        await receiver.run_command("/fork -- Go on.")
        await turn.reply("I do.")
    [summary] = await db.agents(parent=receiver.id)
    child = await db.get(summary.agent)
    assert SECRET in str(await child.events())
    await sender.erase()
    assert SECRET not in str(await child.events())


@pytest.mark.parametrize("inherited", [False, True])
async def test_mail_that_is_erased_while_hooks_see_a_prompt_is_not_asked_again(
    db: Sapwood, other: Sapwood, inherited: bool
) -> None:
    sender, agent = await mailed(db)
    await agent.run_command("/check-mail")
    await agent.record("Look at the mail.", "I do.")
    if inherited:
        agent = await agent.fork()

    async def erase_meanwhile(state: State, prompt: Sequence[PromptPart]) -> None:
        await (await other.get(sender.id)).erase()

    services = structs.replace(agent.service.services, check_prompt=erase_meanwhile)
    answer = await ConversationService(services).answer(agent.id, CommandStep(TABLE["retry"]))
    assert isinstance(answer, Prompted)
    assert SECRET not in str(await agent.events())
    assert SECRET not in await everything(agent)
    assert ERASED in await everything(agent)


async def test_a_quotation_of_a_turn_with_erased_mail_is_erased(db: Sapwood) -> None:
    sender, receiver = await mailed(db)
    await receiver.run_command("/check-mail")
    await receiver.record("Look at the mail.", "I do.")
    reader = await db.start("reader")
    await reader.run_command(f"/load {receiver.id}/1")
    assert SECRET in str(await reader.events())
    await sender.erase()
    assert SECRET not in str(await reader.events())


async def test_rows_that_stay_open_are_read_again(db: Sapwood, other: Sapwood) -> None:
    sender, receiver = await mailed(db)
    rows = OpenTimeline(other.connection, receiver.id)
    before = await rows.page()
    assert SECRET in str(before.rows)
    await sender.erase()
    after = await rows.page()
    assert after.moved != before.moved  # a browser gets all rows again
    shown = str(after.rows)
    assert SECRET not in shown
    assert f"{sender.id} was erased" in shown


async def test_an_outdated_snapshot_is_not_stored(db: Sapwood, other: Sapwood) -> None:
    sender, receiver = await mailed(db)
    connection = other.connection
    seen = (await connection.dispatcher.open(receiver.id)).state
    assert SECRET.encode() in snapshot_of(seen).data
    await sender.erase()
    await connection.log.save_snapshot(connection.space, snapshot_of(seen))
    assert await connection.log.snapshot(connection.space, receiver.id, SCHEMA) is None


async def test_the_receiver_counts_as_unused(db: Sapwood) -> None:
    """Else an erasure would keep the conversations of others from their retention."""
    sender, receiver = await mailed(db)
    before = (await db.get(receiver.id)).id
    updated = (await receiver.state()).updated
    await sender.erase()
    assert (await receiver.events())[-1].event == WordsErased(sender.id)
    assert (await receiver.state()).updated == updated
    [summary] = [each for each in await db.agents() if each.agent == before]
    assert summary.updated == updated
    assert summary.version == len(await receiver.events())


async def test_another_process_forgets_erased_mail(db: Sapwood, address: str) -> None:
    """It neither shows it, nor brings it back by a snapshot, nor by a tool result on its way."""
    sender, receiver = await mailed(db)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.lifecycle.receiver_process"),
        *(address, db.connection.space, receiver.id),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout
    async with asyncio.timeout(120):
        assert await process.stdout.readline() == b"ready\n"
        assert SECRET in await everything(receiver) or SECRET in str(await receiver.events())
        await sender.erase()
        shown, _ = await process.communicate(b"go on\n")
    assert process.returncode == 0
    assert ERASED in shown.decode()
    assert SECRET not in shown.decode()
    assert SECRET not in str(await receiver.events())
    snapshot = await db.connection.log.snapshot(db.connection.space, receiver.id, SCHEMA)
    assert snapshot is None or SECRET.encode() not in snapshot.data
    if "://" not in address:
        for file in Path(address).parent.glob("log.db*"):
            assert SECRET.encode() not in file.read_bytes()


async def begun(db: Sapwood, words: str, turns: int) -> Agent:
    """A conversation with the id that a program chose for it."""
    agent = await db.start("chat", id="chat-42", pins={"note": words})
    for number in range(turns):
        await agent.record(f"{words} {number}", "Yes.")
    return agent


@pytest.mark.parametrize("turns", [1, 2, 5])
async def test_an_id_that_is_used_again_brings_nothing_of_the_erased_agent_back(
    db: Sapwood, other: Sapwood, turns: int
) -> None:
    old = await begun(db, SECRET, 2)
    elsewhere = await other.get(old.id)
    assert SECRET in await everything(elsewhere)
    await old.erase()
    new = await begun(db, "An oak", turns)
    assert await everything(elsewhere) == await everything(new)
    assert SECRET not in await everything(elsewhere)


async def test_a_command_on_an_erased_agent_does_not_change_the_one_that_has_its_id(
    db: Sapwood, other: Sapwood
) -> None:
    """Both are at the same version, and the command is decided on the state in memory."""
    old = await begun(db, SECRET, 2)
    elsewhere = await other.get(old.id)
    await elsewhere.record("Do you remember?", "I do.")
    await old.erase()
    new = await begun(db, "An oak", 3)
    await elsewhere.record("And now?", "I do not.")
    assert SECRET not in await everything(elsewhere) + str(await new.events())
    assert await everything(elsewhere) == await everything(new)
    [listed] = await db.agents()
    assert listed.created == (await new.state()).created


async def test_a_snapshot_of_an_erased_agent_is_not_used_for_the_one_that_has_its_id(
    db: Sapwood, other: Sapwood
) -> None:
    old = await begun(db, SECRET, 2)
    late = snapshot_of(await old.state())
    await old.erase()
    new = await begun(db, "An oak", 4)
    await db.connection.log.save_snapshot(db.connection.space, late)
    assert SECRET not in await everything(await other.get(new.id))


async def test_the_account_of_a_family_is_not_that_of_an_erased_child_with_the_same_id(
    db: Sapwood, other: Sapwood
) -> None:
    root = await db.start("root")
    running = list[int]()
    for ends in (True, False):
        fork = Fork(root.id, AgentId("chat-42"))
        await db.connection.dispatcher.dispatch(fork, command_meta())
        child = await db.get("chat-42")
        await (child.kill() if ends else child.rename("oak"))
        running.append((await other.connection.dispatcher.account(root.id)).agents)
        await child.erase()
    assert running == [1, 2]


async def test_rows_that_stay_open_are_those_of_a_new_conversation_with_the_same_id(
    db: Sapwood, other: Sapwood
) -> None:
    first = await db.start("chat", id="chat-42")
    await first.record(SECRET, "I will remember it.")
    await first.record("Two.", "Zwei.")
    rows = OpenTimeline(other.connection, first.id)
    before = await rows.page()
    assert SECRET in str(before.rows)
    await first.erase()
    second = await db.start("chat", id="chat-42")
    await second.record("A heron.", "Blue.")
    await second.record("A stork.", "White.")
    after = await rows.page()
    assert after.moved != before.moved  # a browser gets all rows again
    assert str(after.rows) == str((await OpenTimeline(other.connection, first.id).page()).rows)
    assert SECRET not in str(after.rows)


async def test_the_beginning_of_an_erased_conversation_does_not_become_rows_of_a_new_one(
    db: Sapwood, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_timeline, "LONG_CONVERSATION", 5)
    first = await db.start("chat", id="chat-42")
    for _ in range(5):
        await first.record(SECRET, "I will remember it.")
    rows, read_whole = OpenTimeline(db.connection, first.id), open_timeline.read_timeline
    await rows.page()

    async def read_before_the_erasure(*arguments: object) -> object:
        whole = await read_whole(*arguments)  # pyright: ignore[reportArgumentType]
        monkeypatch.setattr(open_timeline, "read_timeline", read_whole)
        await first.erase()
        await (await db.start("chat", id="chat-42")).record("A heron.", "Blue.")
        await rows.page()
        return whole

    monkeypatch.setattr(open_timeline, "read_timeline", read_before_the_erasure)
    await rows.wait_until_complete()
    assert SECRET not in str((await rows.page()).rows)
