"""Git worktrees for agents: a folder and a branch of their own, beside the repository.

A worktree is made from the commit that the agent's folder is on. It is removed only if git finds no
changed and no new file in it, whatever the user has configured git to overlook; the branch with its
commits always stays.
"""

import os
import re
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, structs

from sapwood.core.plural import counted
from sapwood.core.refusals import BranchExists, NoRepository, Refusal, WorktreeNotMade
from sapwood.core.settings import Workspace
from sapwood.workspace.checkpoints.git_command import Git, GitError, with_settings

_NOT_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")
_SEES_ALL = with_settings(
    {
        "status.showUntrackedFiles": "all",
        "core.ignoreCase": "false",
        "core.ignoreStat": "false",
        "core.trustctime": "true",
        "core.checkStat": "default",
    }
)
"""Settings with which git overlooks no new and no changed file, also when it removes a worktree."""


class AddedWorktree(Struct, frozen=True):
    """A new worktree, and a sentence about changes that are not in it; empty if there are none."""

    workspace: Workspace
    notice: str = ""


def add_worktree(workspace: Workspace, branch: str) -> AddedWorktree | Refusal:
    """Makes a worktree with a new branch, from the commit that the workspace is on.

    It lies beside the repository, in a folder named after both. The workspace keeps its project
    folder. Returns a refusal, and changes nothing, if there is no repository or no commit, or if
    the branch or the folder exists.
    """
    folder = workspace.worktree or workspace.folder
    if not folder or not os.path.isdir(folder):
        return NoRepository(folder)
    git = Git(folder, _SEES_ALL)
    try:
        top = Path(_line(git.run("rev-parse", "--show-toplevel")))
        commit = _line(git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}", codes=(0, 1)))
    except GitError:
        return NoRepository(folder)
    if not commit:
        return NoRepository(folder, "has no commit")
    place = _place(git, top, branch)
    try:
        if refused := _name_problem(git, branch, place):
            return refused
        git.run("worktree", "add", "--quiet", "-b", branch, "--", str(place), commit)
        changed = len(_changed(git))
    except GitError as error:
        return WorktreeNotMade(branch, str(error))
    within = _within(place, top, Path(folder))
    added = structs.replace(workspace, worktree=str(within), branch=branch)
    return AddedWorktree(added, _notice(changed, folder))


def remove_worktree(workspace: Workspace) -> str:
    """Removes the worktree if nothing in it would be lost. Returns a sentence that says so, or why
    it stays; empty if the workspace has none.
    """
    if not workspace.worktree or not workspace.branch:
        return ""
    place = Path(workspace.worktree)
    if not place.is_dir():
        return ""
    kept = f"The worktree {place} stays"
    try:
        top = _line(Git(str(place), {}).run("rev-parse", "--show-toplevel"))
        git = Git(top, _SEES_ALL)
        if count := len(_overlooked(git) | _changed(git)):
            files = "1 file is" if count == 1 else f"{count} files are"
            return (
                f"{kept}: {files} changed or new there. Commit them, then type: git worktree "
                f"remove {top}"
            )
        Git(str(_main_folder(git)), _SEES_ALL).run("worktree", "remove", "--", top)
    except GitError as error:
        return f"{kept}: {error}. To remove it, type: git worktree remove {place}"
    return f"Removed the worktree {top}. Its branch {workspace.branch} is kept."


def drop_worktree(workspace: Workspace) -> None:
    """Removes a new worktree and its branch, as if they had not been made. Ignores errors."""
    with suppress(GitError):
        git = Git(workspace.worktree, {})
        top = _line(git.run("rev-parse", "--show-toplevel"))
        main = Git(str(_main_folder(git)), _SEES_ALL)
        main.run("worktree", "remove", "--", top)
        main.run("branch", "--quiet", "-D", "--", workspace.branch)


def restore_worktree(workspace: Workspace) -> str:
    """Makes a removed worktree again, from its branch. Returns a sentence; empty if it is there."""
    if not workspace.worktree or not workspace.branch or os.path.isdir(workspace.worktree):
        return ""
    git = Git(workspace.folder, {})
    try:
        top = Path(_line(git.run("rev-parse", "--show-toplevel")))
        place = _place(git, top, workspace.branch)
        git.run("worktree", "prune")
        git.run("worktree", "add", "--quiet", "--", str(place), workspace.branch)
    except GitError as error:
        return f"The worktree {workspace.worktree} could not be restored: {error}."
    return f"Restored the worktree {place} on branch {workspace.branch}."


def _changed(git: Git) -> set[bytes]:
    """The changed and the new files that git finds."""
    options = ("-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=none")
    found = git.run("status", "--porcelain=v1", *options)
    return {each[3:] for each in found.split(b"\0") if each}


def _overlooked(git: Git) -> set[bytes]:
    """The files that exist and that git skips because of a flag in the index (skip-worktree).

    The other such flag (assume-unchanged) is taken off changed files, so that git finds them.
    """
    git.run("update-index", "-q", "--really-refresh", codes=(0, 1))
    entries = git.run("ls-files", "-v", "-z").split(b"\0")
    skipped = {each[2:] for each in entries if each[:1] in (b"S", b"s")}
    folder = os.fsencode(git.folder)
    return {path for path in skipped if os.path.lexists(os.path.join(folder, path))}


def _place(git: Git, top: Path, branch: str) -> Path:
    """The folder of a worktree: beside the first folder of the repository, with its name."""
    first = top
    with suppress(GitError):
        first = _main_folder(git)
    return first.parent / f"{first.name}-{_NOT_PLAIN.sub('-', branch).strip('-.') or 'worktree'}"


def _main_folder(git: Git) -> Path:
    """The folder of the repository itself, which git lists before its worktrees."""
    first = git.run("worktree", "list", "--porcelain").split(b"\n", 1)[0]
    return Path(os.fsdecode(first.removeprefix(b"worktree ")))


def _name_problem(git: Git, branch: str, place: Path) -> Refusal | None:
    try:
        git.run("check-ref-format", "--branch", branch)
    except GitError:
        return WorktreeNotMade(branch, "that is not a valid branch name")
    reference = f"refs/heads/{branch}"
    if git.run("rev-parse", "--verify", "--quiet", reference, codes=(0, 1)).strip():
        return BranchExists(branch)
    if os.path.lexists(place):
        return WorktreeNotMade(branch, f"the folder {place} exists already")
    return None


def _within(place: Path, top: Path, folder: Path) -> Path:
    """The place in the worktree that corresponds to the folder, if that is in the commit."""
    with suppress(ValueError):
        same = place / folder.resolve().relative_to(top.resolve())
        if same.is_dir():
            return same
    return place


def _notice(changed: int, folder: str) -> str:
    if not changed:
        return ""
    files = counted(changed, "changed file")
    return f"It starts from the last commit, without {files} in {folder}."


def _line(output: bytes) -> str:
    return os.fsdecode(output.strip(b"\r\n"))
