"""A checkpoint contains the whole worktree of any repository, and lists what it leaves out."""

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sapwood.core.checkpoint import LeftOut, Restored, Saved, Unsaved
from sapwood.core.ids import AgentId
from sapwood.core.settings import Workspace
from sapwood.workspace.checkpoints import checkpoint_save, git_command
from sapwood.workspace.checkpoints.checkpoint_save import CheckpointLimits
from sapwood.workspace.checkpoints.checkpoint_store import ref_of
from sapwood.workspace.checkpoints.git_checkpoints import GitCheckpoints
from tests.workspace.checkpoints.repositories import (
    AGENT,
    git,
    held,
    in_store,
    repository,
    saved,
    store_of,
    untouched,
)


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=Mine")


async def test_untracked_files_are_in_and_ignored_ones_are_not(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "tracked").write_text("1")
    commit(tmp_path)
    (tmp_path / "untracked").write_text("2")
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "x.log").write_text("3")
    assert held(tmp_path, await saved(tmp_path)) == [".gitignore", "tracked", "untracked"]


async def test_every_way_to_ignore_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top, rules = repository(tmp_path / "top"), tmp_path / "rules"
    rules.write_text("global\n")
    config = tmp_path / "config"
    config.write_text(f"[core]\n\texcludesFile = {rules}\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    (top / ".git" / "info").mkdir(exist_ok=True)
    (top / ".git" / "info" / "exclude").write_text("local\n")
    for name in ("global", "local", "in"):
        (top / name).write_text(name)
    assert held(top, await saved(top)) == ["in"]


async def test_a_tracked_file_is_in_though_a_rule_ignores_it(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "forced.log").write_text("1")
    commit(tmp_path)
    (tmp_path / ".gitignore").write_text("*.log\n")
    assert held(tmp_path, await saved(tmp_path)) == [".gitignore", "forced.log"]


async def test_a_tracked_file_in_an_ignored_folder_is_in(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "built").mkdir()
    (tmp_path / "built" / "forced").write_text("1")
    commit(tmp_path)
    (tmp_path / ".gitignore").write_text("built/\n")
    (tmp_path / "built" / "other").write_text("2")
    first = await saved(tmp_path)
    assert held(tmp_path, first) == [".gitignore", "built/forced"]
    assert await saved(tmp_path) == first
    (tmp_path / "built" / "forced").unlink()
    assert held(tmp_path, await saved(tmp_path)) == [".gitignore"]


async def test_a_tracked_file_is_in_though_the_worktree_starts_above(tmp_path: Path) -> None:
    project = repository(tmp_path / "project")
    git(project, "config", "core.worktree", "../..")
    (project / "built").mkdir()
    (project / "built" / "forced").write_text("1")
    (project / "tracked").write_text("1" * 10)
    git(project, "add", "--all", ".")
    (project / ".git" / "info").mkdir(exist_ok=True)
    (project / ".git" / "info" / "exclude").write_text("built/\n")
    (project / "built" / "other").write_text("2")
    files = await saved(project, CheckpointLimits(max_untracked=9))
    assert held(project, files) == ["built/forced", "tracked"]


async def test_a_checkpoint_covers_the_workspace_and_nothing_above(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / ".gitignore").write_text("/deep/down/built\n*.log\n")
    (tmp_path / "deep" / "down").mkdir(parents=True)
    (tmp_path / "above").write_text("1")
    for name in ("below", "built", "x.log"):
        (tmp_path / "deep" / "down" / name).write_text("2")
    assert held(tmp_path / "deep" / "down", await saved(tmp_path / "deep" / "down")) == ["below"]
    (tmp_path / "deep" / "down" / "below").unlink()
    assert held(tmp_path / "deep" / "down", await saved(tmp_path / "deep" / "down")) == []


async def test_a_linked_worktree_has_its_own_files_and_index(tmp_path: Path) -> None:
    main, side = repository(tmp_path / "main"), tmp_path / "side"
    (main / "a").write_text("1")
    commit(main)
    git(main, "worktree", "add", "--quiet", "-b", "side", str(side))
    (side / "b").write_text("2")
    before = untouched(main), untouched(side)
    assert held(main, await saved(main)) == ["a"]
    assert held(side, await saved(side)) == ["a", "b"]
    assert (untouched(main), untouched(side)) == before


async def test_a_detached_head_stays_where_it_is(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "a").write_text("1")
    commit(tmp_path)
    git(tmp_path, "checkout", "--quiet", "--detach")
    before = untouched(tmp_path)
    assert held(tmp_path, await saved(tmp_path)) == ["a"]
    assert untouched(tmp_path) == before


async def test_a_repository_with_longer_hashes(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--object-format=sha256")
    (tmp_path / "a").write_text("1")
    files = await saved(tmp_path)
    assert len(files.commit) == 64
    assert held(tmp_path, files) == ["a"]


async def test_repositories_inside_are_left_out_and_said(tmp_path: Path) -> None:
    repository(tmp_path)
    other = repository(tmp_path / "other")
    (other / "b").write_text("1")
    repository(tmp_path / "vendor" / "empty")
    (tmp_path / "a").write_text("2")
    commit(other)
    git(tmp_path, "-c", "protocol.file.allow=always", "submodule", "add", str(other), "sub")
    files = await saved(tmp_path)
    assert held(tmp_path, files) == [".gitmodules", "a"]
    assert set(files.left_out) == {
        LeftOut("other/", "repository"),
        LeftOut("sub/", "repository"),
        LeftOut("vendor/empty/", "repository"),
    }


async def test_what_is_too_large_is_left_out_and_said(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "small").write_bytes(b"x" * 10)
    (tmp_path / "large").write_bytes(b"x" * 11)
    files = await saved(tmp_path, CheckpointLimits(max_file=10))
    assert held(tmp_path, files) == ["small"]
    assert files.left_out == (LeftOut("large", "large"),)
    (tmp_path / "small").write_bytes(b"x" * 11)
    assert held(tmp_path, await saved(tmp_path, CheckpointLimits(max_file=10))) == []


@pytest.mark.parametrize("form", ["sha1", "sha256"])
async def test_an_empty_file_that_becomes_larger_than_memory_is_left_out_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    git(tmp_path, "init", "--quiet", f"--object-format={form}")
    (tmp_path / "in").mkdir()
    for name in ("a", "b", "in/new\nline"):
        (tmp_path / name).touch()
    assert held(tmp_path, await saved(tmp_path)) == ["a", "b", "in/new\nline"]
    for name in ("a", "in/new\nline"):
        os.truncate(tmp_path / name, 1 << 40)
    monkeypatch.setattr(git_command, "_TIMEOUT", 5.0)
    files = await saved(tmp_path)
    assert files.left_out == (LeftOut("a", "large"), LeftOut("in/new\nline", "large"))
    assert held(tmp_path, files) == ["b"]


@pytest.mark.parametrize("size", [2 << 30, 15 << 40], ids=["in memory", "larger than memory"])
async def test_an_ignore_file_that_git_cannot_read_is_named(tmp_path: Path, size: int) -> None:
    repository(tmp_path)
    (tmp_path / "a").touch()
    await saved(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / ".gitignore").touch()
    os.truncate(tmp_path / "sub" / ".gitignore", size)
    found = await GitCheckpoints().save(Workspace(str(tmp_path)), AGENT)
    assert isinstance(found, Unsaved)
    assert "sub/.gitignore" in found.reason
    assert "Delete it or make it smaller." in found.reason
    (tmp_path / "sub" / ".gitignore").unlink()
    assert held(tmp_path, await saved(tmp_path)) == ["a"]


async def test_too_much_at_once_is_not_saved_at_all(tmp_path: Path) -> None:
    repository(tmp_path)
    for name in "abc":
        (tmp_path / name).write_bytes(b"x" * 10)
    found = await GitCheckpoints(CheckpointLimits(max_untracked=29)).save(
        Workspace(str(tmp_path)), AGENT
    )
    assert isinstance(found, Unsaved)
    assert ".gitignore" in found.reason
    commit(tmp_path)
    assert held(tmp_path, await saved(tmp_path, CheckpointLimits(max_untracked=29))) == [
        "a",
        "b",
        "c",
    ]


async def test_the_log_itself_is_never_saved(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "sapwood.db").write_text("the log")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "journal").write_text("acts")
    (tmp_path / "a").write_text("1")
    bounds = CheckpointLimits(own=(str(tmp_path / "sapwood.db"), f"{tmp_path}/data/"))
    assert held(tmp_path, await saved(tmp_path, bounds)) == ["a"]


async def test_agents_that_share_a_folder_save_it_at_the_same_time(tmp_path: Path) -> None:
    repository(tmp_path)
    workspace, agents = Workspace(str(tmp_path)), [AgentId(f"agent{n}") for n in range(6)]
    for number in range(3):
        (tmp_path / "a").write_text(f"{number}")
        keepers = [GitCheckpoints().save(workspace, agent) for agent in agents]
        found = await asyncio.gather(*keepers)
        trees = {files.tree for files in found if isinstance(files, Saved)}
        assert (len(trees), len(found)) == (1, 6)
    assert store_of(tmp_path).files().run("fsck", "--strict") == b""


async def test_unchanged_files_make_no_second_commit(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "a").write_text("1")
    first = await saved(tmp_path)
    assert await saved(tmp_path) == first
    (tmp_path / "a").write_text("2")
    second = await saved(tmp_path)
    assert second != first
    parent = store_of(tmp_path).files().run("rev-parse", f"{second.commit}^")
    assert parent.decode().strip() == first.commit


async def test_a_change_within_the_same_moment_and_size_is_seen(tmp_path: Path) -> None:
    repository(tmp_path)
    trees = set[str]()
    for content in ("one", "two", "six", "ten"):
        (tmp_path / "a").write_text(content)
        trees.add((await saved(tmp_path)).tree)
    assert len(trees) == 4


async def test_checkpoints_do_not_die_with_the_repository(tmp_path: Path) -> None:
    repository(tmp_path)
    kept: list[Saved] = []
    for content in ("1", "2", "3"):
        (tmp_path / "a").write_text(content)
        commit(tmp_path)
        kept.append(await saved(tmp_path))
    shutil.rmtree(tmp_path / ".git")
    keeper, workspace = GitCheckpoints(), Workspace(str(tmp_path))
    assert [await keeper.holds(workspace, files) for files in kept] == [True, True, True]
    (tmp_path / "a").write_text("4")
    present = await saved(tmp_path)
    assert await keeper.restore(workspace, present, kept[0]) == Restored(written=1)
    assert (tmp_path / "a").read_text() == "1"


async def test_checkpoints_move_with_their_folder(tmp_path: Path) -> None:
    repository(tmp_path / "old")
    (tmp_path / "old" / "a").write_text("1")
    files = await saved(tmp_path / "old")
    (tmp_path / "old").rename(tmp_path / "new")
    (tmp_path / "new" / "a").write_text("2")
    present = await saved(tmp_path / "new")
    await GitCheckpoints().restore(Workspace(str(tmp_path / "new")), present, files)
    assert (tmp_path / "new" / "a").read_text() == "1"


async def test_a_checkpoint_whose_store_was_deleted_is_gone(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "a").write_text(str(tmp_path))  # no other store has this file
    first = await saved(tmp_path)
    shutil.rmtree(store_of(tmp_path).folder)
    assert await GitCheckpoints().holds(Workspace(str(tmp_path)), first) is False
    assert held(tmp_path, await saved(tmp_path)) == ["a"]


def open_to_others(folder: Path) -> list[Path]:
    """What others may do something with."""
    return [path for path in (folder, *folder.rglob("*")) if path.lstat().st_mode & 0o077]


async def test_only_the_owner_can_read_the_store(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "key").write_text("secret")
    (tmp_path / "key").chmod(0o600)
    await saved(tmp_path)
    store = store_of(tmp_path).folder
    assert not store.startswith(str(tmp_path))
    assert open_to_others(Path(store).parent) == []
    assert not (tmp_path / ".git" / "sapwood").exists()
    assert git(tmp_path, "for-each-ref") == ""


async def test_a_name_that_is_special_elsewhere_is_covered(tmp_path: Path) -> None:
    repository(tmp_path)
    for name in ("git~1", "a\\b", "aux", "c:d"):
        (tmp_path / name).write_text("1")
    assert held(tmp_path, await saved(tmp_path)) == ["a\\b", "aux", "c:d", "git~1"]


async def test_a_name_that_git_reserves_is_left_out_and_said(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / ".GIT").write_text("1")
    files = await saved(tmp_path)
    assert held(tmp_path, files) == []
    assert files.left_out == (LeftOut("in/.GIT", "name"),)


async def test_the_branch_is_recorded(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "a").write_text("1")
    commit(tmp_path)
    assert (await saved(tmp_path)).branch == "main"
    git(tmp_path, "switch", "--quiet", "--create", "fix/roof")
    assert (await saved(tmp_path)).branch == "fix/roof"
    git(tmp_path, "switch", "--quiet", "--detach")
    assert (await saved(tmp_path)).branch == "HEAD"


async def test_no_program_of_the_repositorys_is_run(tmp_path: Path) -> None:
    top, witness = repository(tmp_path / "top"), tmp_path / "ran"
    hooks = top / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "reference-transaction", "post-commit", "pre-commit"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {witness}\n")
        (hooks / name).chmod(0o755)
    for name, value in {
        "filter.f.clean": f"touch {witness}; cat",
        "filter.f.smudge": f"touch {witness}; cat",
        "core.fsmonitor": f"touch {witness}",
        "commit.gpgSign": "true",
        "gpg.program": f"touch {witness}",
        "diff.external": f"touch {witness}",
    }.items():
        git(top, "config", name, value)
    (top / ".gitattributes").write_text("* filter=f diff=f\n")
    (top / "a").write_text("1")
    first = await saved(top)
    (top / "a").write_text("2")
    second = await saved(top)
    await GitCheckpoints().restore(Workspace(str(top)), second, first)
    assert (top / "a").read_text() == "1"
    assert not witness.exists()


async def test_variables_that_lead_git_elsewhere_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top, other = repository(tmp_path / "top"), repository(tmp_path / "other")
    (top / "a").write_text("1")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "elsewhere"))
    files = await saved(top)
    monkeypatch.undo()
    assert held(top, files) == ["a"]


async def test_a_folder_with_a_line_break_in_its_name_is_told(tmp_path: Path) -> None:
    assert "line break" in await reason(str(repository(tmp_path / "odd\nname")))


async def reason(folder: str) -> str:
    found = await GitCheckpoints().save(Workspace(folder), AGENT)
    assert isinstance(found, Unsaved)
    return found.reason


async def test_where_there_is_no_repository_it_says_what_to_do(tmp_path: Path) -> None:
    assert "type git init there" in await reason(str(tmp_path))
    assert "has no workspace" in await reason("")
    assert "not on this machine" in await reason(str(tmp_path / "gone"))
    git(tmp_path, "init", "--quiet", "--bare", "bare")
    assert "type git init there" in await reason(str(tmp_path / "bare"))
    ignored = repository(tmp_path / "top") / "build"
    ignored.mkdir()
    (tmp_path / "top" / ".gitignore").write_text("/build/\n")
    assert "is ignored by the git repository around it" in await reason(str(ignored))


async def test_without_git_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "git, which is not installed" in await reason(str(tmp_path))


async def test_a_lock_that_a_killed_process_left_is_taken_away(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "a").write_text("1")
    await saved(tmp_path)
    in_store(tmp_path, "index.lock").touch()
    (tmp_path / "a").write_text("2")
    assert held(tmp_path, await saved(tmp_path)) == ["a"]


@pytest.mark.parametrize("file", ["index", "HEAD", "config"])
async def test_a_private_folder_that_a_crash_has_damaged_is_made_anew(
    tmp_path: Path, file: str
) -> None:
    repository(tmp_path)
    (tmp_path / "a").write_text("1")
    first = await saved(tmp_path)
    in_store(tmp_path, file).write_text("torn")
    assert await saved(tmp_path) == first
    (tmp_path / "a").write_text("2")
    assert await saved(tmp_path) != first


@pytest.mark.parametrize("name", ["a.lock", "..", "a b", "@{", "数据", "x/y", "-", "x" * 500])
def test_any_agent_has_a_ref_that_git_accepts(name: str) -> None:
    ref = ref_of(AgentId(name))
    assert subprocess.run(["git", "check-ref-format", ref], check=False).returncode == 0
    assert ref != ref_of(AgentId("other"))


async def test_git_that_waits_for_a_pipe_is_ended_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository(tmp_path)
    await saved(tmp_path)
    os.mkfifo(tmp_path / ".gitignore")
    monkeypatch.setattr(git_command, "_TIMEOUT", 1.0)
    monkeypatch.setattr(checkpoint_save, "reset_store", pytest.fail)
    files = await GitCheckpoints().save(Workspace(str(tmp_path)), AGENT)
    assert isinstance(files, Unsaved)
    assert "took longer" in files.reason
