"""Archives: a conversation moves to object storage and comes back as it was."""

from collections.abc import Generator
from pathlib import Path

import pytest

import sapwood
from sapwood import Agent, Sapwood
from sapwood.app.removal import archive_agent, restore_agent
from sapwood.conversation.open_timeline import OpenTimeline
from sapwood.core.erasure import ERASED
from sapwood.core.errors import LogError, RefusedError
from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId, Space
from sapwood.lifecycle.archive import archive_address, read_archive
from sapwood.lifecycle.erasable_log import erasable
from sapwood.lifecycle.retention import RetentionRule, add_hold, idle_conversations
from tools.s3_server import BUCKET, S3Unavailable, s3_server

pytest.importorskip("obstore", reason="the extra 'archive' is not installed")

LONG = "a long answer about herons " * 200


async def _conversation(db: Sapwood) -> Agent:
    agent = await db.start("birds", owner="user-42", labels=["vip"])
    await agent.record("Where do herons nest?", LONG)
    await agent.run_command("/fork -- Count the storks.")
    [child] = await db.agents(parent=agent.id)
    await (await db.get(child.agent)).run_command("/send parent Seven storks.")
    return agent


async def _everything(db: Sapwood) -> dict[str, object]:
    found: dict[str, object] = {}
    for summary in await db.agents(limit=1_000):
        agent = await db.get(summary.agent)
        found[summary.agent] = (summary, await agent.events(), await agent.request())
    return found


@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_a_conversation_comes_back_as_it_was(store: str, tmp_path: Path) -> None:
    place = f"file://{tmp_path / 'objects'}"
    (tmp_path / "objects").mkdir()
    address = ":memory:" if store == "memory" else tmp_path / "log.db"
    async with sapwood.open(address) as db:
        agent = await _conversation(db)
        before = await _everything(db)
        archived = await archive_agent(db.connection, agent.id, place, by="human:ada")
        assert (archived.agents, len(list((tmp_path / "objects").rglob("*.gz")))) == (2, 1)
        [stub] = await db.agents()
        assert (stub.agent, stub.name, stub.status) == (agent.id, "birds", "archived")
        assert stub.tags
        assert (stub.tags.owner, stub.tags.labels) == ("user-42", ("vip",))
        assert archive_address(stub) == archived.address
        assert [hit.ref.agent for hit in await db.search("herons nest")] == [agent.id]
        assert await db.search("storks", agents=[agent.id]) != []
        assert len(await agent.events()) < 10
        assert await restore_agent(db.connection, agent.id, by="human:ada") == 2
        assert await _everything(db) == before
        with pytest.raises(LogError, match="not archived"):
            await restore_agent(db.connection, agent.id, by="human:ada")


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    """The address of a bucket on a real S3-compatible server."""
    try:
        with s3_server() as variables:
            for name, value in variables.items():
                monkeypatch.setenv(name, value)
            yield f"s3://{BUCKET}/archive"
    except S3Unavailable as reason:
        pytest.skip(str(reason))


@pytest.mark.night
async def test_a_conversation_comes_back_from_s3_and_its_object_is_erased(
    s3: str, tmp_path: Path
) -> None:
    async with sapwood.open(tmp_path / "log.db", space="a tenant") as db:
        agent = await _conversation(db)
        before = await _everything(db)
        await archive_agent(db.connection, agent.id, s3, by="human:ada")
        assert len(await db.agents()) == 1
        await restore_agent(db.connection, agent.id, by="human:ada")
        assert await _everything(db) == before
        archived = await archive_agent(db.connection, agent.id, s3, by="human:ada")
        log, space = erasable(db.connection.log), db.connection.space
        assert len(await read_archive(log, space, archived.address)) == 2
        await agent.erase()
        with pytest.raises(LogError, match="cannot be read"):
            await read_archive(log, space, archived.address)


async def test_an_archive_that_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    async with sapwood.open(":memory:") as db:
        agent = await _conversation(db)
        before = await _everything(db)
        with pytest.raises(LogError, match="Nothing was archived"):
            await archive_agent(db.connection, agent.id, f"file://{tmp_path}/none", by="human")
        assert await _everything(db) == before


async def test_a_turn_that_is_added_while_the_object_is_written_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        agent = await _conversation(db)
        log = db.connection.log
        before, said = log.read, list[str]()

        async def read(space: Space, of: AgentId, *place: int) -> list[Recorded]:
            found = await before(space, of, *place)
            if of == agent.id and not said:  # what the object will have
                said.append("One more thing.")
                await agent.record(said[0], "Yes?")
            return found

        monkeypatch.setattr(log, "read", read)
        with pytest.raises(RefusedError, match="was used while"):
            await archive_agent(db.connection, agent.id, f"file://{tmp_path}", by="human")
        assert not _objects(tmp_path)
        assert "One more thing." in str(await agent.request())
        await agent.record("And another.", "Go on.")


async def test_erasing_a_stub_deletes_its_object(tmp_path: Path) -> None:
    objects = tmp_path / "objects"
    objects.mkdir()
    async with sapwood.open(tmp_path / "log.db") as db:
        agent = await _conversation(db)
        await archive_agent(db.connection, agent.id, f"file://{objects}", by="human")
        assert list(objects.rglob("*.gz"))
        record = await agent.erase()
        assert not list(objects.rglob("*.gz"))
        assert (record.agents, await db.agents()) == (2, [])


async def test_mail_of_an_archived_conversation_is_replaced_when_it_is_erased(
    tmp_path: Path,
) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        agent, friend = await _conversation(db), await db.start("friend")
        await agent.run_command(f"/send {friend.id} The heron is in the reeds.")
        await archive_agent(db.connection, agent.id, f"file://{tmp_path}", by="human")
        assert [letter.text for letter in await friend.mail()] == ["The heron is in the reeds."]
        await agent.erase()
        assert [letter.text for letter in await friend.mail()] == [ERASED]
        assert await db.search("reeds") == []


async def test_an_interrupted_erasure_of_an_archived_conversation_leaves_nothing(
    tmp_path: Path,
) -> None:
    objects = tmp_path / "objects"
    objects.mkdir()
    async with sapwood.open(tmp_path / "log.db") as db:
        agent, friend = await _conversation(db), await db.start("friend")
        await agent.run_command(f"/send {friend.id} The heron is in the reeds.")
        await archive_agent(db.connection, agent.id, f"file://{objects}", by="human")
        log, record = erasable(db.connection.log), sapwood.Erasure("e1", 1, "human", "owner")
        await log.begin_erasure(db.connection.space, record, [agent.id])
    async with sapwood.open(tmp_path / "log.db") as db:
        assert not list(objects.rglob("*.gz"))
        assert [summary.agent for summary in await db.agents()] == [friend.id]
        assert [letter.text for letter in await (await db.get(friend.id)).mail()] == [ERASED]


def _objects(folder: Path) -> list[Path]:
    return list(folder.rglob("*.gz"))


def _delete_objects(folder: Path) -> None:
    for file in _objects(folder):
        file.unlink()


async def test_a_stub_whose_object_is_gone_can_be_erased(tmp_path: Path) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        agent = await _conversation(db)
        await archive_agent(db.connection, agent.id, f"file://{tmp_path}", by="human")
        _delete_objects(tmp_path)
        assert (await agent.erase()).agents == 1
        assert await db.agents() == []


async def test_a_hold_forbids_an_archive(tmp_path: Path) -> None:
    async with sapwood.open(":memory:") as db:
        agent = await _conversation(db)
        await add_hold(
            erasable(db.connection.log), db.connection.space, "space", "", by="human:judge"
        )
        with pytest.raises(RefusedError):
            await archive_agent(db.connection, agent.id, f"file://{tmp_path}", by="human")


async def test_a_rule_finds_what_is_idle_by_label_and_age() -> None:
    async with sapwood.open(":memory:") as db:
        log, space = erasable(db.connection.log), db.connection.space
        agent = await _conversation(db)
        other = await db.start("plain")
        await other.record("Hello!", "Hello.")
        assert await idle_conversations(log, space, RetentionRule(days=1)) == []
        every = await idle_conversations(log, space, RetentionRule(days=0))
        assert [each.root.agent for each in every] == [other.id]  # the child has an open turn
        [child] = await db.agents(parent=agent.id)
        await (await db.get(child.agent)).kill()
        labelled = await idle_conversations(log, space, RetentionRule(days=0, label="vip"))
        assert [(each.root.agent, each.agents) for each in labelled] == [(agent.id, 2)]
        await add_hold(log, space, "agent", child.agent, by="human:judge")
        [held] = await idle_conversations(log, space, RetentionRule(days=0, owner="user-42"))
        assert held.held


async def test_open_rows_follow_a_conversation_into_the_archive_and_back(tmp_path: Path) -> None:
    (tmp_path / "objects").mkdir()
    async with sapwood.open(tmp_path / "log.db") as db:
        agent = await db.start("birds")
        for number in range(8):
            await agent.record(f"Question {number}?", f"Answer {number}.")
        connection = db.connection
        rows = OpenTimeline(connection, agent.id)
        before = (await rows.page()).rows
        await archive_agent(connection, agent.id, f"file://{tmp_path / 'objects'}", by="human:ada")
        stub = (await rows.page()).rows
        assert str(stub) == str((await OpenTimeline(connection, agent.id).page()).rows)
        await restore_agent(connection, agent.id, by="human:ada")
        assert str((await rows.page()).rows) == str(before)
