"""Each call says whether a checkpoint of its turn has the files before it."""

import asyncio
from pathlib import Path

import pytest

from sapwood.api.database import Sapwood
from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import connect
from sapwood.conversation.answers import Prompted
from sapwood.core.model_calls import ToolOutcome, ToolUse
from sapwood.engine.local_engine import LocalEngine
from sapwood.testing import FakeModel
from sapwood.workspace.checkpoints.git_checkpoints import GitCheckpoints
from sapwood.workspace.workspace_toolbox import WorkspaceToolbox
from tests.turns.test_revert import plan
from tests.workspace.checkpoints.repositories import repository


class Recording(WorkspaceToolbox):
    """Records what calls say, and runs none."""

    def __init__(self) -> None:
        super().__init__()
        self.saved: list[bool] = []

    async def run(self, use: ToolUse) -> ToolOutcome:
        self.saved.append(use.is_saved)
        return ToolOutcome("done")


@pytest.mark.parametrize("covered", ["repository", "no repository", "no checkpoints", "removed"])
async def test_a_call_knows_whether_its_files_are_saved(tmp_path: Path, covered: str) -> None:
    folder = tmp_path / "project"
    folder.mkdir() if covered == "no repository" else repository(folder)
    tools = Recording()
    checkpoints = None if covered == "no checkpoints" else GitCheckpoints()
    connection = await connect(":memory:")
    running = AgentRunner(
        connection, LocalEngine(), FakeModel(plan), tools, checkpoints=checkpoints
    )
    await running.start()
    agent = await Sapwood(connection).start(id="lead", model="planned", folder=str(folder))
    try:
        async with asyncio.timeout(60):
            for number in range(2):
                if covered == "removed" and number:
                    folder.rename(tmp_path / "elsewhere")
                version = (await agent.state()).version
                [outcome] = await agent.run_command(f"run echo {number}")
                assert isinstance(outcome.answer, Prompted)
                async for _ in running.watch(agent.id, version):
                    if (await agent.state()).open is None:
                        break
    finally:
        await running.close()
        await connection.close()
    expected = {"repository": [True, True], "removed": [True, False]}
    assert tools.saved == expected.get(covered, [False, False])
