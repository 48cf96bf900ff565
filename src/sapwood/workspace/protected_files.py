"""The protected files and folders of a workspace, for commands in the sandbox.

What is protected is decided by `PathGuards`, as for the tools that write files. Commands get what
exists read-only. What appears at such a place while a command runs is renamed afterwards.
"""

import os
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress

from sapwood.workspace.permissions.guarded_paths import PathGuards
from sapwood.workspace.safe_paths import ResolvedPath, folder_handle

_MAX_ENTRIES = 20_000
"""How many files and folders are looked at, those near the top first."""
_MAX_LEVELS = 60
_MAX_NAMES = 100


def find_protected(root: str, guards: PathGuards) -> list[str]:
    """What is protected in a workspace, as paths from its folder on; git folders are left out.

    It looks at folders near the top first, and not at all.
    """
    protected: list[str] = []
    folders, looked_at = deque([""]), 0
    while folders and looked_at < _MAX_ENTRIES:
        folder = folders.popleft()
        for name, is_folder in _entries(os.path.join(root, folder)):
            looked_at += 1
            path = os.path.join(folder, name)
            if name == ".git":
                continue
            if _is_protected(root, path, is_folder, guards):
                protected.append(path)
            elif is_folder and path.count("/") < _MAX_LEVELS:
                folders.append(path)
    return protected


def protected_in(
    root: str, folders: Iterable[str], guards: PathGuards
) -> dict[str, tuple[int, int]]:
    """The protected entries that are directly in these folders, with their identities."""
    found: dict[str, tuple[int, int]] = {}
    for folder in folders:
        for name, is_folder in _entries(os.path.join(root, folder)):
            path = os.path.join(folder, name)
            if name != ".git" and _is_protected(root, path, is_folder, guards):
                with suppress(OSError):
                    status = os.lstat(os.path.join(root, path))
                    found[path] = (status.st_dev, status.st_ino)
    return found


def set_aside(root: str, path: str) -> str:
    """Renames an entry so that no program takes it for what it was. Returns its new path.

    Raises `OSError` if that is not possible.
    """
    folder, name = os.path.split(path)
    with folder_handle(os.path.join(root, folder)) as parent:
        taken = set(os.listdir(os.path.join(root, folder)))
        names = (f"{name}.set-aside{number or ''}" for number in range(_MAX_NAMES))
        new = next(each for each in names if each not in taken)
        os.rename(name, new, src_dir_fd=parent, dst_dir_fd=parent)
    return os.path.join(folder, new)


def _is_protected(root: str, path: str, is_folder: bool, guards: PathGuards) -> bool:
    place = ResolvedPath(root, os.path.join(root, path), path)
    # Only for folders, whether git takes them for a repository or for hooks: that reads files.
    against = guards.against_writing if is_folder else guards.against_writing_name
    return bool(against(place))


def _entries(folder: str) -> Iterator[tuple[str, bool]]:
    """The names in a folder, and whether each is a folder. Names that are no text are left out."""
    try:
        with os.scandir(folder) as found:
            entries = [(each.name, each.is_dir(follow_symlinks=False)) for each in found]
    except OSError:
        return
    for name, is_folder in entries:
        if name.isascii() or name.encode("utf-8", "replace").decode() == name:
            yield name, is_folder
