"""Agents that change files, and people who take that back: files and context together."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from sapwood.api.agent import Agent
from sapwood.api.database import Sapwood
from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import connect
from sapwood.app.conversation_service import offline_service
from sapwood.config.config_file import Config
from sapwood.conversation.answers import ConversationStarted, FilesReverted, Prompted
from sapwood.conversation.completion import known_names
from sapwood.conversation.script import CommandStep
from sapwood.core.checkpoint import Unsaved
from sapwood.core.command_table import TABLE
from sapwood.core.content import Text, ToolCall
from sapwood.core.errors import RefusedError
from sapwood.core.events import Recorded
from sapwood.core.model_calls import Failure
from sapwood.core.refusals import UnknownAgent, UnknownCheckpoint
from sapwood.core.view import Request
from sapwood.engine.local_engine import LocalEngine
from sapwood.testing import FakeModel
from sapwood.testing.fake_model import Planned
from sapwood.workspace.checkpoints.checkpoint_save import CheckpointLimits
from sapwood.workspace.checkpoints.git_checkpoints import GitCheckpoints
from sapwood.workspace.permissions.permission_gate import PermissionGate
from sapwood.workspace.permissions.permission_rules import parse_rules
from sapwood.workspace.workspace_toolbox import WorkspaceToolbox
from tests.workspace.checkpoints.repositories import files_of, git, repository, untouched

_numbers = count(1)


def use(tool: str, **args: object) -> ToolCall:
    """A call of a tool."""
    return ToolCall(f"use{next(_numbers)}", tool, json.dumps(args))


def plan(request: Request, heard: str) -> Planned:
    """Does what the prompt says: `write a.txt one`, `run rm a.txt`, `read a.txt`, or talks."""
    match heard.split(" ", 2):
        case ["write", path, text]:
            return use("write_file", path=path, content=text)
        case ["run", *words]:
            return use("shell", command=" ".join(words))
        case ["read", path]:
            return use("read_file", path=path)
        case _ if heard.startswith("stall"):
            return use("shell", command="sleep 60")
        case _ if heard.startswith("fail"):
            raise Failure("other", "The model fell over.")
        case _:
            return "done"


class Desk(Struct):
    """An agent at work in a repository."""

    agent: Agent
    folder: Path
    running: AgentRunner

    async def says(self, prompt: str) -> int:
        """Gives a prompt, waits for the end of the turn, and returns the number of the turn."""
        version = (await self.agent.state()).version
        [outcome] = await self.agent.run_command(prompt)
        assert isinstance(outcome.answer, Prompted)
        async for _ in self.running.watch(self.agent.id, version):
            if (await self.agent.state()).open is None:
                break
        return (await self.agent.state()).turns

    async def sees(self, *kinds: str) -> None:
        """Waits until events of these kinds have happened, one after the other."""
        wanted = list(kinds)
        async for shown in self.running.watch(self.agent.id, 0):
            if isinstance(shown.what, Recorded) and shown.what.kind == wanted[0]:
                wanted.pop(0)
            if not wanted:
                break

    async def said(self) -> list[str]:
        """The prompts in view."""
        request = await self.agent.request()
        return [
            part.text
            for message in request.messages
            if message.role == "user"
            for part in message.parts
            if isinstance(part, Text)
        ]

    async def marks(self) -> list[str]:
        """The names of the marks."""
        return [mark.name for mark in (await self.agent.state()).marks]

    async def kinds(self) -> list[str]:
        """The kinds of all events about files."""
        about = ("checkpoint.made", "checkpoint.missed", "revert.started", "context.reverted")
        return [each.kind for each in await self.agent.events() if each.kind in about]


@asynccontextmanager
async def desk(folder: Path, bounds: CheckpointLimits | None = None) -> AsyncGenerator[Desk]:
    connection = await connect(":memory:")
    tools = WorkspaceToolbox(
        PermissionGate(parse_rules(["allow shell(*)", "allow write_file(**)"]))
    )
    checkpoints = GitCheckpoints(bounds)
    running = AgentRunner(
        connection, LocalEngine(), FakeModel(plan), tools, checkpoints=checkpoints
    )
    await running.start()
    db = Sapwood(connection)
    agent = await db.start(id="lead", model="planned", folder=str(folder))
    try:
        async with asyncio.timeout(60):
            yield Desk(agent, folder, running)
    finally:
        await running.close()
        await connection.close()


async def test_a_revert_takes_back_what_the_last_turn_did_to_files_and_context(
    tmp_path: Path,
) -> None:
    async with desk(repository(tmp_path)) as at:
        (tmp_path / "a.txt").write_text("mine")
        await at.says("hello")
        turn = await at.says("write a.txt theirs")
        assert (tmp_path / "a.txt").read_text() == "theirs"
        said = (await at.agent.revert()).message
        assert said.startswith(f"Files and context are as they were before turn {turn}: 1 file")
        assert (tmp_path / "a.txt").read_text() == "mine"
        assert await at.said() == ["hello"]


async def test_a_revert_can_be_taken_back(tmp_path: Path) -> None:
    async with desk(repository(tmp_path)) as at:
        await at.says("write a.txt one")
        await at.agent.mark("EARLY")
        await at.says("write b.txt two")
        await at.agent.mark("LATE")
        (tmp_path / "c.txt").write_text("the user's own")
        before, said = files_of(tmp_path), await at.said()
        answer = (await at.agent.revert()).message
        assert files_of(tmp_path).keys() == {"a.txt"}
        assert await at.marks() == ["EARLY"]
        assert "/revert back to undo this" in answer
        await at.agent.revert("back")
        assert files_of(tmp_path) == before
        assert await at.said() == said
        assert await at.marks() == ["EARLY", "LATE"]
        await at.agent.revert()
        assert files_of(tmp_path).keys() == {"a.txt"}


async def test_a_revert_that_is_repeated_goes_further_back(tmp_path: Path) -> None:
    async with desk(repository(tmp_path)) as at:
        turns = [await at.says(f"write a.txt {number}") for number in range(5)]
        (tmp_path / "a.txt").write_text("my edit")
        found: list[str] = []
        for turn in reversed(turns[1:]):
            assert f"before turn {turn}:" in (await at.agent.revert()).message
            found.append((tmp_path / "a.txt").read_text())
        assert found == ["3", "2", "1", "0"]
        assert await at.said() == ["write a.txt 0"]
        await at.agent.revert()
        assert (files_of(tmp_path), await at.said()) == ({}, [])
        with pytest.raises(RefusedError, match="no checkpoint to revert to"):
            await at.agent.revert()
        await at.agent.revert("back-5")
        assert (tmp_path / "a.txt").read_text() == "my edit"
        assert len(await at.said()) == 5


async def test_after_a_revert_new_turns_are_reverted_first(tmp_path: Path) -> None:
    async with desk(repository(tmp_path)) as at:
        first = await at.says("write a.txt one")
        await at.says("write a.txt two")
        await at.agent.revert()
        third = await at.says("write a.txt three")
        assert f"before turn {third}:" in (await at.agent.revert()).message
        assert (tmp_path / "a.txt").read_text() == "one"
        assert f"before turn {first}:" in (await at.agent.revert()).message


async def test_a_revert_goes_to_before_the_turn_that_was_named(tmp_path: Path) -> None:
    async with desk(repository(tmp_path)) as at:
        first = await at.says("write a.txt one")
        talk = await at.says("just talk")
        second = await at.says("write a.txt two")
        last = await at.says("run rm a.txt")
        await at.agent.revert(second)
        assert (tmp_path / "a.txt").read_text() == "one"
        assert await at.said() == ["write a.txt one", "just talk"]
        await at.agent.revert(last)
        assert (tmp_path / "a.txt").read_text() == "two"
        await at.agent.revert(talk)
        assert (tmp_path / "a.txt").read_text() == "one"
        assert await at.said() == ["write a.txt one"]
        await at.agent.revert(first)
        assert (files_of(tmp_path), await at.said()) == ({}, [])


async def test_before_a_turn_since_which_no_file_changed_the_files_stay(tmp_path: Path) -> None:
    async with desk(repository(tmp_path)) as at:
        await at.says("write a.txt one")
        talk = await at.says("just talk")
        (tmp_path / "a.txt").write_text("my edit")
        assert "no files had changed" in (await at.agent.revert(talk)).message
        assert (tmp_path / "a.txt").read_text() == "my edit"
        assert await at.said() == ["write a.txt one"]


async def test_before_a_turn_that_changed_nothing_the_files_are_those_it_found(
    tmp_path: Path,
) -> None:
    async with desk(repository(tmp_path)) as at:
        await at.says("write a.txt one")
        idle = await at.says("run true")
        (tmp_path / "a.txt").write_text("my edit")
        await at.agent.revert(idle)
        assert (tmp_path / "a.txt").read_text() == "one"
        await at.agent.revert()
        assert files_of(tmp_path) == {}


async def test_before_a_turn_that_was_not_saved_no_later_files_are_restored(
    tmp_path: Path,
) -> None:
    async with desk(repository(tmp_path), CheckpointLimits(max_untracked=100)) as at:
        await at.says("run head -c 200 /dev/zero > b.bin")
        unsaved = await at.says("write a.txt one")
        (tmp_path / "b.bin").unlink()
        await at.says("write a.txt two")
        with pytest.raises(RefusedError, match="Add files that do not need checkpoints"):
            await at.agent.revert(unsaved)
        assert (tmp_path / "a.txt").read_text() == "two"


async def test_on_another_branch_a_revert_asks_first(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "main.txt").write_text("of main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message=First")
    git(tmp_path, "switch", "--quiet", "--create", "feature")
    (tmp_path / "main.txt").unlink()
    async with desk(tmp_path) as at:
        turn = await at.says("write feature.txt one")
        (tmp_path / "feature.txt").unlink()
        git(tmp_path, "restore", ".")
        git(tmp_path, "switch", "--quiet", "main")
        with pytest.raises(RefusedError) as refused:
            await at.agent.revert(turn)
        sentence = refused.value.refusal.sentence
        assert "were saved on branch feature, and the folder is now on branch main" in sentence
        assert f"git switch feature first, or type /revert {turn} --anyway" in sentence
        assert files_of(tmp_path).keys() == {"main.txt"}
        assert (await at.agent.state()).reverting is None
        await at.agent.revert(turn, anyway=True)
        assert files_of(tmp_path).keys() == set()


async def test_checkpoints_outlive_the_conversation(tmp_path: Path) -> None:
    async with desk(repository(tmp_path)) as at:
        (tmp_path / "a.txt").write_text("mine")
        turn = await at.says("write a.txt theirs")
        [outcome] = await at.agent.run_command("/new")
        assert isinstance(outcome.answer, ConversationStarted)
        fresh = await Sapwood(at.agent.connection).find(outcome.answer.agent)
        with pytest.raises(RefusedError, match=f"type /revert lead/{turn}"):
            await fresh.revert()
        [outcome] = await fresh.run_command(f"/revert lead/{turn}")
        assert isinstance(outcome.answer, FilesReverted)
        assert f"before turn lead/{turn}: 1 file restored" in outcome.answer.message
        assert (tmp_path / "a.txt").read_text() == "mine"
        await at.agent.run_command("/unarchive")
        await at.agent.revert()
        assert (tmp_path / "a.txt").read_text() == "mine"


async def test_a_fork_goes_back_to_before_a_turn_that_it_inherited(tmp_path: Path) -> None:
    async with desk(repository(tmp_path)) as at:
        await at.says("write a.txt one")
        turn = await at.says("write a.txt two")
        child = await at.agent.fork()
        [outcome] = await child.run_command(f"/revert parent/{turn}")
        assert isinstance(outcome.answer, FilesReverted)
        assert (tmp_path / "a.txt").read_text() == "one"
        assert await Desk(child, tmp_path, at.running).said() == ["write a.txt one"]
        assert len(await at.said()) == 2


async def test_before_an_inherited_turn_the_last_request_stays_in_view(tmp_path: Path) -> None:
    async with desk(repository(tmp_path)) as at:
        await at.says("write a.txt one")
        turn = await at.says("write a.txt two")
        await at.agent.clear(1)
        child = await at.agent.fork()
        [outcome] = await child.run_command(f"/revert parent/{turn}")
        assert isinstance(outcome.answer, FilesReverted)
        [carried] = await Desk(child, tmp_path, at.running).said()
        assert carried.endswith("write a.txt one")


async def test_mail_of_the_turns_that_are_taken_back_waits_for_the_next_prompt(
    tmp_path: Path,
) -> None:
    async with desk(repository(tmp_path)) as at:
        await at.says("hello")
        await at.agent.send(at.agent, "The build is red.")
        await at.agent.read_mail()
        await at.says("write a.txt one")
        await at.says("write a.txt two")
        seen = await at.said()
        for _ in range(2):
            said = (await at.agent.revert("2")).message
            assert "ignored files. 1 note waits for the next prompt again. Type /revert" in said
            [note] = (await at.agent.state()).notes
            assert (note.origin, note.text) == ("mail", "The build is red.")
            await at.agent.revert("back")
            assert (await at.agent.state()).notes == ()
            assert await at.said() == seen
        await at.agent.clear(1)
        await at.agent.revert("2")
        assert [note.origin for note in (await at.agent.state()).notes] == ["mail"]
        await at.agent.undo()
        assert (await at.agent.state()).notes == ()


async def test_the_successor_of_a_child_is_told_of_the_turns_of_the_child(tmp_path: Path) -> None:
    async with desk(repository(tmp_path)) as at:
        child = await at.agent.fork(name="child")
        turn = await Desk(child, tmp_path, at.running).says("write a.txt one")
        [outcome] = await child.run_command("/new")
        assert isinstance(outcome.answer, ConversationStarted)
        fresh = await Sapwood(at.agent.connection).find(outcome.answer.agent)
        with pytest.raises(RefusedError, match=f"type /revert {child.id}/{turn}"):
            await fresh.revert()


async def test_a_turn_of_a_conversation_in_another_folder_is_not_gone_back_to(
    tmp_path: Path,
) -> None:
    async with desk(repository(tmp_path / "one")) as at:
        turn = await at.says("write a.txt one")
        folder = str(repository(tmp_path / "two"))
        other = await Sapwood(at.agent.connection).start(model="planned", folder=folder)
        [outcome] = await other.run_command(f"/revert lead/{turn}")
        assert isinstance(outcome.answer, UnknownCheckpoint)


async def test_a_revert_that_is_cancelled_runs_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk(repository(tmp_path)) as at:
        (tmp_path / "a.txt").write_text("mine")
        await at.says("write a.txt theirs")
        working, restore = asyncio.Event(), GitCheckpoints.restore

        async def slow(self: GitCheckpoints, *args: Any) -> Any:
            working.set()
            await asyncio.sleep(0)
            return await restore(self, *args)

        monkeypatch.setattr(GitCheckpoints, "restore", slow)
        reverting = asyncio.ensure_future(at.agent.revert())
        await working.wait()
        reverting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reverting
        assert (tmp_path / "a.txt").read_text() == "mine"
        assert (await at.kinds())[-1] == "context.reverted"
        await at.says("go on")


async def test_a_revert_that_is_finished_keeps_what_was_ignored_when_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk(repository(tmp_path)) as at:
        await at.says("write .gitignore *.tmp")
        (tmp_path / "a.tmp").write_text("mine")

        async def cut_off(*_: object) -> Unsaved:
            (tmp_path / ".gitignore").unlink()  # from now on no rule ignores the file
            return Unsaved("The disk is full.")

        with monkeypatch.context() as patch:
            patch.setattr(GitCheckpoints, "restore", cut_off)
            with pytest.raises(RefusedError, match="The disk is full"):
                await at.agent.revert()
        await at.agent.revert()
        assert files_of(tmp_path) == {"a.tmp": ("file", b"mine")}
        assert (await at.agent.state()).reverting is None


async def test_a_turn_before_the_first_change_is_gone_back_to(tmp_path: Path) -> None:
    async with desk(repository(tmp_path)) as at:
        (tmp_path / "a.txt").write_text("mine")
        first = await at.says("hello")
        await at.says("just talk")
        await at.says("write a.txt one")
        await at.says("write a.txt two")
        await at.agent.revert(first)
        assert (tmp_path / "a.txt").read_text() == "mine"
        assert await at.said() == []


async def test_what_was_not_covered_is_said(tmp_path: Path) -> None:
    repository(tmp_path)
    repository(tmp_path / "vendor")
    async with desk(tmp_path) as at:
        await at.says("write a.txt one")
        said = (await at.agent.revert()).message
        assert "0 files restored, 1 removed." in said
        assert "Not changed: ignored files, vendor/ (a separate repository)." in said
        assert "or /undo to move only the context." in said


async def test_what_the_user_edited_between_turns_is_not_lost(tmp_path: Path) -> None:
    async with desk(repository(tmp_path)) as at:
        await at.says("write a.txt one")
        (tmp_path / "a.txt").write_text("my edit")
        await at.says("write a.txt two")
        await at.agent.revert()
        assert (tmp_path / "a.txt").read_text() == "my edit"


async def test_an_interrupted_turn_has_a_checkpoint(tmp_path: Path) -> None:
    async with desk(repository(tmp_path)) as at:
        (tmp_path / "a.txt").write_text("mine")
        await at.agent.run_command("run echo theirs > a.txt; echo stall")
        await at.sees("tool.started", "tool.finished", "tool.started")
        await at.running.interrupt(at.agent.id)
        await at.sees("turn.interrupted", "checkpoint.made")
        assert (tmp_path / "a.txt").read_text() == "theirs\n"
        await at.agent.revert()
        assert (tmp_path / "a.txt").read_text() == "mine"
        assert await at.said() == []


async def test_a_failed_turn_has_a_checkpoint(tmp_path: Path) -> None:
    async with desk(repository(tmp_path)) as at:
        turn = await at.says("run touch a.txt; echo fail")
        assert (await at.agent.events())[-1].kind == "checkpoint.made"
        assert "failed" in [each.kind for each in await at.agent.events()][-2]
        await at.agent.revert(turn)
        assert files_of(tmp_path).keys() == set()


async def test_a_checkpoint_that_could_not_be_made_is_told_and_not_gone_back_to(
    tmp_path: Path,
) -> None:
    async with desk(repository(tmp_path), CheckpointLimits(max_untracked=100)) as at:
        await at.says("write a.txt one")
        await at.says("run head -c 200 /dev/zero > b.bin")
        after = await at.says("run true")
        assert await at.kinds() == [*["checkpoint.made"] * 3, "checkpoint.missed"]
        with pytest.raises(RefusedError, match="Add files that do not need checkpoints"):
            await at.agent.revert(after)
        (tmp_path / "b.bin").unlink()
        await at.says("write a.txt two")
        assert (await at.kinds())[-2:] == ["checkpoint.made", "checkpoint.made"]
        await at.agent.revert()
        assert (tmp_path / "a.txt").read_text() == "one"


async def test_what_was_not_saved_after_a_turn_is_saved_before_a_revert_or_stays(
    tmp_path: Path,
) -> None:
    async with desk(repository(tmp_path), CheckpointLimits(max_untracked=100)) as at:
        (tmp_path / "a.txt").write_text("mine")
        turn = await at.says("run echo theirs > a.txt; head -c 200 /dev/zero > b.bin")
        assert (await at.kinds())[-1] == "checkpoint.missed"
        said = (await at.agent.revert()).message  # whose own bounds are wider
        assert f"before turn {turn}: 1 file restored, 1 removed" in said
        assert files_of(tmp_path) == {"a.txt": ("file", b"mine")}


async def test_a_revert_does_not_pull_files_from_under_another_agent(tmp_path: Path) -> None:
    async with desk(repository(tmp_path)) as at:
        await at.says("write a.txt one")
        child = await at.agent.fork(name="child")
        await child.run_command("run sleep 60")
        with pytest.raises(RefusedError, match=f"sapwood interrupt {child.id}"):
            await at.agent.revert()
        await at.running.interrupt(child.id)
        await at.agent.revert()
        assert files_of(tmp_path) == {}


async def test_a_turn_is_told_for_completion_by_its_prompt(tmp_path: Path) -> None:
    async with desk(repository(tmp_path)) as at:
        first = await at.says("write a.txt one")
        await at.says("just talk")
        second = await at.says("write a.txt two")
        told = (await known_names(at.agent.connection, await at.agent.state())).turns
        assert told == ((str(second), "write a.txt two"), (str(first), "write a.txt one"))


async def test_undo_moves_the_context_alone(tmp_path: Path) -> None:
    async with desk(repository(tmp_path)) as at:
        await at.says("write a.txt one")
        said = await at.said()
        await at.agent.revert()
        await at.agent.undo()
        assert await at.said() == said
        assert files_of(tmp_path) == {}


async def test_only_turns_that_may_have_changed_files_make_checkpoints(tmp_path: Path) -> None:
    async with desk(repository(tmp_path)) as at:
        await at.says("just talk")
        await at.says("read a.txt")
        assert await at.kinds() == []
        await at.says("run true")
        assert await at.kinds() == ["checkpoint.made"]
        await at.says("just talk")
        assert await at.kinds() == ["checkpoint.made"]


async def test_a_checkpoint_of_a_turn_out_of_context_can_be_reverted_to(tmp_path: Path) -> None:
    async with desk(repository(tmp_path)) as at:
        await at.says("write a.txt one")
        turn = await at.says("write a.txt two")
        await at.agent.clear()
        await at.agent.revert(turn)
        assert (tmp_path / "a.txt").read_text() == "one"
        assert await at.said() == ["write a.txt one"]


async def test_nothing_of_the_users_repository_is_touched(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "a.txt").write_text("committed")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message=First")
    (tmp_path / "a.txt").write_text("staged")
    git(tmp_path, "add", ".")
    (tmp_path / "a.txt").write_text("edited")
    before = untouched(tmp_path)
    async with desk(tmp_path) as at:
        await at.says("write a.txt theirs")
        await at.agent.revert()
        assert untouched(tmp_path) == before
        assert (tmp_path / "a.txt").read_text() == "edited"


async def test_without_a_repository_turns_go_on_and_a_revert_says_what_to_do(
    tmp_path: Path,
) -> None:
    async with desk(tmp_path) as at:
        await at.says("write a.txt one")
        assert (tmp_path / "a.txt").read_text() == "one"
        with pytest.raises(RefusedError, match="type git init there"):
            await at.agent.revert()


async def test_a_turn_is_typed_as_it_is_shown(tmp_path: Path) -> None:
    async with desk(repository(tmp_path)) as at:
        turn = await at.says("write a.txt one")
        await at.says("write a.txt two")
        service = offline_service(at.agent.connection, Config())
        for typed in (str(turn), f"#{turn}", f" lead/{turn} "):
            done = await service.answer(at.agent.id, CommandStep(TABLE["revert"], typed))
            assert isinstance(done, FilesReverted)
            assert f"before turn {turn}" in done.message
        for typed in ("9" * 40, "-1", "٣", "one"):
            refused = await service.answer(at.agent.id, CommandStep(TABLE["revert"], typed))
            assert isinstance(refused, UnknownCheckpoint)
        refused = await service.answer(at.agent.id, CommandStep(TABLE["revert"], f"other/{turn}"))
        assert isinstance(refused, UnknownAgent)


async def test_an_unknown_turn_is_refused_with_those_there_are(tmp_path: Path) -> None:
    async with desk(repository(tmp_path)) as at:
        turn = await at.says("write a.txt one")
        with pytest.raises(
            RefusedError, match=f"no checkpoint at 99. Type /revert with turn {turn}."
        ):
            await at.agent.revert(99)
        started = [each for each in await at.agent.events() if each.kind == "turn.started"]
        version = started[-1].version
        with pytest.raises(RefusedError, match=f"turn {version} is now turn {turn}"):
            await at.agent.revert(version)


async def test_a_revert_waits_for_the_end_of_the_turn() -> None:
    connection = await connect(":memory:")
    agent = await Sapwood(connection).start("alone")
    async with agent.turn("mine"):
        with pytest.raises(RefusedError, match="press esc to interrupt"):
            await agent.revert()
    await connection.close()
