"""The folders of a workspace as a checkpoint sees them: links, nested repositories, permissions."""

import os
import stat
from collections.abc import Iterable

from sapwood.workspace.checkpoints.checkpoint_record import FOLDER


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
        known = self._repositories.get(folder)
        if known is None:
            known = self.repository_around(folder)
            inside = os.path.join(self.root, folder, b".git")
            if not known and os.path.lexists(inside) and self._folder(folder) is not None:
                known = folder + b"/"
            self._repositories[folder] = known
        return known

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
        if path in self._states:
            return self._states[path]
        state = self.state(path)
        if isinstance(state, os.stat_result) and not stat.S_ISDIR(state.st_mode):
            state = None
        self._states[path] = state
        return state

    def look(self, path: bytes) -> os.stat_result | OSError | None:
        """The state of a path whose folder is plain; None and errors as `state`."""
        try:
            return os.lstat(self.root + path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            return error


def unreadable_folders(root: str) -> list[bytes]:
    """The folders below `root` whose files cannot be listed, with a slash at the end."""
    top = os.fsencode(root)
    found: list[bytes] = []

    def note(error: OSError) -> None:
        path = os.fsencode(error.filename)
        if path != top:
            found.append(os.path.relpath(path, top) + b"/")

    for _, folders, _ in os.walk(top, onerror=note):
        if b".git" in folders:
            folders.remove(b".git")
    return found
