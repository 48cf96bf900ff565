"""The protected files and folders of a workspace, for commands in the sandbox.

What is protected is decided by `PathGuards`, as for the tools that write files. Commands get what
exists read-only. What appears at such a place while a command runs is renamed afterwards.
"""

import os
import secrets
import stat
from collections import deque
from collections.abc import Iterable, Iterator

from sapwood.workspace.permissions.guarded_paths import PathGuards
from sapwood.workspace.safe_paths import ResolvedPath, folder_handle, real_path

_MAX_ENTRIES = 20_000
"""How many files and folders are looked at, those near the top first."""
_MAX_LEVELS = 60

Identity = tuple[str | int, ...]


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


def protected_in(root: str, folders: Iterable[str], guards: PathGuards) -> list[str]:
    """The protected entries that are directly in these folders."""
    return [
        path
        for folder in folders
        for name, is_folder in _entries(os.path.join(root, folder))
        if name != ".git"
        and _is_protected(root, path := os.path.join(folder, name), is_folder, guards)
    ]


def entry_identity(path: str) -> Identity:
    """What tells an entry from another one: its number, or the text of a link; empty if none."""
    try:
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            return (os.readlink(path),)
    except OSError:
        return ()
    return stat.S_IFMT(found.st_mode), found.st_dev, found.st_ino


def identity(root: str, path: str) -> Identity:
    """What tells an entry from a later one at its place; empty if there is none.

    Nothing can be mounted in the place of a link, and a new one may get the number of the old. So
    a link is known by its place, and by what it leads to in the end. Other entries that were there
    before are mounted while a command runs, so nothing else gets their number.
    """
    whole = os.path.join(root, path)
    entry = entry_identity(whole)
    if len(entry) != 1:
        return entry
    [text] = entry
    end = real_path(whole)
    try:
        reached = os.stat(end)
    except OSError:
        return path, text, end
    # Commands cannot write elsewhere, and programs there may be updated meanwhile.
    is_inside = end.startswith(f"{root}/")
    return (path, text, end, *((reached.st_dev, reached.st_ino) if is_inside else ()))


def links_below(root: str, folders: Iterable[str]) -> list[str]:
    """The links in these folders and in the folders in them, those near the top first."""
    links: list[str] = []
    waiting, looked_at = deque(folders), 0
    while waiting and looked_at < _MAX_ENTRIES:
        folder = waiting.popleft()
        try:
            with os.scandir(os.path.join(root, folder)) as entries:
                found = list(entries)
        except OSError:
            continue
        looked_at += len(found)
        for each in found:
            path = os.path.join(folder, each.name)
            if each.is_symlink():
                links.append(path)
            elif each.is_dir(follow_symlinks=False):
                waiting.append(path)
    return links


def set_aside(root: str, path: str) -> tuple[str, str]:
    """Renames an entry so that no program takes it for what it was.

    Where a folder above the entry is a link, that is renamed instead. Returns what was renamed, and
    its new path. Raises `OSError` if that is not possible.
    """
    path = _first_link(root, path)
    folder, name = os.path.split(path)
    # A command could take a name that it can guess, and one with the old name could be too long.
    new = f".set-aside-{secrets.token_hex(8)}"
    with folder_handle(os.path.join(root, folder)) as parent:
        os.rename(name, new, src_dir_fd=parent, dst_dir_fd=parent)
    return path, os.path.join(folder, new)


def _first_link(root: str, path: str) -> str:
    if not os.path.isabs(path):
        steps = path.split("/")
        for count in range(1, len(steps)):
            above = "/".join(steps[:count])
            if os.path.islink(os.path.join(root, above)):
                return above
    return path


def _is_protected(root: str, path: str, is_folder: bool, guards: PathGuards) -> bool:
    place = ResolvedPath(root, os.path.join(root, path), path)
    # Only for folders, whether git takes them for a repository or for hooks: that reads files.
    against = guards.against_writing_itself if is_folder else guards.against_writing_name
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
