"""Restores the files that differ between two checkpoints, each file atomically.

What was not covered, now or then, is not changed: ignored files, too large ones, nested
repositories, what could not be read. Nothing outside the workspace is touched.
"""

import os
import stat
from contextlib import suppress
from errno import EDQUOT, ENOSPC, EROFS

from msgspec import Struct, structs

from sapwood.core.checkpoint import Restored, Why
from sapwood.workspace.checkpoints.checkpoint_record import (
    FILE,
    FOLDER,
    PROGRAM,
    CheckpointRecord,
    Folders,
    read_record,
)
from sapwood.workspace.checkpoints.checkpoint_save import left_out_for_event, update_index
from sapwood.workspace.checkpoints.checkpoint_store import CheckpointStore
from sapwood.workspace.checkpoints.file_replacement import (
    FileVersion,
    Replacement,
    is_version,
    set_permissions,
    state_in,
)
from sapwood.workspace.checkpoints.git_command import Git, GitError, ObjectReader, object_reader
from sapwood.workspace.safe_paths import ResolvedPath, open_parent
from sapwood.workspace.tool_output import ToolError

_PROGRAM = 0o100755


class FileDifference(Struct, frozen=True):
    """A path, and its versions now and then; None where it is absent."""

    path: bytes
    now: FileVersion | None
    then: FileVersion | None


def has_checkpoint(store: CheckpointStore, commit: str) -> bool:
    """Whether this checkpoint still exists."""
    try:
        _git_with(store, commit)
    except GitError:
        return False
    return True


def restore(store: CheckpointStore, present: str, commit: str, started: str = "") -> Restored:
    """Changes the files to those of `commit`. `present` is the checkpoint of their present state.

    `started` is the checkpoint at the start of a revert that was cut off. What it did not cover is
    left as it is, even if `present` covers it because the ignore rules were restored already.

    Raises `OSError` if the disk is full; then some files are restored and others are not.
    """
    git = _git_with(store, commit)
    now = read_record(git, present)
    then = read_record(git, commit)
    differences = _differences(git, now.tree, then.tree)
    first = now if started in ("", present) else read_record(git, started)
    work = _Restoration(store, now, then, first, _folders(git, then.tree))
    work.open_folders()
    with object_reader(git) as read:
        for each in differences:
            if each.then is None:
                work.remove(each)
        for each in differences:
            if each.then is not None:
                work.write(each, each.then, read)
    work.change_modes({each.path for each in differences})
    with suppress(GitError):  # then the next checkpoint covers them, even if a rule ignores them
        update_index(store.files(), work.added, work.gone)
    left, more = left_out_for_event(work.left_out)
    return Restored(work.written, work.removed, left, more)


class _Restoration:
    """Changes files and counts them. A file that cannot be changed does not stop the others."""

    def __init__(
        self,
        store: CheckpointStore,
        now: CheckpointRecord,
        then: CheckpointRecord,
        first: CheckpointRecord,
        folders: set[bytes],
    ) -> None:
        self._store = store
        self._now = now
        self._then = then
        self._first = first
        self._folders = folders
        self._made: list[bytes] = []
        self._there: set[bytes] = set()
        self.written = 0
        self.removed = 0
        self.added: list[bytes] = []
        self.gone: list[bytes] = []
        self.left_out: list[tuple[bytes, Why]] = []

    def open_folders(self) -> None:
        """Gives the owner access to folders that had it then and do not have it now."""
        opened = [
            path
            for path in self._changed_modes()
            if path.endswith(b"/")
            and self._then.mode_of(path, FOLDER) & 0o700 == 0o700
            and self._change_mode(path, self._now.mode_of(path, FOLDER) | 0o700)
        ]
        self._close_repositories(opened)

    def _close_repositories(self, opened: list[bytes]) -> None:
        """Leaves repositories alone that only opening their folder has shown."""
        if not opened:
            return
        folders, known = Folders(os.fsencode(self._store.root)), self._now.not_covered
        unread = [path for path, why in known.items() if why == "unreadable"]
        shown = {folders.repository_around(path) for path in (*opened, *unread)} - {b""}
        if not shown:
            return
        repositories = dict.fromkeys(shown, "repository")
        now = structs.replace(self._now, not_covered={**known, **repositories})
        self._first = now if self._first is self._now else self._first
        self._now = now
        for path in reversed(opened):
            if self._now.reason_not_covered(path) is not None:
                self._change_mode(path, self._now.mode_of(path, FOLDER))

    def remove(self, each: FileDifference) -> None:
        """Removes a file that did not exist then."""
        why = self._then.reason_not_covered(each.path) or self._not_covered_first(each.path)
        if why is not None:
            self.left_out.append((each.path, why))
            return
        try:
            with open_parent(self._place(each.path)) as (folder, name):
                state = state_in(folder, name)
                if state is None:
                    return
                if not is_version(folder, name, state, each.now):
                    self.left_out.append((each.path, "unsaved"))
                    return
                os.unlink(name, dir_fd=folder)
        except (OSError, ToolError) as error:
            self._leave_out(each.path, error)
            return
        self.removed += 1
        self.gone.append(each.path)
        self._remove_empty_folders(os.path.dirname(each.path))

    def write(self, each: FileDifference, then: FileVersion, read: ObjectReader) -> None:
        """Gives a file the content and the permissions that it had then."""
        why = self._now.reason_not_covered(each.path)
        if why in ("repository", "large"):
            self.left_out.append((each.path, why))
            return
        if each.now is not None and (why := self._not_covered_first(each.path)) is not None:
            self.left_out.append((each.path, why))
            return
        usual = PROGRAM if then.mode == _PROGRAM else FILE
        mode = self._then.mode_of(each.path, usual)
        try:
            self._make_folders(os.path.dirname(each.path))
            with open_parent(self._place(each.path)) as (folder, name):
                replacement = Replacement(self._store.folder, self._whole(each.path))
                if not replacement.carry_out(folder, name, each.now, then, mode, read):
                    self.left_out.append((each.path, "unsaved"))
                    return
        except (OSError, ToolError) as error:
            self._leave_out(each.path, error)
            return
        self.written += 1
        self.added.append(each.path)

    def change_modes(self, restored: set[bytes]) -> None:
        """Gives files that were not written, and folders, the permissions that they had then."""
        changed = self._changed_modes()
        for path in changed:
            if not path.endswith(b"/") and path not in restored:
                usual = PROGRAM if self._now.mode_of(path, FILE) & 0o100 else FILE
                self.written += self._change_mode(path, self._then.mode_of(path, usual))
        folders = {path for path in changed if path.endswith(b"/")}
        folders.update(path + b"/" for path in self._made)
        for path in sorted(folders, reverse=True):
            self._change_mode(path, self._then.mode_of(path, FOLDER))

    def _not_covered_first(self, path: bytes) -> Why | None:
        """Why a path that is covered now was not covered when the revert started."""
        return None if self._first is self._now else self._first.reason_not_covered(path)

    def _changed_modes(self) -> list[bytes]:
        """The paths whose permissions differ. Those of a folder that was neither in the tree nor
        recorded then are not known, and stay.
        """
        then, now = self._then.modes, self._now.modes
        return [
            path
            for path in sorted({*then, *now})
            if then.get(path) != now.get(path)
            and (path in then or path in self._folders or not path.endswith(b"/"))
            and self._then.reason_not_covered(path) is None
            and self._now.reason_not_covered(path) is None
        ]

    def _change_mode(self, path: bytes, mode: int) -> bool:
        """Changes the permissions of a file or folder that exists; returns whether it did."""
        try:
            with open_parent(self._place(path.rstrip(b"/"))) as (folder, name):
                state = state_in(folder, name)
                kind = stat.S_ISDIR if path.endswith(b"/") else stat.S_ISREG
                if state is None or not kind(state.st_mode):
                    return False
                if stat.S_IMODE(state.st_mode) == mode:
                    return False
                set_permissions(folder, name, mode)
        except (OSError, ToolError) as error:
            self._leave_out(path, error)
            return False
        return True

    def _make_folders(self, folder: bytes) -> None:
        """Makes missing folders, for the owner alone until their permissions are restored."""
        around: list[bytes] = []
        while folder and folder not in self._there:
            around.append(folder)
            folder = os.path.dirname(folder)
        for each in reversed(around):
            with open_parent(self._place(each)) as (above, name), suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=above)
                self._made.append(each)
            self._there.add(each)

    def _remove_empty_folders(self, folder: bytes) -> None:
        """Removes folders that are empty now."""
        while folder:
            try:
                with open_parent(self._place(folder)) as (above, name):
                    os.rmdir(name, dir_fd=above)
            except (OSError, ToolError):
                return
            folder = os.path.dirname(folder)

    def _leave_out(self, path: bytes, error: OSError | ToolError) -> None:
        if isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT, EROFS):
            raise error
        self.left_out.append((path, "unwritable"))

    def _whole(self, path: bytes) -> str:
        return os.path.join(self._store.root, os.fsdecode(path))

    def _place(self, path: bytes) -> ResolvedPath:
        return ResolvedPath(self._store.root, self._whole(path), os.fsdecode(path))


def _git_with(store: CheckpointStore, commit: str) -> Git:
    """Git that can read this checkpoint. Raises `GitError` if it does not exist any more."""
    wanted = ("cat-file", "-e", f"{commit}^{{tree}}")
    git = store.files()
    try:
        git.run(*wanted)
    except GitError:
        git = store.files(objects=store.object_folders())
        git.run(*wanted)
    return git


def _folders(git: Git, tree: str) -> set[bytes]:
    """The folders of a tree, with a slash at the end."""
    found = git.run("ls-tree", "-r", "-d", "-z", "--name-only", "--full-tree", tree)
    return {path + b"/" for path in found.split(b"\0") if path}


def _differences(git: Git, present: str, wanted: str) -> list[FileDifference]:
    """The files that differ between two trees."""
    fields = git.run("diff-tree", "-r", "-z", "--raw", present, wanted).split(b"\0")
    changes = [about.removeprefix(b":").split(b" ") for about in fields[0:-1:2]]
    sizes = _sizes(git, {object_ for change in changes for object_ in change[2:4]})
    found: list[FileDifference] = []
    for (before, after, saved, object_, _), path in zip(changes, fields[1::2], strict=True):
        now = FileVersion(int(before, 8), saved, sizes[saved])
        then = FileVersion(int(after, 8), object_, sizes[object_])
        found.append(FileDifference(path, now if now.mode else None, then if then.mode else None))
    return found


def _sizes(git: Git, objects: set[bytes]) -> dict[bytes, int]:
    """The sizes of objects; -1 for one that does not exist."""
    names = sorted(objects)
    asked = b"".join(name + b"\n" for name in names)
    lines = git.run("cat-file", "--batch-check=%(objectsize)", stdin=asked).splitlines()
    return {
        name: int(line) if line.isdigit() else -1 for name, line in zip(names, lines, strict=True)
    }
