"""Going back to a checkpoint from the screen."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sapwood.api.agent import Agent
from sapwood.api.database import Sapwood
from sapwood.app.connection import connect
from sapwood.workspace.checkpoints.git_checkpoints import GitCheckpoints
from tests.tui.stage import MODEL, on_stage, until
from tests.workspace.checkpoints.repositories import repository


async def worked(db: Sapwood, folder: Path) -> Agent:
    """Two turns, of which the second wrote a file."""
    agent = await db.start("talk", id="talk", model=MODEL, folder=str(folder))
    await agent.record("Where do herons nest?", "In tall trees.")
    await agent.checkpoint()
    (folder / "storks.txt").write_text("On roofs.")
    await agent.record("Write that storks nest on roofs.", "Done.")
    await agent.checkpoint()
    return agent


async def test_files_go_back_and_the_turn_leaves_view(tmp_path: Path) -> None:
    connection = await connect(":memory:")
    agent = await worked(Sapwood(connection), repository(tmp_path))
    async with on_stage(agent.id, connection=connection) as stage:
        await stage.confirm("/revert")
        await stage.sees("2 messages pruned · /revert")
        await stage.sees("1 removed")
        assert not (tmp_path / "storks.txt").exists()
        await stage.confirm("/revert back")
        await stage.sees("before the last revert")
        assert (tmp_path / "storks.txt").read_text() == "On roofs."
    await connection.close()


async def test_a_revert_that_has_started_is_not_stopped_by_escape(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = await connect(":memory:")
    agent = await worked(Sapwood(connection), repository(tmp_path))
    started, released, restore = asyncio.Event(), asyncio.Event(), GitCheckpoints.restore

    async def held_back(self: GitCheckpoints, *args: Any) -> Any:
        started.set()
        await released.wait()
        return await restore(self, *args)

    monkeypatch.setattr(GitCheckpoints, "restore", held_back)
    async with on_stage(agent.id, connection=connection) as stage:
        await stage.confirm("/revert")
        await started.wait()
        await stage.pilot.press("escape")
        await stage.sees("/revert cannot be interrupted")
        released.set()
        await stage.sees("1 removed")
        assert not (tmp_path / "storks.txt").exists()
        assert (await agent.state()).reverting is None
    await connection.close()


async def test_completion_offers_the_turns_that_changed_files(tmp_path: Path) -> None:
    connection = await connect(":memory:")
    agent = await worked(Sapwood(connection), repository(tmp_path))
    async with on_stage(agent.id, connection=connection) as stage:
        await stage.pilot.press(*"/revert", "space")
        await stage.sees("Write that storks nest on roofs.")
        await stage.pilot.press("tab")
        assert stage.conversation.composer.text.startswith("/revert 2")
    await connection.close()


async def test_an_agent_that_there_is_not_is_refused_before_the_screen_asks() -> None:
    async with on_stage() as stage:
        stage.server.replies(["In trees."])
        await stage.type("Where do herons nest?")
        await stage.sees("In trees.")
        await stage.type("/kill nobody")
        await stage.sees("There is no agent 'nobody'")
        assert "Press enter again" not in stage.screen()
        assert stage.conversation.composer.text == "/kill nobody"


async def test_a_revert_that_is_not_confirmed_changes_nothing(tmp_path: Path) -> None:
    connection = await connect(":memory:")
    agent = await worked(Sapwood(connection), repository(tmp_path))
    async with on_stage(agent.id, connection=connection) as stage:
        before = (await agent.state()).version
        await stage.type("/revert")
        await stage.sees("/revert replaces files. The current ones are saved first.")
        assert stage.conversation.composer.text == "/revert"
        await stage.type("/revert 6")  # another command is asked about again
        await until(lambda: stage.conversation.composer.text == "/revert 6")
        stage.conversation.composer.put("")
        await stage.type("/mark HERE")
        await stage.sees("◆ HERE")
        assert (tmp_path / "storks.txt").exists()
        assert (await agent.state()).version == before + 1
    await connection.close()
