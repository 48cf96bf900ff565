"""Backups while a writer appends: restored elsewhere, they can be read, replayed and continued."""

import asyncio
import itertools
import os
import shutil
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import sapwood
from sapwood import Agent, Sapwood
from sapwood.app.maintenance import back_up
from sapwood.app.removal import eraser_for, find_again
from sapwood.config.folders import erasures_file
from sapwood.core.erasure import ERASED
from sapwood.core.errors import LogError
from sapwood.core.evolve import evolve
from sapwood.core.state import State
from sapwood.lifecycle.erasure import read_erased
from tools.postgres import throwaway

LONG = "a long answer about herons " * 200


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAPWOOD_DATA", str(tmp_path / "data"))


@asynccontextmanager
async def writing(agent: Agent, done: list[int]) -> AsyncGenerator[None]:
    """Appends turns, without a pause, until the end of the block."""

    async def write() -> None:
        for number in itertools.count():
            await agent.record(f"Question {number} about herons?", f"{number}: {LONG}")
            done.append(number)

    task = asyncio.ensure_future(write())
    try:
        while len(done) < 3:  # noqa: ASYNC110 (the writer has no event to wait for)
            await asyncio.sleep(0.01)
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def require_usable(db: Sapwood, name: str, minimum: int, maximum: int) -> None:
    """The agent can be read, searched, folded, replayed and continued."""
    agent = await db.find(name)
    events = await agent.events()
    turns = [each for each in events if each.kind == "turn.recorded"]
    assert minimum <= len(turns) <= maximum
    assert [each.version for each in events] == list(range(1, len(events) + 1))
    state = State(agent.id)
    for recorded in events:
        state = evolve(state, recorded)
    assert state == await agent.state()
    assert LONG in str(await agent.request())
    assert len(await db.search("herons", agents=[agent.id], limit=1_000)) >= minimum
    cursor = await db.now()
    await agent.record("Does it go on?", "It does.")
    assert len(await agent.events()) == len(events) + 1
    async for each in db.tail(cursor):
        assert each.recorded.version == len(events) + 1
        break


async def test_a_file_is_copied_while_a_writer_appends(tmp_path: Path) -> None:
    source, copy, done = tmp_path / "log.db", tmp_path / "copy.db", list[int]()
    async with sapwood.open(source) as db:
        agent = await db.start("demo")
        async with writing(agent, done):
            minimum = len(done)
            size = await back_up(str(source), copy)
            maximum = len(done) + 1
        before = await agent.events()
        assert size == copy.stat().st_size
    assert copy.stat().st_mode & 0o777 == 0o600
    async with sapwood.open(copy) as restored:
        found = await (await restored.find("demo")).events()
        assert found == before[: len(found)]
        await require_usable(restored, "demo", minimum, maximum)
    async with sapwood.open(source) as db:
        after = await (await db.find("demo")).events()
        assert after[: len(before)] == before
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".new")]


async def test_a_backup_never_replaces_a_file(tmp_path: Path) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        await db.start("demo")
        (tmp_path / "copy.db").write_bytes(b"precious")
        with pytest.raises(LogError, match="exists"):
            await back_up(str(tmp_path / "log.db"), tmp_path / "copy.db")
        with pytest.raises(LogError, match="cannot be written"):
            await back_up(str(tmp_path / "log.db"), tmp_path / "no folder" / "copy.db")
    with pytest.raises(LogError, match="does not exist"):
        await back_up(str(tmp_path / "none.db"), tmp_path / "other.db")
    assert (tmp_path / "copy.db").read_bytes() == b"precious"
    assert not (tmp_path / "other.db").exists()


def programs() -> str:
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return os.pathsep.join([*map(str, folders), os.environ["PATH"]])


def pg_restore(dump: Path, address: str) -> None:
    program = shutil.which("pg_restore", path=programs())
    assert program
    subprocess.run([program, f"--dbname={address}", str(dump)], check=True, capture_output=True)


@pytest.mark.night
async def test_a_server_is_dumped_while_a_writer_appends(tmp_path: Path) -> None:
    dump, done = tmp_path / "team.dump", list[int]()
    with throwaway() as source, throwaway() as target:
        async with sapwood.open(source) as db:
            agent = await db.start("demo")
            async with writing(agent, done):
                minimum = len(done)
                await back_up(source, dump)
                maximum = len(done) + 1
            before = await agent.events()
        assert dump.stat().st_mode & 0o777 == 0o600
        await asyncio.to_thread(pg_restore, dump, target)
        async with sapwood.open(target) as restored:
            found = await (await restored.find("demo")).events()
            assert found == before[: len(found)]
            await require_usable(restored, "demo", minimum, maximum)
        with pytest.raises(LogError, match="pg_dump failed"):
            await back_up("postgresql://localhost:1/none", tmp_path / "other.dump")
    assert os.listdir(tmp_path) == ["team.dump"]


async def mailed(db: Sapwood) -> tuple[Agent, Agent]:
    sender, receiver = await db.start("sender"), await db.start("receiver")
    await sender.record("There are seven willows.", LONG)
    await sender.run_command(f"/send {receiver.id} The heron nests in the reeds.")
    await sender.run_command("/fork -- Count the storks.")
    return sender, receiver


async def test_what_was_erased_since_a_backup_is_erased_again(tmp_path: Path) -> None:
    source, copy = tmp_path / "log.db", tmp_path / "copy.db"
    async with sapwood.open(source, space="tenant-7") as db:
        sender, receiver = await mailed(db)
        await back_up(str(source), copy)
        await sender.erase()
    listed = erasures_file().read_bytes()
    assert sender.id.encode() not in listed
    assert len(listed.splitlines()) == 2
    async with sapwood.open(copy) as db:
        found = await find_again(db.connection, [erasures_file()])
        [(space, agents)] = found.items()
        assert space == "tenant-7"
        assert sender.id in {each.agent for each in agents}
        tenant = db.space(space)
        ids = [each.agent for each in agents]
        await eraser_for(tenant.connection).erase(ids, by="human:ada")
        assert [each.agent for each in await tenant.agents()] == [receiver.id]
        assert [letter.text for letter in await (await tenant.get(receiver.id)).mail()] == [ERASED]
        assert await find_again(db.connection, [erasures_file()]) == {}
    assert b"reeds" not in copy.read_bytes()
    assert b"willows" not in copy.read_bytes()


async def test_a_new_agent_with_the_id_of_an_erased_one_stays(tmp_path: Path) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        await (await db.start("demo", id="chat-42")).erase()
        await db.start("demo", id="chat-42")
        assert await find_again(db.connection, [erasures_file()]) == {}


def test_a_list_that_is_none_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "list"
    file.write_bytes(b'{"agent": "aa", "space": "local", "at": 1}\nnot JSON\n')
    with pytest.raises(LogError, match="Line 2"):
        read_erased([file])
    file.write_bytes(b'{"agent": "aa", "space": "local", "at": 1}\n{"agent": "b')
    assert read_erased([file]) == {"local": {"aa": 1}}
