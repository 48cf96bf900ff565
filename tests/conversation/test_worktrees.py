"""`/fork --worktree` and `/start --worktree`: a git worktree and a branch of the agent's own."""

import subprocess
from pathlib import Path

import pytest

from sapwood.conversation.answers import Changed, ConversationStarted, Forked
from sapwood.conversation.call import ModelCall, Services
from sapwood.conversation.script import CommandStep
from sapwood.conversation.service import ConversationService
from sapwood.core.checkpoint import Saved
from sapwood.core.command_table import SLASH, TABLE
from sapwood.core.commands import StartAgent
from sapwood.core.content import ToolCall
from sapwood.core.ids import AgentId
from sapwood.core.refusals import (
    BadArguments,
    BranchExists,
    NoRepository,
    Refusal,
    UnknownMark,
    WorktreeNotMade,
)
from sapwood.core.settings import Settings, Workspace
from sapwood.workspace.checkpoints.checkpoint_save import CheckpointLimits
from sapwood.workspace.checkpoints.git_checkpoints import GitCheckpoints
from tests.conversation.spaces import TestSpace, service_of
from tests.store.memory_log import MemoryLog
from tests.turns.commanding import AGENT, Desk


def git(folder: Path, *words: str) -> str:
    """Runs git in a folder, without the configuration of the machine."""
    variables = ("user.name=Ann", "user.email=ann@example.com", "init.defaultBranch=main")
    options = [word for each in variables for word in ("-c", each)]
    done = subprocess.run(
        ["git", *options, *words], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with one commit and a folder in it."""
    project = tmp_path / "heron"
    (project / "docs").mkdir(parents=True)
    (project / "docs" / "note.md").write_text("first\n")
    (project / ".gitignore").write_text("build/\n")
    git(project, "init", "--quiet")
    git(project, "add", ".")
    git(project, "commit", "--quiet", "-m", "Start")
    return project


@pytest.fixture
async def desk(log: MemoryLog, project: Path) -> Desk:
    """An agent that works in the repository."""
    desk = Desk(log)
    await works_in(desk, project)
    return desk


async def works_in(desk: Desk, folder: Path, agent: AgentId = AGENT) -> None:
    workspace = Workspace(folder=str(folder))
    await desk.do(StartAgent(agent, settings=Settings("scripted"), workspace=workspace))


def is_folder(path: Path) -> bool:
    return path.is_dir()


async def runs(desk: Desk, name: str, args: str = "", agent: AgentId = AGENT) -> object:
    return await service_of(desk).answer(agent, CommandStep(TABLE[name], args))


async def forks(desk: Desk, args: str) -> Forked:
    answer = await runs(desk, "fork", args)
    assert isinstance(answer, Forked), answer
    return answer


async def workspace_of(desk: Desk, agent: AgentId) -> Workspace:
    return (await desk.dispatcher.open(agent)).state.workspace


async def test_a_fork_gets_a_worktree_and_a_branch(desk: Desk, project: Path) -> None:
    answer = await forks(desk, "--worktree fix-leak -- Fix the leak.")
    workspace = await workspace_of(desk, answer.child)
    assert workspace == Workspace(str(project), str(project.parent / "heron-fix-leak"), "fix-leak")
    assert git(Path(workspace.worktree), "branch", "--show-current") == "fix-leak"
    assert "on branch fix-leak" in answer.message
    assert await workspace_of(desk, AGENT) == Workspace(str(project))


async def test_without_a_name_the_branch_is_named_after_the_child(desk: Desk) -> None:
    await runs(desk, "mark", "HERE")
    answer = await forks(desk, "HERE --worktree")
    workspace = await workspace_of(desk, answer.child)
    assert workspace.branch == f"sapwood/{answer.child}"
    assert Path(workspace.worktree).name == f"heron-sapwood-{answer.child}"


async def test_a_folder_in_the_repository_keeps_its_place(log: MemoryLog, project: Path) -> None:
    desk = Desk(log)
    await works_in(desk, project / "docs")
    answer = await forks(desk, "--worktree words")
    workspace = await workspace_of(desk, answer.child)
    assert workspace.worktree == str(project.parent / "heron-words" / "docs")


async def test_a_conversation_starts_in_a_worktree(desk: Desk, project: Path) -> None:
    answer = await runs(desk, "start", "--worktree other")
    assert isinstance(answer, ConversationStarted)
    workspace = await workspace_of(desk, answer.agent)
    assert workspace.branch == "other"
    assert (Path(workspace.worktree) / "docs" / "note.md").read_text() == "first\n"


async def test_files_that_are_not_committed_are_not_in_it_and_that_is_said(
    desk: Desk, project: Path
) -> None:
    (project / "docs" / "note.md").write_text("second\n")
    (project / "new.txt").write_text("new\n")
    answer = await forks(desk, "--worktree fresh")
    assert "2 changed files" in answer.message
    workspace = await workspace_of(desk, answer.child)
    assert (Path(workspace.worktree) / "docs" / "note.md").read_text() == "first\n"
    assert (project / "docs" / "note.md").read_text() == "second\n"


async def test_a_branch_that_exists_is_refused(desk: Desk, project: Path) -> None:
    git(project, "branch", "taken")
    assert await runs(desk, "fork", "--worktree taken") == BranchExists("taken")
    assert not (project.parent / "heron-taken").exists()


async def test_a_folder_that_exists_is_refused_and_left_alone(desk: Desk, project: Path) -> None:
    there = project.parent / "heron-busy"
    there.mkdir()
    answer = await runs(desk, "fork", "--worktree busy")
    assert isinstance(answer, WorktreeNotMade)
    assert str(there) in answer.sentence
    assert git(project, "branch", "--list", "busy") == ""


@pytest.mark.parametrize("name", ["-x", "a..b", "HEAD~1", "x.lock"])
async def test_a_bad_name_is_refused(desk: Desk, name: str) -> None:
    assert isinstance(await runs(desk, "fork", f"--worktree {name}"), WorktreeNotMade)


async def test_no_repository_and_no_commit_are_refused(log: MemoryLog, tmp_path: Path) -> None:
    desk, bare = Desk(log), tmp_path / "bare"
    bare.mkdir()
    await works_in(desk, bare)
    assert isinstance(await runs(desk, "fork", "--worktree x"), NoRepository)
    git(bare, "init", "--quiet")
    answer = await runs(desk, "fork", "--worktree x")
    assert isinstance(answer, NoRepository)
    assert "has no commit" in answer.sentence


async def test_a_refused_fork_leaves_no_worktree_and_no_branch(desk: Desk, project: Path) -> None:
    assert isinstance(await runs(desk, "fork", "NOWHERE --worktree gone"), UnknownMark)
    assert not (project.parent / "heron-gone").exists()
    assert git(project, "branch", "--list", "gone") == ""


async def test_a_clean_worktree_is_removed_on_archive_and_its_branch_is_kept(
    desk: Desk, project: Path
) -> None:
    child = (await forks(desk, "--worktree done")).child
    place = Path((await workspace_of(desk, child)).worktree)
    (place / "made.txt").write_text("made\n")
    git(place, "add", ".")
    git(place, "commit", "--quiet", "-m", "Make")
    answer = await runs(desk, "archive", agent=child)
    assert isinstance(answer, Changed)
    assert f"Removed the worktree {place}." in answer.message
    assert not is_folder(place)
    assert git(project, "show", "done:made.txt") == "made"


async def test_an_unarchived_agent_gets_its_worktree_again(desk: Desk) -> None:
    child = (await forks(desk, "--worktree back")).child
    place = Path((await workspace_of(desk, child)).worktree)
    await runs(desk, "archive", agent=child)
    answer = await runs(desk, "unarchive", agent=child)
    assert isinstance(answer, Changed)
    assert "Restored the worktree" in answer.message
    assert git(place, "branch", "--show-current") == "back"


@pytest.mark.parametrize("name", ["new.txt", "docs/note.md"])
async def test_a_changed_worktree_is_never_removed(desk: Desk, name: str) -> None:
    child = (await forks(desk, "--worktree dirty")).child
    place = Path((await workspace_of(desk, child)).worktree)
    (place / name).write_text("changed\n")
    answer = await runs(desk, "archive", agent=child)
    assert isinstance(answer, Changed)
    assert "1 file is changed or new there" in answer.message
    assert (place / name).read_text() == "changed\n"


@pytest.mark.parametrize(
    ("setting", "value", "name"),
    [
        ("status.showUntrackedFiles", "no", "new.txt"),
        ("status.showUntrackedFiles", "no", "folder/new.txt"),
        ("core.ignoreCase", "true", "docs/NOTE.md"),
        ("core.ignoreStat", "true", "docs/note.md"),
    ],
)
async def test_work_that_a_setting_of_git_hides_is_kept(
    desk: Desk, project: Path, setting: str, value: str, name: str
) -> None:
    git(project, "config", setting, value)
    child = (await forks(desk, "--worktree hidden")).child
    place = Path((await workspace_of(desk, child)).worktree)
    (place / name).parent.mkdir(exist_ok=True)
    (place / name).write_text("work\n")
    answer = await runs(desk, "archive", agent=child)
    assert isinstance(answer, Changed)
    assert "1 file is changed or new there" in answer.message
    assert (place / name).read_text() == "work\n"


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
async def test_a_changed_file_that_git_was_told_to_overlook_is_kept(desk: Desk, flag: str) -> None:
    child = (await forks(desk, "--worktree flagged")).child
    place = Path((await workspace_of(desk, child)).worktree)
    git(place, "update-index", flag, "docs/note.md")
    (place / "docs" / "note.md").write_text("work\n")
    answer = await runs(desk, "archive", agent=child)
    assert isinstance(answer, Changed)
    assert "1 file is changed or new there" in answer.message
    assert (place / "docs" / "note.md").read_text() == "work\n"


async def test_a_worktree_made_of_some_folders_only_is_removed(desk: Desk) -> None:
    child = (await forks(desk, "--worktree sparse")).child
    place = Path((await workspace_of(desk, child)).worktree)
    git(place, "sparse-checkout", "set", "nothing-else")
    assert not is_folder(place / "docs")
    await runs(desk, "archive", agent=child)
    assert not is_folder(place)


async def test_new_files_are_counted_whatever_git_is_configured_to_hide(
    desk: Desk, project: Path
) -> None:
    git(project, "config", "status.showUntrackedFiles", "no")
    (project / "new.txt").write_text("new\n")
    assert "1 changed file" in (await forks(desk, "--worktree fresh")).message


async def test_a_worktree_that_another_agent_uses_stays(desk: Desk) -> None:
    child = (await forks(desk, "--worktree both")).child
    place = Path((await workspace_of(desk, child)).worktree)
    answer = await runs(desk, "fork", agent=child)
    assert isinstance(answer, Forked)
    archived = await runs(desk, "archive", agent=child)
    assert isinstance(archived, Changed)
    assert "another agent is working there" in archived.message
    assert is_folder(place)
    await runs(desk, "archive", agent=answer.child)
    assert not is_folder(place)


async def test_an_agent_without_a_worktree_is_archived_as_before(desk: Desk, project: Path) -> None:
    answer = await runs(desk, "archive")
    assert isinstance(answer, Changed)
    assert answer.message == f"Archived {AGENT}."
    assert is_folder(project)


async def test_checkpoints_save_and_restore_the_worktree(
    desk: Desk, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAPWOOD_DATA", str(tmp_path / "data"))
    child = (await forks(desk, "--worktree saved")).child
    workspace = await workspace_of(desk, child)
    checkpoints = GitCheckpoints(CheckpointLimits())
    saved = await checkpoints.save(workspace, child)
    assert isinstance(saved, Saved)
    assert saved.branch == "saved"
    note = Path(workspace.worktree) / "docs" / "note.md"
    note.write_text("worse\n")
    service = ConversationService(
        Services(TestSpace(desk.log, desk.space, desk.dispatcher), checkpoints=lambda: checkpoints)
    )
    assert isinstance(await service.checkpoint(child), Changed)
    assert (project / "docs" / "note.md").read_text() == "first\n"


async def test_a_model_cannot_ask_for_a_worktree(desk: Desk) -> None:
    state = (await desk.dispatcher.open(AGENT)).state
    caller = ModelCall(state, ToolCall("c1", SLASH, "{}"), "scripted")
    step = CommandStep(TABLE["fork"], "--worktree mine")
    answer = await service_of(desk).answer(AGENT, step, caller=caller)
    assert isinstance(answer, Refusal)
    assert isinstance(answer, BadArguments)
