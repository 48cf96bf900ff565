"""Finds the git folder of a workspace, and says how it differs from an earlier one.

No symlink is followed: commands can make one. The file `.git` of a linked worktree names a folder
elsewhere, and it is believed only if the repository there names the worktree too.
"""

import os
import stat
from pathlib import Path
from typing import Literal

from msgspec import Struct

_WORDS = {"none": "missing", "folder": "a folder", "file": "a file", "link": "a link"}


class GitFolder(Struct, frozen=True):
    """What `.git` of a workspace is.

    `folders` are the git folders that commands need: of the repository, then of the linked
    worktree. They are absolute, exist, and can be outside the workspace. `within` is where the
    first of them was found: the workspace, or a folder above it.
    """

    kind: Literal["none", "folder", "file", "link"]
    folders: tuple[str, ...] = ()
    within: str = ""


def find_git_folder(root: str, home: str) -> GitFolder:
    """The git folder of the worktree around the folder `root`, as it is now.

    `root` and `home` contain no symlinks. A repository of the whole home folder is left out.
    """
    kind = _kind(os.path.join(root, ".git"))
    if kind == "none":
        return _above(root, home)
    return GitFolder(kind, _folders(root, kind), root)


def git_change(before: GitFolder, now: GitFolder) -> str:
    """How the git folder changed, in one sentence; empty if it did not."""
    if before == now:
        return ""
    if before.kind != now.kind:
        was, is_now = _WORDS[before.kind], _WORDS[now.kind]
        return f".git of this workspace was {was} at its first command and is {is_now} now."
    was, is_now = (each.folders[-1] if each.folders else "none" for each in (before, now))
    return f"The git folder of this workspace was {was} at its first command and is {is_now} now."


def _above(root: str, home: str) -> GitFolder:
    for folder in map(str, Path(root).parents):
        if folder == home:
            break
        kind = _kind(os.path.join(folder, ".git"))
        if kind != "none":
            return GitFolder("none", _folders(folder, kind), folder)
    return GitFolder("none")


def _kind(path: str) -> Literal["none", "folder", "file", "link"]:
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return "none"
    if stat.S_ISLNK(mode):
        return "link"
    return "folder" if stat.S_ISDIR(mode) else "file"


def _folders(folder: str, kind: str) -> tuple[str, ...]:
    entry = os.path.join(folder, ".git")
    if kind == "folder":
        return (entry,)
    return _folders_of_worktree(entry) if kind == "file" else ()


def _folders_of_worktree(entry: str) -> tuple[str, ...]:
    """The git folders that the file `.git` of a linked worktree names, if they name it too."""
    named = _content(entry)
    if not named.startswith("gitdir: "):
        return ()
    own = os.path.realpath(os.path.join(os.path.dirname(entry), named.removeprefix("gitdir: ")))
    back, common = (_content(os.path.join(own, name)) for name in ("gitdir", "commondir"))
    if not back or not common or os.path.realpath(os.path.join(own, back)) != entry:
        return ()
    shared = os.path.realpath(os.path.join(own, common))
    # Whoever may write there may change the repository anyway.
    is_listed = os.path.dirname(own) == os.path.join(shared, "worktrees")
    return (shared, own) if is_listed and _kind(os.path.join(shared, "HEAD")) == "file" else ()


def _content(path: str) -> str:
    """The text of a small regular file; empty if it is something else."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return ""
        return os.fsdecode(file.read(4096)).strip()
