"""Retention by workers: rules of the configuration, in batches, by one worker at a time."""

import asyncio
import sys
from pathlib import Path

import pytest

import sapwood
from sapwood import Sapwood
from sapwood.app.removal import let_go, retention_in_background, run_retention
from sapwood.config.config_file import ConfigError, RetentionConfig, parse_config
from sapwood.core.ids import Space
from sapwood.lifecycle.archive import archive_address
from sapwood.lifecycle.erasable_log import erasable
from sapwood.lifecycle.retention import RetentionRule, add_hold, idle_conversations

NOW = 1e-9
"""Days: everything is idle for longer than this."""


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    match request.param:
        case "memory":
            return ":memory:"
        case "sqlite":
            return str(tmp_path / "log.db")
        case _:
            return request.getfixturevalue("postgres_dsn")


async def names(db: Sapwood) -> list[str]:
    return sorted(each.name for each in await db.agents(limit=1_000))


async def test_rules_are_about_spaces_labels_and_owners(address: str, tmp_path: Path) -> None:
    start = tmp_path.name
    async with sapwood.open(address, space=f"{start}-a") as db:
        other = db.space(f"{start}-b")
        for each in (db, other):
            await each.start("trial", labels=["trial"])
            await each.start("ada", owner="ada")
            await each.start("plain")
        await db.start("held", labels=["trial"])
        held = await db.find("held")
        log = erasable(db.connection.log)
        await add_hold(log, db.connection.space, "agent", held.id, by="human:judge")
        rules = {
            "trials": RetentionConfig(NOW, f"{start}-a", label="trial", erase=True),
            "leavers": RetentionConfig(NOW, f"{start}-*", owner="ada", erase=True),
            "old": RetentionConfig(1, f"{start}-*", erase=True),
        }
        done = await run_retention(db.connection, rules, lambda space: space.startswith(start))
        assert done == {
            (f"{start}-a", "trials"): 1,
            (f"{start}-a", "leavers"): 1,
            (f"{start}-b", "leavers"): 1,
        }
        assert await names(db) == ["held", "plain"]
        assert await names(other) == ["plain", "trial"]
        records = await db.erasures()
        assert {each.by for each in records} == {
            "system:retention trials",
            "system:retention leavers",
        }
        assert {each.scope for each in records} == {"retention"}


async def test_a_worker_erases_in_batches_and_only_in_its_spaces(tmp_path: Path) -> None:
    async with sapwood.open(tmp_path / "log.db", space="mine") as db:
        for number in range(5):
            await db.start(f"agent {number}")
        await db.space("other").start("stays")
        rules = {"all": RetentionConfig(NOW, erase=True)}
        done = await run_retention(db.connection, rules, lambda space: space == "mine", batch=2)
        assert done == {("mine", "all"): 5}
        assert [each.agents for each in await db.erasures()] == [1, 2, 2]
        assert await names(db.space("other")) == ["stays"]


async def test_a_conversation_with_an_open_turn_or_a_busy_child_stays() -> None:
    async with sapwood.open(":memory:") as db:
        agent = await db.start("works")
        rules = {"all": RetentionConfig(NOW, erase=True)}
        async with agent.turn("Hello?") as turn:
            assert await run_retention(db.connection, rules, lambda _: True) == {}
            await turn.reply("Hello.")
        await agent.run_command("/fork -- Count.")
        assert await run_retention(db.connection, rules, lambda _: True) == {}


@pytest.mark.parametrize("store", ["sqlite", pytest.param("postgres", marks=pytest.mark.night)])
async def test_a_conversation_that_is_used_again_in_the_last_moment_stays(
    store: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Everything that was found waits for the rest of its batch before it is erased."""
    address = tmp_path / "log.db" if store == "sqlite" else request.getfixturevalue("postgres_dsn")
    async with (
        sapwood.open(address, space=tmp_path.name) as db,
        sapwood.open(address, space=tmp_path.name) as user,
    ):
        agent = await db.start("back")
        await agent.record("Hello.", "Hello.")
        child = await agent.fork(name="helper")
        await db.start("gone")
        log, space = erasable(db.connection.log), db.connection.space
        found = await idle_conversations(log, space, RetentionRule(NOW))
        await (await user.get(child.id)).record("I am back.", "Welcome.")
        before = [await each.events() for each in (agent, child)]
        assert await let_go(db.connection, found, "", by="system:retention") == 1
        assert {each.agent for each in await db.agents()} == {agent.id, child.id}
        words = [each.event for events in before for each in events]
        after = [each.event for each in (*await agent.events(), *await child.events())]
        assert [each for each in after if each in words] == words
        await (await user.get(agent.id)).record("And I go on.", "Good.")


async def test_a_rule_archives_each_conversation_once(tmp_path: Path) -> None:
    pytest.importorskip("obstore", reason="the extra 'archive' is not installed")
    async with sapwood.open(tmp_path / "log.db") as db:
        agent = await db.start("demo", labels=["old"])
        await agent.record("Where do herons nest?", "In trees.")
        before = await agent.events()
        rules = {"old": RetentionConfig(NOW, label="old", archive=f"file://{tmp_path}")}
        assert await run_retention(db.connection, rules, lambda _: True) == {("local", "old"): 1}
        assert await run_retention(db.connection, rules, lambda _: True) == {}
        [stub] = await db.agents()
        assert archive_address(stub)
        restored = await db.restore(stub.agent)
        assert await restored.events() == before
        archived = await restored.archive_to(f"file://{tmp_path}")
        assert (archived.agents, archived.events) == (1, len(before))


async def test_a_rule_that_fails_does_not_stop_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with sapwood.open(tmp_path / "log.db") as db:
        await db.start("a", labels=["a"])
        await db.start("b", labels=["b"])
        rules = {
            "a": RetentionConfig(NOW, label="a", archive="file:///there/is/no/such/folder"),
            "b": RetentionConfig(NOW, label="b", erase=True),
        }
        assert await run_retention(db.connection, rules, lambda _: True) == {("local", "b"): 1}
        assert await names(db) == ["a"]
    assert "Retention a failed in local" in caplog.text


async def test_one_worker_at_a_time_does_it(address: str) -> None:
    async with sapwood.open(address) as db, sapwood.open(address) as elsewhere:
        first, second = erasable(db.connection.log), erasable(elsewhere.connection.log)
        if address == ":memory:":
            second = first
        lock = await first.try_lead("retention-test")
        assert lock is not None
        assert await lock.is_held()
        assert await second.try_lead("retention-test") is None
        other = await second.try_lead("something else")
        assert other is not None
        await other.release()
        await lock.release()
        taken = await second.try_lead("retention-test")
        assert taken is not None
        await taken.release()


async def test_it_runs_in_the_background_until_the_block_ends(tmp_path: Path) -> None:
    async with sapwood.open(tmp_path / "log.db") as db, asyncio.timeout(60):
        await db.start("demo")
        rules = {"all": RetentionConfig(NOW, erase=True)}
        running = retention_in_background(db.connection, rules, lambda _: True, hours=1e-5)
        async with running:
            while await db.agents():  # noqa: ASYNC110 (it tells nobody)
                await asyncio.sleep(0.02)
            await db.start("later")
            while await db.agents():  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        lock = await erasable(db.connection.log).try_lead("retention")
        assert lock is not None
        await lock.release()


async def test_a_worker_process_carries_out_the_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(
        "retention_hours = 0.001\n"
        "[retention.trial]\ndays = 0.0000001\nlabel = 'trial'\nerase = true\n"
    )
    monkeypatch.setenv("SAPWOOD_CONFIG", str(config))
    file = tmp_path / "log.db"
    async with sapwood.open(file) as db, asyncio.timeout(120):
        await db.start("goes", labels=["trial"])
        await db.start("stays")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "sapwood.cli", "worker", "--database", str(file)),
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            while await names(db) != ["stays"] and process.returncode is None:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            assert process.returncode is None
        finally:
            if process.returncode is None:
                process.terminate()
            await process.communicate()
        [record] = await db.erasures()
        assert record.by == "system:retention trial"


def test_a_rule_does_one_thing() -> None:
    for rule in ("days = 3", "days = 3\nerase = true\narchive = 's3://b'", "erase = true"):
        with pytest.raises(ConfigError, match="retention"):
            parse_config(f"[retention.x]\n{rule}\n", Path("config.toml"))
    config = parse_config("[retention.x]\ndays = 3\nerase = true\n", Path("config.toml"))
    assert config.retention == {"x": RetentionConfig(3, erase=True)}


async def test_all_spaces_are_listed_in_pages(address: str, tmp_path: Path) -> None:
    async with sapwood.open(address) as db:
        wanted = [Space(f"{tmp_path.name}-{letter}") for letter in "abc"]
        for space in wanted:
            await db.space(space).start("x")
        log, found, last = erasable(db.connection.log), list[Space](), None
        while page := await log.spaces(after=last, limit=2):
            found += page
            last = page[-1]
        assert [space for space in found if space in wanted] == wanted
        assert found == sorted(found)


async def test_a_conversation_that_is_used_again_is_not_archived(tmp_path: Path) -> None:
    pytest.importorskip("obstore", reason="the extra 'archive' is not installed")
    async with sapwood.open(tmp_path / "log.db") as db:
        agent = await db.start("back")
        await agent.record("Hello.", "Hello.")
        log, space = erasable(db.connection.log), db.connection.space
        found = await idle_conversations(log, space, RetentionRule(NOW))
        await agent.record("I am back.", "Welcome.")
        before = await agent.events()
        assert await let_go(db.connection, found, f"file://{tmp_path}", by="system") == 0
        assert await agent.events() == before


async def test_a_conversation_that_went_meanwhile_does_not_keep_the_others(tmp_path: Path) -> None:
    pytest.importorskip("obstore", reason="the extra 'archive' is not installed")
    async with sapwood.open(tmp_path / "log.db") as db:
        erased, archived, left = [await db.start(name) for name in ("erased", "archived", "left")]
        log = erasable(db.connection.log)
        found = await idle_conversations(log, db.connection.space, RetentionRule(days=0))
        await erased.erase()
        await archived.archive_to(f"file://{tmp_path}")
        assert await let_go(db.connection, found, f"file://{tmp_path}", by="system") == 1
        assert {each.agent for each in await db.agents() if archive_address(each)} == {
            archived.id,
            left.id,
        }
