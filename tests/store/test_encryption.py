"""Encrypted spaces: no word reaches the database, and everything works as in any other space."""

import asyncio
import base64
import os
import sqlite3
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

import sapwood
from sapwood import Sapwood
from sapwood.app.operations_overview import overview_of
from sapwood.app.removal import restore_agent
from sapwood.core.errors import LogError
from sapwood.core.events import UnreadableEvent
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.live_words import LiveWords
from sapwood.doctor.database_checks import check_events
from sapwood.store.master_keys import configured_masters
from sapwood.turns.log import Log
from tests.store.encrypted import PLACES, marker, raw_bytes, tell, traces

KEY, OTHER = (base64.b64encode(bytes([n]) * 32).decode() for n in (1, 2))
VARIABLE = "SAPWOOD_ENCRYPTION_KEY"


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAPWOOD_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("SAPWOOD_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv(VARIABLE, KEY)


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "log.db")
    return request.getfixturevalue("postgres_database")


async def execute(address: str, *statements: str) -> None:
    """Changes the database as its owner can, past the guards of the log."""
    if "://" not in address:
        with closing(sqlite3.connect(address)) as connection, connection:
            for name in ("events_never_change", "contents_never_change"):
                connection.execute(f"DROP TRIGGER IF EXISTS {name}")
            for statement in statements:
                connection.execute(statement.replace("sapwood.", ""))
        return
    import asyncpg

    connection = await asyncpg.connect(address)
    try:
        for name in ("events", "contents"):
            await connection.execute(f"ALTER TABLE sapwood.{name} DISABLE TRIGGER USER")
            await connection.execute(
                f"ALTER TABLE sapwood.{name} DROP CONSTRAINT IF EXISTS {name}_tx,"
                f" DROP CONSTRAINT IF EXISTS {name}_position"
            )
            parts = await connection.fetch(
                "SELECT inhrelid::regclass::text AS part FROM pg_inherits"
                " WHERE inhparent = $1::text::regclass",
                f"sapwood.{name}",
            )
            for row in parts:
                await connection.execute(f"ALTER TABLE {row['part']} DISABLE TRIGGER USER")
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


@asynccontextmanager
async def opened(address: str, space: Space) -> AsyncGenerator[Sapwood]:
    async with sapwood.open(address, space=space) as db:
        yield db


async def test_no_word_reaches_the_database(address: str, space: Space) -> None:
    async with opened(address, space) as db:
        await tell(db)
        assert traces(raw_bytes(address)) == set()
    assert traces(raw_bytes(address)) == set()
    if "://" in address:  # the engine counts the agents of an owner
        assert traces(raw_bytes(address, "--exclude-schema=sapwood")) <= {"owner"}


async def test_words_that_arrive_are_not_readable(address: str, space: Space) -> None:
    words = LiveWords(1, CommandId("words"), (sapwood.Text("the heron arrives"),))
    async with sapwood.open(address, space=space) as db:
        agent, log = await db.start(id="demo"), db.connection.log
        assert await log.save_words(space, agent.id, 1, words, None)
        assert b"heron" not in raw_bytes(address)
        assert await log.words(space, agent.id) == words
        await execute(address, "UPDATE sapwood.live_words SET agent = 'other'")
        assert await log.words(space, AgentId("other")) is None


async def test_the_digest_of_a_command_is_not_readable(address: str, space: Space) -> None:
    async with sapwood.open(address, space=space) as db:
        await (await db.start(id="demo")).mark("HERE", command_id="once")
        receipt = await db.connection.log.receipt(space, CommandId("once"))
    assert receipt
    assert receipt.digest
    assert receipt.digest.encode() not in raw_bytes(address)


async def test_without_encryption_every_word_does(
    address: str, space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE)
    async with opened(address, space) as db:
        await tell(db)
        assert traces(raw_bytes(address)) == set(PLACES)
        await db.erase_space()


async def test_everything_is_there_after_opening_again(address: str, space: Space) -> None:
    async with opened(address, space) as db:
        agent = await tell(db)
        events, request = await agent.events(), await agent.request()
        listed = await db.agents()
    async with opened(address, space) as db:
        again = await db.get(agent.id)
        assert await again.events() == events
        assert await again.request() == request
        assert await db.agents() == listed
        assert not [each for each in events if isinstance(each.event, UnreadableEvent)]
        assert marker("long") in str(request)
        assert (await db.find(f"about {marker('name')}")).id == agent.id
        for where in (
            sapwood.Where(owner=marker("owner")),
            sapwood.Where(label=marker("label")),
            sapwood.Where(owner=marker("owner"), label=marker("label")),
        ):
            assert agent.id in {each.agent for each in await db.agents(where=where)}
        log = db.connection.log
        folder = f"/srv/{marker('folder')}"
        assert [each.agent for each in await log.conversations(space, folder)] == [agent.id]
        for place in ("prompt", "reply", "arguments", "result", "long", "mail", "pin", "goal"):
            assert await db.search(marker(place)), place
        assert await db.search(f'"say {marker("prompt")}"')
        assert not await db.search(f'"{marker("prompt")} say"')
        hits = await db.search(marker("reply"))
        assert marker("reply") in hits[0].snippet
        tailed = [
            each.recorded async for each in _first(log, space, sum(each.version for each in listed))
        ]
        assert [each for each in tailed if each.agent == agent.id] == events


async def _first(log: Log, space: Space, count: int) -> AsyncGenerator[sapwood.TailedEvent]:
    async for each in log.tail(space):
        yield each
        count -= 1
        if not count:
            return


async def test_a_moved_or_plain_row_is_refused_and_stops_nobody(address: str, space: Space) -> None:
    async with opened(address, space) as db:
        one, two = await db.start(id="one"), await db.start(id="two")
        for agent in (one, two):
            await agent.record(f"I am {agent.id}.", "Good.")
            await agent.record("And now?", "Nothing.")
    where = f"WHERE space = '{space}' AND agent = 'two' AND version"
    await execute(
        address,
        f"UPDATE sapwood.events SET data = (SELECT data FROM sapwood.events AS other WHERE"
        f" other.space = '{space}' AND other.agent = 'one' AND other.version = 2) {where} = 2",
        f"UPDATE sapwood.events SET data = '{{}}' {where} = 3",
    )
    async with opened(address, space) as db:
        _, moved, plain = await (await db.get("two")).events()
        assert isinstance(moved.event, UnreadableEvent)
        assert "decrypted" in moved.event.reason
        assert isinstance(plain.event, UnreadableEvent)
        assert "not encrypted" in plain.event.reason
        assert "I am one." in str(await (await db.get("one")).request())
        await (await db.get("two")).record("Go on.", "Yes.")
    found = await check_events(address, space, postgres="://" in address)
    assert found.state == "broken"
    assert "two:2" in found.message
    assert "decrypted" in found.message


async def test_a_long_text_in_place_of_another_is_refused(address: str, space: Space) -> None:
    async with opened(address, space) as db:
        agent = await db.start(id="long")
        await agent.record("a" * 3_000, "b" * 3_000)
    await execute(
        address,
        f"UPDATE sapwood.contents SET data = (SELECT other.data FROM sapwood.contents AS other"
        f" WHERE other.space = '{space}' ORDER BY hash LIMIT 1) WHERE space = '{space}'",
    )
    async with opened(address, space) as db:
        _, turn = await (await db.get("long")).events()
        assert isinstance(turn.event, UnreadableEvent)


async def test_the_master_key_can_be_changed(
    address: str, space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(address, space) as db:
        await db.start("before", id="first")
    monkeypatch.setenv(VARIABLE, f"{OTHER},{KEY}")
    async with opened(address, space) as db:
        assert [each.name for each in await db.agents()] == ["before"]
        from sapwood.app.maintenance import encrypted_spaces, renew_space_keys

        assert await renew_space_keys(db.connection.log) > 0
        assert await renew_space_keys(db.connection.log) == 0
        await (await db.get("first")).record("Still here?", "Yes.")
    monkeypatch.setenv(VARIABLE, OTHER)
    async with opened(address, space) as db:
        assert "Still here?" in str(await (await db.get("first")).request())
        known = {each.space: each for each in await encrypted_spaces(db.connection.log)}
        assert known[space].readable
    monkeypatch.setenv(VARIABLE, KEY)
    async with opened(address, space) as db:
        with pytest.raises(LogError, match=r"master key .* Add that key"):
            await db.agents()


async def test_without_the_key_only_encrypted_spaces_stop(
    address: str, space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(address, space) as db:
        agent = await db.start("secret", id="secret")
        await agent.record("a heron", "seen")
    monkeypatch.delenv(VARIABLE)
    async with opened(address, Space(f"{space}-plain")) as db:
        await (await db.start("open")).record("a heron in the open", "seen")
        assert len(await db.search("heron")) == 1
        closed = db.space(space)
        for call in (
            closed.agents(),
            closed.get("secret"),
            closed.start("new"),
            closed.connection.log.read(space, AgentId("secret")),
            _take(closed),
        ):
            with pytest.raises(LogError, match=r"is encrypted, but this program has no key\."):
                await call
        overview = await overview_of(closed.connection, address, lambda each: True, 60.0)
        assert space in {each.space for each in overview.spaces}
    monkeypatch.setenv(VARIABLE, KEY)
    async with opened(address, space) as db:
        assert [each.name for each in await db.agents()] == ["secret"]
        # In the same file, the other program has passed over these events in its index.
        assert [hit.ref.agent for hit in await db.search("heron")] == ["secret"]
        assert len(await db.space(f"{space}-plain").search("heron")) == 1


async def _take(db: Sapwood) -> None:
    async for _ in db.tail(after=sapwood.Cursor()):
        return


async def test_a_space_with_conversations_stays_as_it_is(
    address: str, space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE)
    async with opened(address, space) as db:
        await db.start("plain", id="plain")
    monkeypatch.setenv(VARIABLE, KEY)
    async with opened(address, space) as db:
        await (await db.get("plain")).record("a crane", "seen")
        await db.start("second")
        assert len(await db.search("crane")) == 1
    monkeypatch.delenv(VARIABLE)
    async with opened(address, space) as db:
        assert len(await db.agents()) == 2


async def test_a_pattern_chooses_the_spaces(
    address: str, space: Space, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key").write_text(f"# the master key\n{KEY}\n", encoding="utf-8")
    (tmp_path / "config.toml").write_text(
        f"[encryption]\nkey_file = '{tmp_path / 'key'}'\nspaces = '{space}-t*'\n", encoding="utf-8"
    )
    monkeypatch.delenv(VARIABLE)
    async with opened(address, Space(f"{space}-tenant")) as db:
        await db.start(marker("name"))
        assert traces(raw_bytes(address)) == set()
        await db.space(f"{space}-other").start(marker("name"))
        assert traces(raw_bytes(address)) == {"name"}
        await db.space(f"{space}-other").erase_space()


async def test_erasing_a_space_destroys_its_key_for_every_process(
    address: str, space: Space
) -> None:
    async with opened(address, space) as db, opened(address, space) as other:
        await db.start("first", id="one")
        assert [each.name for each in await other.agents()] == ["first"]
        before = await _key(db, space)
        await other.erase_space()
        assert await _key(db, space) is None
        agent = await db.start("second", id="two")
        await agent.record("after", "that")
        assert await _key(db, space) not in (None, before)
        assert [each.name for each in await other.agents()] == ["second"]
        assert "after" in str(await (await other.get("two")).request())
    async with opened(address, space) as db:
        assert "after" in str(await (await db.get("two")).request())


async def _key(db: Sapwood, space: Space) -> str | None:
    from sapwood.app.maintenance import encrypted_spaces

    keys = {each.space: each.key for each in await encrypted_spaces(db.connection.log)}
    return keys.get(space)


async def test_mail_and_quotations_of_an_erased_agent_go(address: str, space: Space) -> None:
    async with opened(address, space) as db:
        gone, kept = await db.start(id="gone"), await db.start(id="kept")
        await gone.record("Tell me of storks.", "Seven storks.")
        await gone.send("kept", "There are storks.")
        await kept.run_command("/check-mail")
        await kept.run_command("/load gone/1")
        assert "storks" in str(await kept.request())
        await gone.erase()
        assert "storks" not in str(await kept.request())
        assert await db.search("storks") == []
        assert not [each for each in await kept.events() if isinstance(each.event, UnreadableEvent)]


async def test_an_archive_is_encrypted_and_comes_back(
    address: str, space: Space, tmp_path: Path
) -> None:
    pytest.importorskip("obstore", reason="the extra 'archive' is not installed")
    import gzip

    objects = tmp_path / "objects"
    objects.mkdir()
    async with opened(address, space) as db:
        agent = await tell(db)
        before = await agent.events()
        archived = await agent.archive_to(f"file://{objects}")
        [file] = [each for each in objects.rglob("*") if each.is_file()]
        with pytest.raises(gzip.BadGzipFile):
            gzip.decompress(file.read_bytes())
        assert traces(file.read_bytes() + file.name.encode()) == set()
        assert traces(raw_bytes(address)) == set()
        assert await db.search(marker("prompt"))
        other = db.space(f"{space}-2")
        await other.start()
        with pytest.raises(LogError, match="does not have the key"):
            await restore_agent(other.connection, None, archived.address, by="human:ada")
        await db.restore(agent.id)
        assert await agent.events() == before


WRITER = """
import asyncio, sys, sapwood
async def main():
    async with sapwood.open(sys.argv[1], space=sys.argv[2]) as db:
        for number in range(20):
            agent = await db.start(f"{sys.argv[3]}-{number}")
            await agent.record(f"bittern {number}", "heard")
asyncio.run(main())
"""


async def test_processes_share_a_new_space(address: str, space: Space) -> None:
    writers = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", WRITER, address, space, name), env={**os.environ}
        )
        for name in ("a", "b")
    ]
    assert [await each.wait() for each in writers] == [0, 0]
    async with opened(address, space) as db:
        found = await db.agents(limit=100)
        assert len({each.name for each in found}) == 40
        assert len(await db.search("bittern", limit=100)) == 40
        for each in found:
            assert "heard" in str(await (await db.get(each.agent)).request())


def test_a_key_that_cannot_be_used_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "c2hvcnQ=")
    with pytest.raises(LogError, match=f"{VARIABLE} contains something that is not a key"):
        configured_masters()
    monkeypatch.delenv(VARIABLE)
    assert configured_masters() is None
    config = tmp_path / "config.toml"
    config.write_text("[encryption]\nkey_file = '/nowhere/key'\n", encoding="utf-8")
    with pytest.raises(LogError, match="/nowhere/key, cannot be read"):
        configured_masters()
    config.write_text("[encryption\n", encoding="utf-8")
    with pytest.raises(LogError, match="Sapwood cannot tell which spaces are encrypted"):
        configured_masters()
    config.write_text("[models\n", encoding="utf-8")
    assert configured_masters() is None
