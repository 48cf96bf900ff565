"""What existed and was not covered is recorded, and a restore never deletes or overwrites it."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sapwood.core.checkpoint import LeftOut, Restored, Saved
from sapwood.core.settings import Workspace
from sapwood.workspace.checkpoints.checkpoint_save import CheckpointLimits
from sapwood.workspace.checkpoints.git_checkpoints import GitCheckpoints
from tests.workspace.checkpoints.repositories import (
    files_of,
    git,
    held,
    in_store,
    modes_of,
    repository,
    saved,
    store_of,
)


async def restored(folder: Path, files: Saved, limits: CheckpointLimits | None = None) -> Restored:
    """Saves the present state and goes back."""
    present = await saved(folder, limits)
    found = await GitCheckpoints(limits).restore(Workspace(str(folder)), present, files)
    assert isinstance(found, Restored), found
    return found


async def test_a_nested_repository_that_lost_its_git_folder_stays(tmp_path: Path) -> None:
    repository(tmp_path)
    (repository(tmp_path / "lib" / "vendor") / "code").write_text("theirs")
    files = await saved(tmp_path)
    shutil.rmtree(tmp_path / "lib" / "vendor" / ".git")
    found = await restored(tmp_path, files)
    assert found.left == (LeftOut("lib/vendor/code", "repository"),)
    assert (tmp_path / "lib" / "vendor" / "code").read_text() == "theirs"


async def test_a_folder_that_became_a_repository_is_not_covered_any_more(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "code").write_text("1")
    files = await saved(tmp_path)
    repository(tmp_path / "lib")
    (tmp_path / "lib" / "code").write_text("2")
    assert held(tmp_path, await saved(tmp_path)) == []
    assert (await restored(tmp_path, files)).left == (LeftOut("lib/code", "repository"),)
    assert (tmp_path / "lib" / "code").read_text() == "2"


async def test_a_file_whose_exclude_line_was_removed_stays(tmp_path: Path) -> None:
    repository(tmp_path)
    exclude = tmp_path / ".git" / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_text("my.key\n/built/\n")
    (tmp_path / "my.key").write_text("secret")
    (tmp_path / "built").mkdir()
    (tmp_path / "built" / "out").write_text("1")
    files = await saved(tmp_path)
    exclude.write_text("")
    found = await restored(tmp_path, files)
    assert (found.removed, found.left) == (0, ())
    assert files_of(tmp_path).keys() == {"my.key", "built/out"}


async def test_an_ignored_folder_in_place_of_a_file_stays(tmp_path: Path) -> None:
    repository(tmp_path)
    for name in ("built/a", "built/b"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1")
    await saved(tmp_path)
    (tmp_path / ".gitignore").write_text("/built/\n")
    (tmp_path / "built" / "a").unlink()
    (tmp_path / "built" / "a").mkdir()
    (tmp_path / "built" / "a" / "inner").write_text("mine")
    files = await saved(tmp_path)
    assert held(tmp_path, files) == [".gitignore", "built/b"]
    (tmp_path / ".gitignore").unlink()  # from now on the folder is covered
    assert (await restored(tmp_path, files)).left == ()
    assert (tmp_path / "built" / "a" / "inner").read_text() == "mine"


async def test_a_repository_in_place_of_a_file_stays(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "lib").write_text("1")
    await saved(tmp_path)
    (tmp_path / "lib").unlink()
    (repository(tmp_path / "lib") / "code").write_text("theirs")
    files = await saved(tmp_path)
    assert files.left_out == (LeftOut("lib/", "repository"),)
    shutil.rmtree(tmp_path / "lib" / ".git")
    await restored(tmp_path, files)
    assert (tmp_path / "lib" / "code").read_text() == "theirs"


async def test_a_file_that_was_too_large_for_an_unchanged_tree_stays(tmp_path: Path) -> None:
    repository(tmp_path)
    limits = CheckpointLimits(max_file=10)
    (tmp_path / "a").write_text("1")
    first = await saved(tmp_path, limits)
    (tmp_path / "data").write_bytes(b"x" * 11)
    second = await saved(tmp_path, limits)
    assert first.tree != second.tree
    (tmp_path / "data").write_bytes(b"small")
    await restored(tmp_path, second, limits)
    assert (tmp_path / "data").read_bytes() == b"small"


_SCRIPT = """
import asyncio, json, os, sys
sys.path[:0] = json.loads(sys.argv[2])
from sapwood.core.ids import AgentId
from sapwood.core.settings import Workspace
from sapwood.workspace.checkpoints.git_checkpoints import GitCheckpoints

async def main(folder):
    keeper, workspace, agent = GitCheckpoints(), Workspace(folder), AgentId("a")
    await keeper.restore(workspace, *[await keeper.save(workspace, agent)] * 2)
    if os.geteuid() == 0:  # everything is imported, so the folder of Python need not be readable
        for base, _, names in os.walk(os.environ["SAPWOOD_DATA"]):
            for path in [base, *(os.path.join(base, name) for name in names)]:
                os.chown(path, 65534, 65534)
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    closed, alone = os.path.join(folder, "closed"), os.path.join(folder, "alone")
    await steps(keeper, workspace, agent, closed, alone)

asyncio.run(main(sys.argv[1]))
"""

_UNREADABLE_THEN = """
async def steps(keeper, workspace, agent, closed, alone):
    os.chmod(closed, 0)
    os.chmod(alone, 0)
    files = await keeper.save(workspace, agent)
    os.chmod(closed, 0o755)
    os.chmod(alone, 0o644)
    present = await keeper.save(workspace, agent)
    restored = await keeper.restore(workspace, present, files)
    print(sorted(each.path for each in files.left_out), restored.removed)
"""

_REPOSITORY_SHOWN = """
async def steps(keeper, workspace, agent, closed, alone):
    files = await keeper.save(workspace, agent)
    os.makedirs(os.path.join(closed, ".git", "objects"))
    os.makedirs(os.path.join(closed, ".git", "refs"))
    with open(os.path.join(closed, ".git", "HEAD"), "w") as head:
        head.write("ref: refs/heads/main")
    with open(os.path.join(closed, "file"), "w") as theirs:
        theirs.write("theirs")
    os.chmod(closed, 0o400)
    os.chmod(alone, 0o600)
    present = await keeper.save(workspace, agent)
    for to in (files, present):
        await keeper.restore(workspace, await keeper.save(workspace, agent), to)
        print(f"{os.stat(closed).st_mode & 0o777:o} {os.stat(alone).st_mode & 0o777:o}")
"""


def _as_another_user(top: Path, steps: str) -> str:
    """Takes these steps as a user who cannot read everything, and returns what was printed."""
    (top / "closed").mkdir()
    (top / "closed" / "file").write_text("mine")
    (top / "alone").write_text("mine")
    (top / "alone").chmod(0o644)
    if os.geteuid() == 0:
        for path in (top.parent, *top.parent.rglob("*")):
            os.chown(path, 65534, 65534)
    done = subprocess.run(
        [sys.executable, "-c", steps + _SCRIPT, str(top), json.dumps(sys.path)],
        env={"PATH": os.environ["PATH"], "SAPWOOD_DATA": str(top.parent / "data")},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_a_folder_that_could_not_be_read_then_stays() -> None:
    with tempfile.TemporaryDirectory() as folder:  # other users cannot enter pytest's own folders
        top = repository(Path(folder, "top"))
        assert _as_another_user(top, _UNREADABLE_THEN) == "['alone', 'closed/'] 0\n"
        assert files_of(top).keys() == {"closed/file", "alone"}


def test_a_repository_that_only_a_revert_could_see_stays() -> None:
    with tempfile.TemporaryDirectory() as folder:
        top = repository(Path(folder, "top"))
        assert _as_another_user(top, _REPOSITORY_SHOWN) == "400 644\n400 600\n"
        (top / "closed").chmod(0o755)
        assert (top / "closed" / "file").read_text() == "theirs"


async def test_permissions_come_back_exactly(tmp_path: Path) -> None:
    repository(tmp_path)
    for name, mode in {"key": 0o600, "run": 0o700, "open": 0o666, "late": 0o644}.items():
        (tmp_path / name).write_text("1")
        (tmp_path / name).chmod(mode)
    (tmp_path / "private").mkdir(mode=0o700)
    (tmp_path / "private" / "file").write_text("1")
    (tmp_path / "private" / "file").chmod(0o644)
    before = modes_of(tmp_path)
    files = await saved(tmp_path)
    for name in ("key", "private/file"):
        (tmp_path / name).unlink()
    (tmp_path / "private").rmdir()
    (tmp_path / "run").write_text("2")
    (tmp_path / "run").chmod(0o755)
    (tmp_path / "open").chmod(0o644)
    (tmp_path / "late").chmod(0o640)
    now = modes_of(tmp_path)
    present = await saved(tmp_path)
    assert await restored(tmp_path, files) == Restored(written=5)
    assert modes_of(tmp_path) == before
    await restored(tmp_path, present)
    assert modes_of(tmp_path) == now


async def test_a_change_of_permissions_alone_is_a_change(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "a").write_text("1")
    (tmp_path / "a").chmod(0o644)
    first = await saved(tmp_path)
    (tmp_path / "a").chmod(0o600)
    assert (await saved(tmp_path)).tree != first.tree


@pytest.mark.parametrize("kind", ["core.worktree", "dotfiles"])
async def test_nothing_outside_the_workspace_is_saved_or_restored(
    tmp_path: Path, kind: str
) -> None:
    home, project = tmp_path / "home", tmp_path / "home" / "project"
    if kind == "core.worktree":
        repository(project)
        git(project, "config", "core.worktree", "../..")
    else:
        repository(home)
        project.mkdir()
    (home / "diary").write_text("then")
    (project / "a").write_text("then")
    files = await saved(project)
    assert held(project, files) == ["a"]
    (home / "diary").write_text("now")
    (home / "later").write_text("now")
    (project / "a").write_text("now")
    await restored(project, files)
    assert (project / "a").read_text() == "then"
    assert ((home / "diary").read_text(), (home / "later").read_text()) == ("now", "now")


async def test_a_worktree_inside_the_workspace_is_not_touched(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "a").write_text("1")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message=Mine")
    files = await saved(tmp_path)
    git(tmp_path, "worktree", "add", "--quiet", "side")
    (tmp_path / "side" / "a").write_text("2")
    found = await restored(tmp_path, files)
    assert found == Restored()
    assert (tmp_path / "side" / "a").read_text() == "2"


async def test_permissions_that_were_not_recorded_stay(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "logs").mkdir(mode=0o700)
    (tmp_path / "logs" / "one.log").write_text("1")
    files = await saved(tmp_path)
    store = store_of(tmp_path).files()
    message = store.run("log", "-1", "--format=%B", files.commit)
    assert b"700 logs/\n" in message
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    commit = ("commit-tree", f"{files.commit}^{{tree}}")
    old = store.run(*identity, *commit, stdin=message.replace(b"700 logs/\n", b""))
    await restored(tmp_path, Saved(old.decode().strip(), files.tree))
    assert modes_of(tmp_path)["logs"] == 0o700


async def test_a_file_that_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    repository(tmp_path)
    await saved(tmp_path)
    (tmp_path / ".sapwood-0123456789abcdef").write_text("half")
    (tmp_path / "mine").write_text("mine")
    notes = in_store(tmp_path, "unfinished")
    left = [f"{tmp_path}/.sapwood-0123456789abcdef", f"{tmp_path}/mine"]
    notes.write_text("\0".join(left))
    assert held(tmp_path, await saved(tmp_path)) == ["mine"]
    assert not notes.exists()


_DEEP = """
import os
for _ in range(2_100):
    os.mkdir("d")
    os.chdir("d")
open("x", "w")
"""


def _run(*command: str, folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True)


async def test_folders_that_are_too_deep_for_a_path_are_not_covered(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "in").write_text("1")
    _run(sys.executable, "-c", _DEEP, folder=tmp_path)
    try:
        files = await saved(tmp_path)
    finally:
        _run("rm", "-rf", "d", folder=tmp_path)
    assert held(tmp_path, files) == ["in"]
    assert [each.why for each in files.left_out] == ["unreadable"]
