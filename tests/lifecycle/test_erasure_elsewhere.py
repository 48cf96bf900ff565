"""Erasure reaches processes that have a receiver of erased mail in memory (law 14)."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

import sapwood
from sapwood import Agent, Sapwood
from sapwood.conversation.open_timeline import OpenTimeline
from sapwood.core.erasure import ERASED
from sapwood.core.events import WordsErased
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
