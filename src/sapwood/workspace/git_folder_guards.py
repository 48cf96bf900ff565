"""What commands in the sandbox may not write in a git folder, and what they left there.

Git needs its folder to be writable, because it makes a lock file beside each file that it changes.
The files that name programs or other folders are read-only. Git would run those programs outside
the sandbox, at the person's next `git status`.
"""

import os
import stat
from collections.abc import Iterator

from sapwood.workspace.mount_points import MountPoint
from sapwood.workspace.safe_paths import folder_handle, make_accessible, open_path
from sapwood.workspace.tool_output import ToolError

_FOLDERS = ("branches", "hooks", "info", "modules", "remotes", "worktrees")
_FILES = {"config": "", "config.worktree": "", "commondir": ".\n"}
"""With their content where they are missing. `commondir` then means the git folder itself."""
_FILES_OF_WORKTREE = {"config.worktree": "", "commondir": ".\n", "gitdir": ""}
_READABLE = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NOT_SEARCHED = frozenset({"objects", *_FOLDERS})


def read_only_in(folder: str, of_worktree: bool = False) -> list[MountPoint]:
    """What has to be read-only in a git folder, also where it does not exist.

    `of_worktree` is for the folder of a linked worktree, which is in that of its repository.
    """
    files = _FILES_OF_WORKTREE if of_worktree else _FILES
    folders = () if of_worktree else _FOLDERS
    points = [MountPoint(os.path.join(folder, name)) for name in folders]
    return [*points, *(MountPoint(os.path.join(folder, n), text) for n, text in files.items())]


def require_no_links(points: list[MountPoint]) -> None:
    """Raises `ToolError` if one of these is a symlink: nothing can be mounted in its place."""
    for point in points:
        if os.path.islink(point.path):
            raise ToolError(
                f"No command was run: {point.path} is a link, so the sandbox cannot protect what "
                "git runs. Tell the user to replace the link with what it points to."
            )


def linked_hooks(folder: str) -> list[str]:
    """The links among the hooks of a git folder: git runs what they lead to."""
    try:
        with os.scandir(os.path.join(folder, "hooks")) as hooks:
            return [each.path for each in hooks if each.is_symlink()]
    except OSError:
        return []


def unusual_in(folder: str) -> set[str]:
    """The symlinks, pipes and sockets in a git folder, except among its objects.

    Git opens some files there for writing without looking what they are. A link in place of
    COMMIT_EDITMSG would make the person's next commit write to where the link leads.
    """
    return set(_unusual(folder))


def remove_unusual(paths: set[str]) -> Iterator[str]:
    """Removes these links, pipes and sockets. Yields a sentence about each that was there."""
    for path in sorted(paths):
        parent, name = os.path.split(path)
        try:
            with folder_handle(parent) as folder:
                mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
                if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
                    continue
                os.unlink(name, dir_fd=folder)
                yield f"Removed {path}: git would follow it."
        except FileNotFoundError:
            continue
        except OSError as error:
            yield f"Could not remove {path} ({error.strerror}): git follows it. Tell the user."


def _unusual(folder: str) -> Iterator[str]:
    """Searches by paths from the git folder on: those that are too long are so for git too."""
    make_accessible(folder)
    try:
        top = open_path(folder)
    except OSError:
        return
    try:
        folders = [""]
        while folders:
            at = folders.pop()
            for name, kind in _kinds(top, at, os.path.join(folder, at)):
                path = os.path.join(at, name)
                if kind == "folder":
                    if at or name not in _NOT_SEARCHED:
                        folders.append(path)
                elif kind == "other":
                    yield os.path.join(folder, path)
    finally:
        os.close(top)


def _kinds(top: int, path: str, whole: str) -> list[tuple[str, str]]:
    """The names in a folder with what they are; `top` is a descriptor of one above it."""
    for _ in range(2):
        try:
            handle = os.open(path or ".", _READABLE, dir_fd=top)
        except PermissionError:
            make_accessible(whole)  # git can enter a folder that nobody can list
            continue
        except OSError:
            return []
        try:
            with os.scandir(handle) as entries:
                return [(each.name, _kind(each)) for each in entries]
        finally:
            os.close(handle)
    return []


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) else "other"
