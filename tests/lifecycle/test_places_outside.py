"""Erasure reaches what is outside of the log: checkpoints, private copies, archives, the engine."""

import asyncio
import sqlite3
import subprocess
import threading
from pathlib import Path

import pytest

import sapwood
from sapwood.analysis.handoff import Handoff
from sapwood.analysis.session import TopicArchive
from sapwood.config.folders import (
    archives_folder,
    checkpoints_folder,
    data_folder,
    handoffs_folder,
    journal_file,
)
from sapwood.context_actions.archive_actions import write_handoff
from sapwood.context_actions.archive_files import write_archive
from sapwood.core.checkpoint import Saved, Unsaved
from sapwood.core.events import SessionSynced
from sapwood.core.ids import AgentId, Space
from sapwood.core.program_session import ProgramSession
from sapwood.core.settings import Workspace
from sapwood.engine.process_engine import ProcessEngine
from sapwood.journal import add_to_journal, entries
from sapwood.lifecycle import local_files
from sapwood.private_files import replace_file
from sapwood.workspace.checkpoints import git_checkpoints
from sapwood.workspace.checkpoints.checkpoint_store import ref_of
from sapwood.workspace.checkpoints.git_checkpoints import GitCheckpoints
from tests.store.contract import append, commit_of

SESSION = "4cfa198d-2bff-4ecc-8825-6583da7ea71a"
OTHER = "99999999-2bff-4ecc-8825-6583da7ea71a"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SAPWOOD_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def bytes_below(folder: Path) -> bytes:
    return b"\n".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


def git(*arguments: str) -> str:
    ran = subprocess.run(["git", *arguments], check=True, capture_output=True, text=True)
    return ran.stdout


def objects(folder: Path) -> int:
    found = git("--git-dir", str(folder), "count-objects", "-v")
    counts = dict(line.split(": ") for line in found.splitlines())
    return int(counts["count"]) + int(counts["in-pack"])


def without_space(agent: AgentId, space: Space) -> str:
    return ref_of(agent)


async def test_checkpoints_go_and_those_of_others_stay(home: Path) -> None:
    folder = home / "project"
    folder.mkdir()
    git("init", "-q", str(folder))
    checkpoints, workspace = GitCheckpoints(), Workspace(str(folder))
    async with sapwood.open(home / "log.db") as db:
        first = await db.start("first", folder=str(folder))
        second = await db.start("second", folder=str(folder))
        for agent, text in ((first, "heron"), (second, "stork")):
            (folder / "file.txt").write_text(text)
            await checkpoints.save(workspace, agent.id)
        (store,) = checkpoints_folder().iterdir()
        before = objects(store)
        await first.erase()
        assert 0 < objects(store) < before
        refs = git("--git-dir", str(store), "for-each-ref")
        assert second.id in refs
        assert first.id not in refs


async def test_files_about_its_sessions_go_and_others_stay(home: Path) -> None:
    async with sapwood.open(home / "log.db") as db:
        agent = await db.start("demo")
        session = ProgramSession("claude-code", SESSION)
        summary = await db.connection.log.summary(db.connection.space, agent.id)
        assert summary
        await db.connection.log.commit(
            db.connection.space,
            commit_of(append(agent.id, SessionSynced(session), expected=summary.version)),
        )
        copies = data_folder() / "sessions" / "claude-code"
        copies.mkdir(parents=True)
        for name in (SESSION, f"{SESSION}.2", OTHER):
            (copies / f"{name}.jsonl").write_text(f"heron of {name}")
        for name in (SESSION, OTHER):
            write_archive(archives_folder(), TopicArchive("heron", "2026-01-02", session=name))
            add_to_journal("archived", f"heron {name}", session=name)
        await agent.erase()
        assert [file.name for file in copies.iterdir()] == [f"{OTHER}.jsonl"]
        assert len(list(archives_folder().iterdir())) == 1
        assert SESSION.encode() not in bytes_below(data_folder())
        assert OTHER in journal_file().read_text()


async def test_the_engine_forgets_its_drives(home: Path) -> None:
    async with sapwood.open(home / "log.db") as db:
        agent = await db.start(id="marker-heron")
        engine = ProcessEngine(home / "log.db")
        await engine.wake(Space("local"), agent.id)
        await engine.wake(Space("local"), AgentId("marker-stork"))
        await engine.wake(Space("local"), agent.id, delay=3600)
        await engine.close()
        file = home / "log.engine.db"
        with sqlite3.connect(file) as connection:  # as versions with DBOS left it
            connection.execute("CREATE TABLE workflow_status (workflow_uuid TEXT, inputs TEXT)")
            alarm = ("alarm/1/local/marker-heron", '["local", "marker-heron"]')
            connection.execute("INSERT INTO workflow_status VALUES (?, ?)", alarm)
        await agent.erase()
        found = await asyncio.to_thread(bytes_below, home)
        assert b"marker-heron" not in found
        with sqlite3.connect(file) as connection:
            assert connection.execute("SELECT agent FROM bells").fetchall() == [("marker-stork",)]


async def test_checkpoints_of_an_agent_with_the_same_id_in_another_space_stay(home: Path) -> None:
    folder = home / "project"
    folder.mkdir()
    git("init", "-q", str(folder))
    async with sapwood.open(home / "log.db", space="tenant-a") as db:
        workspace = Workspace(str(folder))
        kept, erased = await db.start(id="1"), await db.space("tenant-b").start(id="1")
        saved: list[Saved | Unsaved] = []
        for number, agent in enumerate((kept, erased)):
            (folder / "file.txt").write_text(f"heron {number}")
            checkpoints = GitCheckpoints(space=agent.connection.space)
            saved.append(await checkpoints.save(workspace, agent.id))
        await erased.erase()
        first, second = saved
        assert isinstance(first, Saved)
        assert isinstance(second, Saved)
        assert await GitCheckpoints().holds(workspace, first)
        assert not await GitCheckpoints().holds(workspace, second)


@pytest.mark.parametrize("elsewhere", [True, False])
async def test_checkpoints_of_an_earlier_version_go_if_no_other_space_has_the_id(
    elsewhere: bool, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = home / "project"
    folder.mkdir()
    git("init", "-q", str(folder))
    async with sapwood.open(home / "log.db", space="tenant-a") as db:
        agent = await db.start(id="1")
        if elsewhere:
            await db.space("tenant-b").start(id="1")
        monkeypatch.setattr(git_checkpoints, "ref_of", without_space)
        saved = await GitCheckpoints().save(Workspace(str(folder)), agent.id)
        assert isinstance(saved, Saved)
        await agent.erase()
        assert await GitCheckpoints().holds(Workspace(str(folder)), saved) is elsewhere


async def test_a_handoff_goes_with_its_own_session_alone(home: Path) -> None:
    async with sapwood.open(home / "log.db") as db:
        agent = await db.start(id="1")
        for session in ("1", "21"):
            words = Handoff("ada", "1. Fix the login of 1", "Session: 1", session=session)
            write_handoff(handoffs_folder(), words)
        await agent.erase()
        [left] = [file.read_text() for file in handoffs_folder().iterdir()]
        assert "Session: 21" in left


async def test_a_line_that_is_added_to_the_journal_while_others_go_is_kept(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with sapwood.open(home / "log.db") as db:
        agent = await db.start(id="demo")
        add_to_journal("archived", "heron", session="demo")
        adding = threading.Thread(target=add_to_journal, args=("archived", "stork"))

        def replace(file: Path, content: bytes) -> None:
            adding.start()
            adding.join(0.2)  # it waits for the lock
            replace_file(file, content)

        monkeypatch.setattr(local_files, "replace_file", replace)
        await agent.erase()
        adding.join()
        assert [entry.message for entry in entries()] == ["stork"]
