"""The repositories further down in a workspace, and whether a command made one that runs programs.

Also the ignore files that are too large: git reads each of them whole, whatever its size.

Git runs in a repository further down when it looks at the one around it: `git status` at the top
enters every folder that the index has as a repository. So a command that makes a repository with
settings of its own makes the person's next `git status` run a program.
"""

import errno
import os
import re
import stat
from threading import Lock

from msgspec import Struct

from sapwood.workspace.checkpoints.git_command import IGNORE_FILE, LARGEST_IGNORE_FILE, Git
from sapwood.workspace.safe_paths import folder_handle, make_accessible

MAX_FOLDERS = 200_000
"""How many folders of a workspace are searched: each is looked at again by every command."""
_READABLE = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
TOO_MANY_FOLDERS = (
    f"This workspace has more than {MAX_FOLDERS:,} folders. A repository that a command made far "
    "down may run a program when you use git: look at new folders before 'git add'."
)
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


class FoundRepositories(Struct, frozen=True):
    """The paths of every `.git` from the workspace's folder on; `is_complete` if none is missed.

    `large_ignore_files` are the paths of those that git cannot read without much memory.
    """

    paths: tuple[str, ...]
    is_complete: bool
    large_ignore_files: tuple[str, ...] = ()


class NestedRepositories:
    """Finds every `.git` below a workspace's folder, and pipes that git would wait for.

    A second search looks only at folders that changed after the one before, and at those that were
    too many then. The workspace's own `.git` is not among them. Folders are opened by their path
    from the workspace's folder on: where that is too long for the system, it is so for git too.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._lock = Lock()  # commands of one workspace may run at the same time
        self._seen: dict[str, tuple[int, int]] = {}
        self._found: dict[str, list[str]] = {}
        self._ignore_files: set[str] = set()
        self._left: dict[str, None] = {}
        self._lost = False
        self.last: FoundRepositories | None = None

    def search(self) -> FoundRepositories:
        """What is there now. It is also kept as `last`. Raises `OSError` without the workspace."""
        with self._lock, folder_handle(self._root) as top:
            folders = list(self._left) if "" in self._seen else [""]
            self._left = {}
            for folder in self._changed(top):
                folders += self._look_at(top, folder)
            while folders and len(self._seen) < MAX_FOLDERS:
                folders += self._look_at(top, folders.pop())
            self._left |= dict.fromkeys(folders[:MAX_FOLDERS])
            self._lost = self._lost or len(folders) > MAX_FOLDERS
            paths = tuple(path for paths in self._found.values() for path in paths)
            large = tuple(path for path in sorted(self._ignore_files) if _is_large(top, path))
            self.last = FoundRepositories(paths, not self._left and not self._lost, large)
            return self.last

    def _changed(self, top: int) -> list[str]:
        """The folders that are not as they were. Every command waits for this, so it is short."""
        return [folder for folder, state in self._seen.items() if _state(top, folder) != state]

    def _look_at(self, top: int, folder: str) -> list[str]:
        """Notes what is in a folder; returns the folders in it that have not been looked at."""
        self._found.pop(folder, None)
        self._seen.pop(folder, None)
        ignore_file = os.path.join(folder, IGNORE_FILE)
        self._ignore_files.discard(ignore_file)
        state = _state(top, folder)
        try:
            listed = _listed(top, folder, os.path.join(self._root, folder))
        except OSError as error:
            # Git enters a repository by its folder, so it reaches further there.
            if error.errno == errno.ENAMETOOLONG and self._is_in_repository(folder):
                self._left[folder] = None
            return []
        if state is None:
            return []
        self._seen[folder] = state
        if (IGNORE_FILE, "file") in listed:
            self._ignore_files.add(ignore_file)
        names = [
            name
            for name, kind in listed
            if (name == ".git" and folder) or (name.startswith(".git") and kind == "special")
        ]
        if names:
            self._found[folder] = [os.path.join(folder, name) for name in names]
        below = (os.path.join(folder, name) for name, kind in listed if kind == "folder")
        return [
            path for path in below if path not in self._seen and os.path.basename(path) != ".git"
        ]

    def _is_in_repository(self, folder: str) -> bool:
        return any(each and folder.startswith(f"{each}/") for each in self._found)


def linked_repositories(root: str, git_folder: str, worktree: str) -> list[str]:
    """The paths of `.git` in the folders of a workspace that an index has as repositories.

    `git_folder` is what has the index, `worktree` where its paths start. Raises `GitError`.
    """
    variables = {"GIT_DIR": git_folder, "GIT_WORK_TREE": worktree}
    entries = Git(worktree, variables).run("ls-files", "--stage", "-z", "--full-name").split(b"\0")
    names = [os.fsdecode(each.partition(b"\t")[2]) for each in entries if each[:7] == b"160000 "]
    paths = (os.path.join(worktree, name, ".git") for name in names)
    return [path.removeprefix(f"{root}/") for path in paths if path.startswith(f"{root}/")]


def runs_nothing(path: str) -> bool:
    """Whether a git folder is as git itself makes it, so that no setting or hook runs a program.

    An empty one runs nothing either: git looks further up. It may be a place of a mount.
    """
    try:
        if _is_empty(path):
            return True
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


def _listed(top: int, folder: str, whole: str) -> list[tuple[str, str]]:
    """The names in a folder with what they are. Raises `OSError` if it cannot be read."""
    try:
        handle = os.open(folder or ".", _READABLE, dir_fd=top)
    except PermissionError:
        make_accessible(whole)  # git can enter a folder that nobody can list
        handle = os.open(folder or ".", _READABLE, dir_fd=top)
    try:
        with os.scandir(handle) as entries:
            return [(each.name, _kind(each)) for each in entries]
    finally:
        os.close(handle)


def _kind(entry: os.DirEntry[str]) -> str:
    """What an entry is. For a pipe, a socket or a device, git would wait for its content."""
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    return "file" if entry.is_file(follow_symlinks=False) or entry.is_symlink() else "special"


def _is_large(top: int, path: str) -> bool:
    try:
        status = os.stat(path, dir_fd=top, follow_symlinks=False)
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size > LARGEST_IGNORE_FILE


def _is_empty(path: str) -> bool:
    return stat.S_ISDIR(os.lstat(path).st_mode) and not os.listdir(path)


def _is_file(path: str) -> bool:
    return stat.S_ISREG(os.lstat(path).st_mode)


def _state(top: int, folder: str) -> tuple[int, int] | None:
    """What changes with the entries of a folder, and cannot be set back; None if there is none."""
    try:
        status = os.stat(folder or ".", dir_fd=top, follow_symlinks=False)
    except OSError:
        return None
    return (status.st_ino, status.st_ctime_ns) if stat.S_ISDIR(status.st_mode) else None
