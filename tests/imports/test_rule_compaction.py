"""`/compact` in a session of another program: rules write the summary, and the core decides."""

from pathlib import Path

import pytest

import sapwood
from sapwood.api.agent import Agent
from sapwood.conversation.answers import Compacted
from sapwood.imports.importer import Importer
from tests.imports.synced_sessions import ClaudeSession


async def compact(agent: Agent, command: str) -> str:
    [outcome] = await agent.run_command(command)
    assert isinstance(outcome.answer, Compacted)
    return outcome.answer.message


async def test_a_session_is_compacted_by_rules_unless_all_its_turns_are_to_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAPWOOD_CLAUDE", str(tmp_path / "not-there"))
    file = ClaudeSession(tmp_path)
    file.turn("Count the herons")
    file.turn("Count the reeds")
    async with sapwood.open(":memory:") as db:
        importer = Importer(db.connection)
        agent = await db.get((await importer.bring(file.path)).agent)
        await importer.close()

        kept = await compact(agent, "/compact --keep 2")
        assert kept == "Nothing to compact: 2 turns in view."  # and nothing to bring anywhere
        assert (await agent.state()).context.summary is None

        done = await compact(agent, "/compact --keep 1")
        assert done.startswith(
            "Compacted 1 turn into a summary. Claude Code does not have the change yet:"
        )
        assert (await agent.state()).context.summary is not None
