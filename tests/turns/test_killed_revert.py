"""A revert that is killed on its way leaves a way on and a way back, and says so."""

import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec import Struct

from sapwood.api import Agent, open
from sapwood.conversation.answers import Prompted
from sapwood.core.errors import RefusedError
from sapwood.core.refusals import RevertCutOff
from sapwood.core.view import Request
from tests.workspace.checkpoints.repositories import files_of, repository

Files = dict[str, tuple[str, bytes]]


class Moment(Struct, frozen=True):
    """Files and context together."""

    files: Files
    request: Request


class Place(Struct, frozen=True):
    """An agent in a repository that has two states to be in."""

    database: Path
    folder: Path
    then: Moment
    now: Moment

    def killed_at(self, step: int, turn: str = "") -> bool:
        """Reverts in another process; whether that was killed."""
        program = [sys.executable, "-m", "tests.turns.killed_revert"]
        ended = subprocess.run(
            [*program, str(self.database), str(step), turn],
            check=False,
            capture_output=True,
            timeout=60,
        )
        assert ended.returncode in (0, -signal.SIGKILL), ended.stderr.decode()
        return ended.returncode != 0

    async def moment(self, agent: Agent) -> Moment:
        """How things are."""
        return Moment(files_of(self.folder), await agent.request())

    @asynccontextmanager
    async def agent(self) -> AsyncGenerator[Agent]:
        async with open(self.database) as db:
            yield await db.find("lead")


async def prepared(base: Path) -> Place:
    """Two turns, of which the second changed, removed and added files."""
    folder, database = repository(base / "project"), base / "sapwood.db"
    async with open(database) as db:
        agent = await db.start(id="lead", folder=str(folder))
        (folder / "changed").write_text("then")
        (folder / "removed").write_text("then")
        await agent.record("First.", "Done.")
        await agent.checkpoint()
        then = Moment(files_of(folder), await agent.request())
        (folder / "changed").write_text("now")
        (folder / "removed").unlink()
        (folder / "deep").mkdir()
        (folder / "deep" / "added").write_text("now")
        await agent.record("Second.", "Done.")
        await agent.checkpoint()
        (folder / "mine").write_text("edited since")
        now = Moment(files_of(folder), await agent.request())
    return Place(database, folder, then, now)


STEPS = range(10)
SOME_STEPS = [
    step if step % 3 == 0 else pytest.param(step, marks=pytest.mark.night) for step in STEPS
]


@pytest.mark.parametrize("step", SOME_STEPS)
async def test_wherever_it_is_killed_it_can_be_finished_or_taken_back(
    tmp_path: Path, step: int
) -> None:
    place = await prepared(tmp_path)
    killed = place.killed_at(step)
    async with place.agent() as agent:
        reverting = (await agent.state()).reverting
        if reverting is None:
            found = await place.moment(agent)
            assert found == (place.now if killed else place.then)
            return
        with pytest.raises(RefusedError) as refused:
            async with agent.turn("Go on."):
                pass
        assert refused.value.refusal == RevertCutOff(reverting.to.words)
        await agent.revert("back")
        assert await place.moment(agent) == place.now
        await agent.revert()
        assert await place.moment(agent) == place.then


@pytest.mark.parametrize("step", SOME_STEPS)
async def test_wherever_it_is_killed_the_next_prompt_is_taken(tmp_path: Path, step: int) -> None:
    place = await prepared(tmp_path)
    place.killed_at(step)
    async with place.agent() as agent:
        cut_off = (await agent.state()).reverting is not None
        [outcome] = await agent.run_command("Go on.")
        assert isinstance(outcome.answer, Prompted)
        assert (await agent.state()).reverting is None
        if cut_off:
            assert files_of(place.folder) == place.then.files
        kinds = [each.kind for each in await agent.events()]
        assert kinds.count("revert.started") == kinds.count("context.reverted")


async def test_one_that_was_cut_off_is_finished_by_typing_it_again(tmp_path: Path) -> None:
    place = await prepared(tmp_path)
    assert place.killed_at(3)
    async with place.agent() as agent:
        assert (await agent.state()).reverting is not None
        assert files_of(place.folder) not in (place.then.files, place.now.files)
        assert "before turn" in (await agent.revert()).message
        assert await place.moment(agent) == place.then
        assert (await agent.state()).reverting is None
        await agent.revert("back")
        assert await place.moment(agent) == place.now


async def test_one_that_was_cut_off_on_a_long_way_is_finished(tmp_path: Path) -> None:
    place = await prepared(tmp_path)
    async with place.agent() as agent:
        for number in range(20):
            (place.folder / "changed").write_text(f"again {number}")
            await agent.record("More.", "Done.")
            await agent.checkpoint()
    assert place.killed_at(3, "2")
    async with place.agent() as agent:
        await agent.revert()
        assert await place.moment(agent) == place.then


async def test_some_steps_cut_it_off_and_some_are_after_its_end(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "last").mkdir()
    assert (await prepared(tmp_path / "first")).killed_at(min(STEPS))
    assert not (await prepared(tmp_path / "last")).killed_at(max(STEPS))
