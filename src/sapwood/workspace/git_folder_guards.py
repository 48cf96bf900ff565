"""What commands in the sandbox may not write in a git folder, and what they left there.

Git needs its folder to be writable, because it makes a lock file beside each file that it changes.
The files that name programs or other folders are read-only. Git would run those programs outside
the sandbox, at the person's next `git status`.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress

from sapwood.workspace.mount_points import MountPoint
from sapwood.workspace.safe_paths import folder_handle, make_accessible
from sapwood.workspace.tool_output import ToolError

_FOLDERS = ("branches", "hooks", "info", "modules", "remotes", "worktrees")
_FILES = {"config": "", "config.worktree": "", "commondir": ".\n"}
"""With their content where they are missing. `commondir` then means the git folder itself."""
_FILES_OF_WORKTREE = {"config.worktree": "", "commondir": ".\n", "gitdir": ""}
_NOT_SEARCHED = frozenset({"objects", *_FOLDERS})
_MAX_DEPTH = 20


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


def hook_targets(folder: str, root: str) -> list[str]:
    """The files of the workspace to which links among the hooks lead: git runs these too."""
    hooks = os.path.join(folder, "hooks")
    try:
        links = [each.path for each in os.scandir(hooks) if each.is_symlink()]
    except OSError:
        return []
    targets = {os.path.realpath(link) for link in links}
    return [
        each for each in sorted(targets) if each.startswith(f"{root}/") and os.path.exists(each)
    ]


def unusual_in(folder: str) -> set[str]:
    """The symlinks, pipes and sockets in a git folder, except among its objects.

    Git opens some files there for writing without looking what they are. A link in place of
    COMMIT_EDITMSG would make the person's next commit write to where the link leads.
    """
    return set(_unusual(folder, _NOT_SEARCHED))


def remove_unusual(paths: set[str]) -> list[str]:
    """Removes these links, pipes and sockets. Returns the paths of those that were there."""
    removed: list[str] = []
    for path in sorted(paths):
        parent, name = os.path.split(path)
        with suppress(OSError), folder_handle(parent) as folder:
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                os.unlink(name, dir_fd=folder)
                removed.append(path)
    return removed


def _unusual(folder: str, skipped: frozenset[str], depth: int = 0) -> Iterator[str]:
    make_accessible(folder)
    try:
        with os.scandir(folder) as found:
            entries = list(found)
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in skipped and depth < _MAX_DEPTH:
                yield from _unusual(entry.path, frozenset(), depth + 1)
        elif not entry.is_file(follow_symlinks=False):
            yield entry.path
