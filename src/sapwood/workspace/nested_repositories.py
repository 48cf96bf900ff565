"""The repositories further down in a workspace, and whether a command made one that runs programs.

Git runs in a repository further down when it looks at the one around it: `git status` at the top
enters every folder that the index has as a repository. So a command that makes a repository with
settings of its own makes the person's next `git status` run a program.
"""

import os
import re
import stat
from contextlib import suppress
from threading import Lock

from sapwood.workspace.safe_paths import make_accessible

_MAX_FOLDERS = 100_000
_MAX_CONFIG = 20_000
_SETTING = re.compile(
    r"""\s*(?:
    \[core\]|\[(?:remote|branch)\ "[\w./+-]+"\]|
    (?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks)
    \ =\ \w+|
    (?:fetch|remote|merge)\ =\ [\w./+:*-]+|
    url\ =\ (?!\w+::)[\w./+:@~%?=&-]+
    )?""",
    re.ASCII | re.VERBOSE,
)
"""The lines of settings that git writes by itself, for a new repository and for a clone."""
_NAME_OTHERS = ("commondir", "config.worktree", "gitdir", "modules", "worktrees")


class NestedRepositories:
    """Finds every `.git` below a workspace's folder, and pipes that git would wait for.

    A second search looks only at folders that changed after the one before. The workspace's own
    `.git` is not among them.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._lock = Lock()  # commands of one workspace may run at the same time
        self._seen: dict[str, tuple[int, int]] = {}
        self._found: dict[str, list[str]] = {}

    def search(self) -> dict[str, tuple[int, int]]:
        """The paths from the workspace's folder on, with what tells an entry from a later one."""
        with self._lock:
            folders = self._changed() if "" in self._seen else [""]
            while folders and len(self._seen) < _MAX_FOLDERS:
                folders += self._look_at(folders.pop())
            found = [path for paths in self._found.values() for path in paths]
        return {path: _identity(self._path(path)) for path in found}

    def _changed(self) -> list[str]:
        """The folders that are not as they were. Every command waits for this, so it is short."""
        start, lstat, changed = os.path.join(self._root, ""), os.lstat, list[str]()
        for folder, state in self._seen.items():
            try:
                status = lstat(start + folder)
            except OSError:
                changed.append(folder)
                continue
            if (status.st_ino, status.st_ctime_ns) != state:
                changed.append(folder)
        return changed

    def _look_at(self, folder: str) -> list[str]:
        """Notes what is in a folder; returns the folders in it that have not been looked at."""
        whole = self._path(folder)
        self._found.pop(folder, None)
        self._seen.pop(folder, None)
        state = _state(whole)
        listed = _listed(whole)
        if listed is None or state is None:
            return []
        self._seen[folder] = state
        names = [
            name
            for name, is_folder, entry in listed
            if (name == ".git" and folder)
            or (name.startswith(".git") and not is_folder and _is_special(entry))
        ]
        if names:
            self._found[folder] = [os.path.join(folder, name) for name in names]
        below = (os.path.join(folder, name) for name, is_dir, _ in listed if is_dir)
        return [
            path for path in below if path not in self._seen and os.path.basename(path) != ".git"
        ]

    def _path(self, folder: str) -> str:
        return os.path.join(self._root, folder) if folder else self._root


def runs_nothing(path: str) -> bool:
    """Whether a git folder is as git itself makes it, so that no setting or hook runs a program."""
    try:
        if not stat.S_ISDIR(os.lstat(path).st_mode) or not _is_file(os.path.join(path, "config")):
            return False
        if any(os.path.lexists(os.path.join(path, name)) for name in _NAME_OTHERS):
            return False
        with open(os.path.join(path, "config"), encoding="utf-8") as file:
            text = file.read(_MAX_CONFIG)
        hooks = os.path.join(path, "hooks")
        if os.path.lexists(hooks):
            if not stat.S_ISDIR(os.lstat(hooks).st_mode):
                return False
            if any(not name.endswith(".sample") for name in os.listdir(hooks)):
                return False
    except (OSError, UnicodeError):
        return False
    return len(text) < _MAX_CONFIG and all(map(_SETTING.fullmatch, text.splitlines()))


def _listed(folder: str) -> "list[tuple[str, bool, os.DirEntry[str]]] | None":
    """The names in a folder, and whether each is a folder; None if it cannot be read."""
    for _ in range(2):
        try:
            with os.scandir(folder) as entries:
                return [(each.name, each.is_dir(follow_symlinks=False), each) for each in entries]
        except PermissionError:
            make_accessible(folder)  # git can enter a folder that nobody can list
        except OSError:
            return None
    return None


def _is_file(path: str) -> bool:
    return stat.S_ISREG(os.lstat(path).st_mode)


def _is_special(entry: "os.DirEntry[str]") -> bool:
    """Whether it is a pipe, a socket or a device: git would wait for its content."""
    return not entry.is_file(follow_symlinks=False) and not entry.is_symlink()


def _state(path: str) -> tuple[int, int] | None:
    """What changes with the entries of a folder, and cannot be set back; None if there is none."""
    with suppress(OSError):
        status = os.lstat(path)
        if stat.S_ISDIR(status.st_mode):
            return status.st_ino, status.st_ctime_ns
    return None


def _identity(path: str) -> tuple[int, int]:
    with suppress(OSError):
        status = os.lstat(path)
        return status.st_dev, status.st_ino
    return 0, 0
