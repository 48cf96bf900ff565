"""What a checkpoint records beside the content of files, in the message of its commit.

These are the permissions that git does not store, and everything that existed and was not covered.
A revert never deletes or overwrites what was not covered.

The folders of a workspace as a checkpoint sees them: links, nested repositories, permissions.
"""

import os
import stat
from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import get_args
from urllib.parse import quote_from_bytes, unquote_to_bytes

from msgspec import Struct

from sapwood.core.checkpoint import Why
from sapwood.workspace.checkpoints.git_command import IGNORE_FILE, LARGEST_IGNORE_FILE, Git

FILE, PROGRAM, FOLDER = 0o644, 0o755, 0o755
"""The permissions that are not recorded: git tells files from programs by itself."""

_TITLE = "Sapwood checkpoint with permissions"
_REASONS = frozenset[str](get_args(Why))


class CheckpointRecord(Struct, frozen=True):
    """A checkpoint: the tree of its files, unusual permissions, and what was not covered.

    `modes` has paths of files and, with a slash at the end, of folders. So has `not_covered`.
    Folders that had files and no covered one are in `modes` with usual permissions too.
    """

    tree: str
    modes: Mapping[bytes, int]
    not_covered: Mapping[bytes, Why]

    def reason_not_covered(self, path: bytes) -> Why | None:
        """Why a path was not covered; None if it was, or did not exist."""
        found = self.not_covered.get(path)
        folder = os.path.dirname(path)
        while found is None and folder:
            found = self.not_covered.get(folder + b"/")
            folder = os.path.dirname(folder)
        return found

    def mode_of(self, path: bytes, default: int) -> int:
        """The permissions of a path, which end in `default` unless others were recorded."""
        return self.modes.get(path, default)


def message_of(modes: Mapping[bytes, int], not_covered: Iterable[tuple[bytes, Why]]) -> bytes:
    """The message of the commit."""
    lines = [f"{mode:o} {quote_from_bytes(path)}" for path, mode in sorted(modes.items())]
    lines += [f"{why} {quote_from_bytes(path)}" for path, why in sorted(not_covered)]
    return "\n".join([_TITLE, "", *lines]).rstrip().encode() + b"\n"


def state_of(tree: str, message: bytes) -> str:
    """A name for the saved state: the same for the same files, permissions and uncovered paths."""
    return sha256(tree.encode() + b"\n" + message).hexdigest()[:40]


def read_record(git: Git, commit: str) -> CheckpointRecord:
    """Reads a checkpoint. Raises `GitError` if it does not exist."""
    head, _, message = git.run("cat-file", "commit", commit).partition(b"\n\n")
    tree = head.split(b"\n", 1)[0].removeprefix(b"tree ").decode()
    modes: dict[bytes, int] = {}
    not_covered: dict[bytes, Why] = {}
    for line in message.decode().split("\n")[2:]:
        word, _, quoted = line.partition(" ")
        path = unquote_to_bytes(quoted)
        if word.isdigit():
            modes[path] = int(word, 8)
        elif word in _REASONS:
            not_covered[path] = word  # pyright: ignore[reportArgumentType] - it is one of the words
    return CheckpointRecord(tree, modes, not_covered)


class Folders:
    """Looks at paths below `root`; each folder is looked at once.

    Behind a symlink are files of others, so only paths whose folders are real folders exist.
    """

    def __init__(self, root: bytes) -> None:
        self.root = os.path.join(root, b"")
        self._plain: dict[bytes, bool] = {}
        self._states: dict[bytes, os.stat_result | OSError | None] = {}
        self._repositories: dict[bytes, bytes] = {b"": b""}

    def state(self, path: bytes) -> os.stat_result | OSError | None:
        """The state of a path: None if it does not exist, an error if it cannot be looked at."""
        folder = os.path.dirname(path)
        if folder:
            above = self._folder(folder)
            if above is None or isinstance(above, OSError):
                return above
        return self.look(path)

    def is_folder(self, path: bytes) -> bool:
        """Whether a real folder is at this path."""
        return isinstance(self._folder(path), os.stat_result)

    def is_plain(self, folder: bytes) -> bool:
        """Whether this is a real folder and no part of another repository."""
        known = self._plain.get(folder)
        if known is None:
            known = not folder or (
                self.is_folder(folder) and not self.repository_around(folder + b"/")
            )
            self._plain[folder] = known
        return known

    def mode(self, folder: bytes) -> int | None:
        """The permissions of a folder; None if it is not a folder."""
        state = self._folder(folder)
        return stat.S_IMODE(state.st_mode) if isinstance(state, os.stat_result) else None

    def modes(self, covered: Iterable[bytes], not_covered: Iterable[bytes]) -> dict[bytes, int]:
        """The permissions to record of folders, which get a slash at the end.

        `covered` are folders with covered files, and `not_covered` are paths. Usual permissions are
        recorded only of folders without a covered file: no tree has them, and if a revert gives
        them files and other permissions, it can be taken back.
        """
        in_tree = self.with_parents(covered)
        around = self.with_parents(os.path.dirname(path.rstrip(b"/")) for path in not_covered)
        found: dict[bytes, int] = {}
        for folder in in_tree | around:
            mode = self.mode(folder)
            if mode is not None and (mode != FOLDER or folder not in in_tree):
                found[folder + b"/"] = mode
        return found

    def is_readable(self, path: bytes) -> bool:
        """Whether a file may be read."""
        return os.access(os.path.join(self.root, path), os.R_OK)

    def repository_around(self, path: bytes) -> bytes:
        """The outermost folder around the path that is a repository of its own, with a slash at the
        end; empty if there is none.
        """
        folder = os.path.dirname(path)
        for each in _unknown(folder, self._repositories):
            known = self._repositories[os.path.dirname(each)]
            inside = os.path.join(self.root, each, b".git")
            if not known and os.path.lexists(inside) and self._folder(each) is not None:
                known = each + b"/"
            self._repositories[each] = known
        return self._repositories[folder]

    def with_parents(self, folders: Iterable[bytes]) -> set[bytes]:
        """These folders and all folders around them, without the root."""
        found: set[bytes] = set()
        for each in folders:
            folder = each
            while folder and folder not in found:
                found.add(folder)
                folder = os.path.dirname(folder)
        return found

    def _folder(self, path: bytes) -> os.stat_result | OSError | None:
        """The state of a real folder; None if there is none."""
        for each in _unknown(path, self._states):
            state = self.state(each)
            if isinstance(state, os.stat_result) and not stat.S_ISDIR(state.st_mode):
                state = None
            self._states[each] = state
        return self._states[path]

    def look(self, path: bytes) -> os.stat_result | OSError | None:
        """The state of a path whose folder is plain; None and errors as `state`."""
        try:
            return os.lstat(self.root + path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            return error


def _unknown(folder: bytes, known: Container[bytes]) -> list[bytes]:
    """The folder and those around it, as far as they are not known, the outermost first.

    Folders can be nested more deeply than functions can call each other.
    """
    found: list[bytes] = []
    while folder not in known:
        found.append(folder)
        if not folder:
            break
        folder = os.path.dirname(folder)
    return found[::-1]


def large_ignore_files(root: str) -> list[bytes]:
    """The ignore files below `root` that are too large for git."""
    top = os.fsencode(root)
    found: list[bytes] = []
    for folder in _folders(top, []):
        path = os.path.join(folder, os.fsencode(IGNORE_FILE))
        with suppress(OSError):
            state = os.lstat(path)
            if stat.S_ISREG(state.st_mode) and state.st_size > LARGEST_IGNORE_FILE:
                found.append(os.path.relpath(path, top))
    return found


def unreadable_folders(root: str) -> list[bytes]:
    """The folders below `root` whose files cannot be listed, with a slash at the end."""
    top = os.fsencode(root)
    unreadable: list[bytes] = []
    deque(_folders(top, unreadable), 0)
    return [os.path.relpath(folder, top) + b"/" for folder in unreadable if folder != top]


def _folders(top: bytes, unreadable: list[bytes]) -> Iterator[bytes]:
    """A folder and those below it, except git's. Adds those whose files cannot be listed."""
    folders = [top]
    while folders:  # not os.walk, which calls itself for each level
        folder = folders.pop()
        yield folder
        try:
            with os.scandir(folder) as entries:
                below = [each for each in entries if each.is_dir(follow_symlinks=False)]
        except OSError:
            unreadable.append(folder)
            continue
        folders += (each.path for each in below if each.name != b".git")
