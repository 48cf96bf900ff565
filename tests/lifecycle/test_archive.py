"""Archives: a conversation moves to object storage and comes back as it was."""

import asyncio
import gzip
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

import sapwood
from sapwood import Agent, Sapwood
from sapwood.app.conversation_service import offline_service
from sapwood.app.removal import archive_agent, restore_agent
from sapwood.config.config_file import Config
from sapwood.config.folders import erasures_file
from sapwood.conversation.open_timeline import OpenTimeline
from sapwood.core.erasure import ARCHIVE, ARCHIVE_SOURCES, ERASED
from sapwood.core.errors import LogError, RefusedError
from sapwood.core.events import SYSTEM, Recorded, WordsErased
from sapwood.core.ids import AgentId, Space
from sapwood.core.tags import Tags, entries_of
from sapwood.lifecycle.archive import (
    _write,  # pyright: ignore[reportPrivateUsage]
    archive_address,
    delete_object,
    read_archive,
)
from sapwood.lifecycle.erasable_log import erasable
from sapwood.lifecycle.erasure import id_hash, read_erased
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


@pytest.mark.parametrize("store", ["memory", "sqlite", "postgres"])
async def test_a_conversation_comes_back_as_it_was(
    store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = f"file://{tmp_path / 'objects'}"
    (tmp_path / "objects").mkdir()
    address = {"memory": ":memory:", "sqlite": str(tmp_path / "log.db")}.get(store)
    address = address or request.getfixturevalue("postgres_dsn")
    async with sapwood.open(address, space=tmp_path.name) as db:
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


async def test_an_archive_that_a_new_hold_forbids_leaves_no_object(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        agent = await _conversation(db)
        log, space = erasable(db.connection.log), db.connection.space

        async def write(place: str, name: str, data: bytes) -> None:
            await before(place, name, data)
            await add_hold(log, space, "agent", agent.id, by="human:judge")

        before = _write
        monkeypatch.setattr("sapwood.lifecycle.archive._write", write)
        with pytest.raises(RefusedError, match="legal hold"):
            await agent.archive_to(f"file://{tmp_path}")
        assert not _objects(tmp_path)


@pytest.mark.parametrize("is_stored", [False, True], ids=["refused", "answer lost"])
async def test_an_archive_has_an_object_if_and_only_if_the_log_names_it(
    is_stored: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        agent, log = await _conversation(db), erasable(db.connection.log)
        before, replace = await _everything(db), log.replace_agents

        async def fail(*args: Any) -> None:
            if is_stored:
                await replace(*args)
            raise LogError("The database is full.")

        with monkeypatch.context() as patch:
            patch.setattr(log, "replace_agents", fail)
            if is_stored:
                await agent.archive_to(f"file://{tmp_path}")
            else:
                with pytest.raises(LogError, match="is full"):
                    await agent.archive_to(f"file://{tmp_path}")
        assert len(_objects(tmp_path)) == is_stored
        if is_stored:
            await db.restore(agent.id)
        assert await _everything(db) == before


async def test_an_archive_that_is_cancelled_leaves_no_object_without_a_stub(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        agent, log = await _conversation(db), erasable(db.connection.log)
        reached, refuse = asyncio.Event(), asyncio.Event()
        deleted = asyncio.Event()

        async def wait(*args: Any) -> None:
            reached.set()
            await refuse.wait()
            raise LogError("The database is full.")

        async def delete(address: str) -> None:
            await before(address)
            deleted.set()

        before = delete_object
        monkeypatch.setattr(log, "replace_agents", wait)
        monkeypatch.setattr("sapwood.lifecycle.archive.delete_object", delete)
        archiving = asyncio.create_task(agent.archive_to(f"file://{tmp_path}"))
        await reached.wait()
        archiving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await archiving
        refuse.set()
        await asyncio.wait_for(deleted.wait(), 10)
        assert not _objects(tmp_path)


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


async def test_an_address_that_a_user_wrote_is_refused(tmp_path: Path) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        with pytest.raises(RefusedError, match="belongs to Sapwood"):
            await db.start(metadata={ARCHIVE: "file:///victim"})
        agent = await _conversation(db)
        with pytest.raises(RefusedError, match="belongs to Sapwood"):
            await agent.label(metadata={ARCHIVE: "file:///victim"})
        await archive_agent(db.connection, agent.id, f"file://{tmp_path}", by="human")
        with pytest.raises(RefusedError, match="belongs to Sapwood"):
            await agent.label(metadata={ARCHIVE: ""})
        with pytest.raises(RefusedError, match="belongs to Sapwood"):
            await agent.label(ARCHIVE_SOURCES)
        await restore_agent(db.connection, agent.id, by="human")


async def _written_by_an_earlier_version(db: Sapwood, name: str, address: str) -> Agent:
    tags = Tags(metadata=entries_of({ARCHIVE: address}))
    service = offline_service(db.connection, Config())
    return await db.get(await service.start(agent=AgentId(name), tags=tags, actor=SYSTEM))


async def test_an_address_of_another_space_is_neither_read_nor_deleted(tmp_path: Path) -> None:
    async with sapwood.open(tmp_path / "log.db", space="tenant-a") as db:
        agent, thief = await _conversation(db), db.space("tenant-b")
        archived = await archive_agent(db.connection, agent.id, f"file://{tmp_path}", by="human")
        stub = await _written_by_an_earlier_version(thief, agent.id, archived.address)
        with pytest.raises(LogError, match="not archived"):
            await thief.restore(stub.id)
        await stub.erase()
        await restore_agent(db.connection, agent.id, by="human")


@pytest.mark.parametrize("name", ["photo.jpg", "local/heron-photo.jpg", "local/heron"])
async def test_a_file_that_is_no_archive_is_not_deleted(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("a picture")
    async with sapwood.open(tmp_path / "log.db") as db:
        agent = await _written_by_an_earlier_version(db, "heron", f"file://{file}")
        await agent.erase()
        assert file.exists()


async def test_an_address_that_cannot_be_read_does_not_forbid_an_erasure(tmp_path: Path) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        await db.start(owner="ada")
        await _written_by_an_earlier_version(db, "x", "x")
        assert (await db.erase_space()).agents == 2
        assert await db.agents() == []


async def test_a_conversation_with_all_the_metadata_it_may_have_is_archived(
    tmp_path: Path,
) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        metadata = {f"name {number}": "value" for number in range(32)}
        agent = await db.start(metadata=metadata)
        await agent.record("Hello.", "Hello.")
        place = tmp_path.joinpath(*["n" * 200] * 5)
        place.mkdir(parents=True)
        await agent.archive_to(f"file://{place}")
        restored = await db.restore(agent.id)
        [summary] = await db.agents()
        assert (summary.metadata, len(await restored.events())) == (metadata, 2)


async def test_a_conversation_whose_stub_is_refused_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        agent = await _conversation(db)
        before = await _everything(db)
        monkeypatch.setattr("sapwood.core.decide.agents.LABELS_LIMIT", 0)
        with pytest.raises(RefusedError, match="labels"):
            await agent.archive_to(f"file://{tmp_path}")
        monkeypatch.undo()
        assert await _everything(db) == before
        assert not _objects(tmp_path)


async def test_of_two_who_archive_a_conversation_at_once_one_does(tmp_path: Path) -> None:
    path, place = tmp_path / "log.db", f"file://{tmp_path}"
    async with sapwood.open(path) as db, sapwood.open(path) as other:
        agent = await _conversation(db)
        before = await _everything(db)
        done = await asyncio.gather(
            agent.archive_to(place),
            (await other.get(agent.id)).archive_to(place),
            return_exceptions=True,
        )
        [refused] = [each for each in done if isinstance(each, BaseException)]
        assert isinstance(refused, RefusedError)
        await db.restore(agent.id)
        assert await _everything(db) == before


async def test_a_stub_is_not_archived_again(tmp_path: Path) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        agent = await _conversation(db)
        before = await _everything(db)
        await agent.archive_to(f"file://{tmp_path}")
        with pytest.raises(RefusedError, match="is in object storage"):
            await agent.archive_to(f"file://{tmp_path}")
        await db.restore(agent.id)
        assert await _everything(db) == before


async def test_a_reply_that_comes_while_a_conversation_is_archived_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        agent = await _conversation(db)
        [child] = await db.agents(parent=agent.id)
        log = erasable(db.connection.log)
        before = log.replace_agents

        async def replace(*args: Any) -> None:
            await (await db.get(child.agent)).run_command("/send parent Eight storks.")
            await before(*args)

        monkeypatch.setattr(log, "replace_agents", replace)
        with pytest.raises(RefusedError, match="was used while"):
            await agent.archive_to(f"file://{tmp_path}")
        assert not _objects(tmp_path)
        assert "Eight storks." in str(await (await db.get(child.agent)).events())


async def test_a_conversation_whose_turn_runs_is_not_archived(tmp_path: Path) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        agent = await db.start()
        async with agent.turn("Where do herons nest?") as turn:
            await turn.call()
            with pytest.raises(RefusedError, match="Try again when nobody uses it"):
                await agent.archive_to(f"file://{tmp_path}")
            await turn.reply("In trees.")
        await agent.archive_to(f"file://{tmp_path}")


async def test_a_stub_cannot_be_continued_and_says_how_to_bring_it_back(tmp_path: Path) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        agent = await _conversation(db)
        await agent.archive_to(f"file://{tmp_path}")
        way_out = f"Type 'sapwood restore {agent.id}' to bring it back"
        for act in (agent.fork, agent.unarchive, agent.kill, lambda: agent.record("And?", "No.")):
            with pytest.raises(RefusedError, match=way_out):
                await act()


async def test_a_stub_that_an_earlier_version_killed_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        agent = await _conversation(db)
        before = await _everything(db)
        await agent.archive_to(f"file://{tmp_path}")
        monkeypatch.setattr("sapwood.core.decide.guards.require_not_in_archive", str)
        await agent.kill()
        await db.restore(agent.id)
        assert await _everything(db) == before


async def test_what_was_added_to_a_stub_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        agent = await _conversation(db)
        await agent.archive_to(f"file://{tmp_path}")
        monkeypatch.setattr("sapwood.core.decide.forks.require_not_in_archive", str)
        child = await agent.fork()  # as earlier versions let them
        await child.record("New work.", "Done.")
        before = await _everything(db)
        with pytest.raises(RefusedError, match=r"would be lost.*Nothing was changed"):
            await db.restore(agent.id)
        assert await _everything(db) == before


async def test_a_restore_that_finds_an_id_in_use_changes_nothing(tmp_path: Path) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        agent = await _conversation(db)
        [child] = await db.agents(parent=agent.id)
        await agent.archive_to(f"file://{tmp_path}")
        other = await db.start("again", id=child.agent)
        before = await _everything(db)
        with pytest.raises(RefusedError, match=f"'{child.agent}'.*Nothing was changed"):
            await db.restore(agent.id)
        assert await _everything(db) == before
        await other.erase()
        await db.restore(agent.id)


async def test_labels_and_a_name_that_a_stub_got_are_kept(tmp_path: Path) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        agent = await db.start("birds", owner="user-42", metadata={"plan": "gold"})
        await agent.record("Where do herons nest?", "In trees.")
        await agent.archive_to(f"file://{tmp_path}")
        await agent.label("late", owner="user-7")
        await agent.rename("herons")
        await db.restore(agent.id)
        [summary] = await db.agents()
        assert (summary.name, summary.owner, summary.labels) == ("herons", "user-7", ("late",))
        assert summary.metadata == {"plan": "gold"}
        await agent.record("And storks?", "On roofs.")


async def test_the_object_of_a_restored_conversation_is_deleted(tmp_path: Path) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        agent = await _conversation(db)
        await agent.archive_to(f"file://{tmp_path}")
        await db.restore(agent.id)
        assert not _objects(tmp_path)


async def test_an_object_that_another_database_needs_stays(tmp_path: Path) -> None:
    async with sapwood.open(tmp_path / "log.db") as db, sapwood.open(":memory:") as drill:
        agent = await _conversation(db)
        before = await _everything(db)
        archived = await agent.archive_to(f"file://{tmp_path}")
        await restore_agent(drill.connection, None, archived.address, by="human")
        assert len(_objects(tmp_path)) == 1
        await db.restore(agent.id)
        assert await _everything(db) == before


async def test_an_object_that_could_not_be_deleted_is_deleted_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        agent = await _conversation(db)
        before = await _everything(db)
        await agent.archive_to(f"file://{tmp_path}")
        with monkeypatch.context() as patch:
            _without_deletes(patch)
            assert (await db.restore(agent.id)).id == agent.id
        assert "not deleted yet: The storage is away. Everything else is done" in caplog.text
        assert await _everything(db) == before
        assert _objects(tmp_path)
    async with sapwood.open(tmp_path / "log.db") as db:
        assert not _objects(tmp_path)
        assert await _everything(db) == before


async def test_everything_else_is_erased_if_an_object_cannot_be_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "log.db"
    async with sapwood.open(path) as db:
        await db.start("something that stays")
        agent, other = await _conversation(db), await db.start("plain")
        await other.record("A quetzal?", "On the branch.")
        await agent.archive_to(f"file://{tmp_path}")
        with monkeypatch.context() as patch:
            _without_deletes(patch)
            with pytest.raises(LogError, match="Everything else is done"):
                await db.erase([agent.id, other.id])
        assert b"quetzal" not in path.read_bytes()
        remembered = read_erased([erasures_file()])[db.connection.space]
        assert id_hash(db.connection.space, other.id) in remembered
        assert _objects(tmp_path)
    async with sapwood.open(path) as db:
        assert not _objects(tmp_path)
        assert all(each.finished for each in await db.erasures())


def _without_deletes(patch: pytest.MonkeyPatch) -> None:
    async def fail(address: str) -> None:
        raise LogError("The storage is away.")

    patch.setattr("sapwood.lifecycle.archive.delete_object", fail)


async def test_mail_does_not_stay_in_the_stub_of_its_receiver(tmp_path: Path) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        sender, receiver = await db.start(), await db.start()
        await sender.send(receiver, "The heron is in the reeds.")
        await receiver.read_mail()
        await receiver.record("And now?", "We wait.")
        await receiver.archive_to(f"file://{tmp_path}")
        await sender.erase()
        assert await db.search("heron") == []
        assert len(await db.search("now")) == 1


async def test_mail_that_is_erased_goes_from_the_archive_of_its_receiver(tmp_path: Path) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        sender, other, receiver = [await db.start(name) for name in ("sender", "other", "receiver")]
        await sender.send(receiver, "The heron is in the reeds.")
        await other.send(receiver, "The stork is on the roof.")
        child = await receiver.fork()
        await sender.send(child, "The heron has gone.")
        await receiver.read_mail()
        await receiver.record("And now?", "We wait.")
        await receiver.archive_to(f"file://{tmp_path}")
        await sender.erase()
        [file] = _objects(tmp_path)
        assert b"heron" not in gzip.decompress(file.read_bytes())
        restored = await db.restore(receiver.id)
        texts = str(await restored.events()), str(await (await db.get(child.id)).events())
        assert ERASED in texts[0]
        assert ERASED in texts[1]
        assert "The stork is on the roof." in texts[0]
        assert {each.labels for each in await db.agents()} == {()}


async def test_a_quotation_that_is_erased_goes_from_an_archive(tmp_path: Path) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        source, reader = await db.start("source"), await db.start("reader")
        await source.record("Where do herons nest?", "In trees.")
        await reader.record("Hello.", "Hello.")
        await reader.run_command("/load source/1")
        assert "herons" in str(await reader.events())
        await reader.archive_to(f"file://{tmp_path}")
        await source.erase()
        restored = await db.restore(reader.id)
        assert "herons" not in str(await restored.events())
        assert ERASED in str(await restored.events())


async def test_what_is_open_elsewhere_forgets_words_that_were_erased_in_an_archive(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.db"
    async with sapwood.open(path) as db, sapwood.open(path) as other:
        sender, receiver = await db.start(), await db.start()
        await sender.send(receiver, "The heron is in the reeds.")
        await receiver.read_mail()
        await receiver.record("And now?", "We wait.")
        child = await receiver.fork()
        family = [await other.get(each.id) for each in (receiver, child)]
        rows = [OpenTimeline(other.connection, each.id) for each in family]

        async def shown() -> list[str]:
            pages = [str((await each.page()).rows) for each in rows]
            return pages + [str(await each.request()) for each in family]

        assert all("heron" in each for each in await shown())
        await receiver.archive_to(f"file://{tmp_path}")
        await sender.erase()
        await db.restore(receiver.id)
        assert not [each for each in await shown() if "heron" in each]
        for summary in await db.agents():
            kinds = [each.event.kind for each in await (await db.get(summary.agent)).events()]
            assert (summary.version, kinds.count("words.erased")) == (len(kinds), 1)


async def test_archives_without_words_of_the_erased_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        agent, other = await _conversation(db), await db.start()
        await agent.archive_to(f"file://{tmp_path}")
        monkeypatch.setattr("sapwood.lifecycle.archived_words.read_archive", pytest.fail)
        await other.erase()


async def test_a_restore_that_has_read_erased_mail_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        sender, receiver = await db.start(), await db.start()
        await sender.send(receiver, "The heron is in the reeds.")
        await receiver.archive_to(f"file://{tmp_path}")
        log = erasable(db.connection.log)
        before = log.replace_agents

        async def replace(*args: Any) -> None:
            await sender.erase()
            await before(*args)

        monkeypatch.setattr(log, "replace_agents", replace)
        with pytest.raises(LogError, match="Try again"):
            await db.restore(receiver.id)
        monkeypatch.undo()
        restored = await db.restore(receiver.id)
        assert [letter.text for letter in await restored.mail()] == [ERASED]


async def _letter_in_an_archive(db: Sapwood, folder: Path) -> tuple[Agent, Agent]:
    sender, receiver = await db.start(), await db.start()
    await sender.send(receiver, "The heron is in the reeds.")
    await receiver.archive_to(f"file://{folder}")
    return sender, receiver


async def _texts(agent: Agent) -> list[str]:
    return [letter.text for letter in await agent.mail()]


async def test_a_restore_waits_for_an_erasure_of_mail_that_the_archive_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        sender, receiver = await _letter_in_an_archive(db, tmp_path)

        async def fail(*args: Any) -> None:
            raise LogError("The storage is away.")

        with monkeypatch.context() as patch:
            patch.setattr("sapwood.lifecycle.archived_words.read_archive", fail)
            with pytest.raises(LogError, match="Everything else is done"):
                await sender.erase()
        with pytest.raises(LogError, match="being erased"):
            await db.restore(receiver.id)
    async with sapwood.open(tmp_path / "log.db") as db:
        assert await _texts(await db.restore(receiver.id)) == [ERASED]
        assert not _objects(tmp_path)


async def test_a_restore_that_read_its_archive_before_an_erasure_does_not_bring_mail_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        sender, receiver = await _letter_in_an_archive(db, tmp_path)
        log, going_on = erasable(db.connection.log), asyncio.Event()
        erase, replace = log.erase_agent, log.replace_agents
        tasks: list[asyncio.Task[Any]] = []

        async def replace_later(*args: Any) -> None:
            tasks.append(asyncio.create_task(sender.erase()))
            await going_on.wait()
            await replace(*args)

        async def erase_first(*args: Any) -> frozenset[AgentId]:
            changed = await erase(*args)
            going_on.set()
            with pytest.raises(LogError):
                await restoring
            return changed

        with monkeypatch.context() as patch:
            patch.setattr(log, "replace_agents", replace_later)
            patch.setattr(log, "erase_agent", erase_first)
            restoring = asyncio.create_task(db.restore(receiver.id))
            await asyncio.wait([restoring])
            [erasing] = tasks
            await erasing
        assert await _texts(await db.restore(receiver.id)) == [ERASED]


async def test_an_object_is_not_written_again_for_a_stub_that_is_erased_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        sender, receiver = await _letter_in_an_archive(db, tmp_path)

        async def read(*args: Any) -> Any:
            found = await read_archive(*args)
            monkeypatch.undo()
            await receiver.erase()
            return found

        monkeypatch.setattr("sapwood.lifecycle.archived_words.read_archive", read)
        await sender.erase()
        assert not _objects(tmp_path)


async def test_words_go_from_an_archive_although_another_one_cannot_be_read(
    tmp_path: Path,
) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        sender, receivers = await db.start(), [await db.start() for _ in range(3)]
        for receiver in receivers:
            await sender.send(receiver, "The heron is in the reeds.")
            await receiver.archive_to(f"file://{tmp_path}")
        [broken] = [file for file in _objects(tmp_path) if file.name.startswith(receivers[1].id)]
        broken.write_bytes(b"nothing that can be read")
        with pytest.raises(LogError, match=receivers[1].id):
            await sender.erase()
        for file in _objects(tmp_path):
            assert file == broken or b"heron" not in gzip.decompress(file.read_bytes())


async def test_another_process_does_not_go_on_showing_what_was_archived(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    async with sapwood.open(path) as db, sapwood.open(path) as other:
        sender, receiver = await db.start(), await db.start()
        await receiver.record("Hello.", "Hello.")
        await sender.send(receiver, "The heron is in the reeds.")
        await receiver.label("late")
        known = (await other.connection.dispatcher.open(receiver.id)).state.version
        await receiver.archive_to(f"file://{tmp_path}")
        await sender.erase()
        log, space = db.connection.log, db.connection.space
        [same_version, *_] = await log.read(space, receiver.id, known)
        assert isinstance(same_version.event, WordsErased)
        now = await other.connection.dispatcher.open(receiver.id)
        assert now.state.status == "archived"
        assert await _texts(await other.get(receiver.id)) == []


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
