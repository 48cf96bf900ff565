"""Replaces one file by an earlier version of it, in one step and never through a symlink.

The new content is written beside the old file and then renamed. The path of the new file is noted
in the store first, so that the next process removes it if this one is killed in between.
"""

import os
import secrets
import stat
from contextlib import closing, suppress
from hashlib import sha1, sha256

from msgspec import Struct

from sapwood.workspace.checkpoints.git_command import ObjectReader

_LINK = 0o120000
_SHA1_LENGTH = 40
_CHUNK = 1 << 20
_START = ".sapwood-"
_NOTES = "unfinished"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class FileVersion(Struct, frozen=True):
    """A version of a file: its mode as git has it, its object, and the size of that."""

    mode: int
    object: bytes
    size: int


class Replacement(Struct, frozen=True):
    """The replacement of the file at `path`; `store` is the folder of the store."""

    store: str
    path: str

    def carry_out(
        self,
        folder: int,
        name: str,
        now: FileVersion | None,
        then: FileVersion,
        mode: int,
        read: ObjectReader,
    ) -> bool:
        """Replaces `name` in the open `folder`, if it is still the version `now`.

        `mode` are the permissions of the new file. Returns false if the file is another one, which
        is then not changed. Raises `OSError`.
        """
        state = state_in(folder, name)
        if state and stat.S_ISDIR(state.st_mode) and _remove_empty(folder, name):
            state = None
        if state and not is_version(folder, name, state, now):
            # A process that was killed may have replaced the file already. If only the permissions
            # are others, it is a file that was not covered, and nobody could give them back.
            is_done = stat.S_ISLNK(state.st_mode) or stat.S_IMODE(state.st_mode) == mode
            return is_done and is_version(folder, name, state, then)
        fresh = f"{_START}{secrets.token_hex(8)}"
        self._note(fresh)
        try:
            _create(folder, fresh, then, mode, read)
            os.replace(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(fresh, dir_fd=folder)
        return True

    def _note(self, fresh: str) -> None:
        path = os.path.join(os.path.dirname(self.path), fresh)
        notes = os.path.join(self.store, _NOTES)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        with open(os.open(notes, flags, 0o600), "ab") as file:
            file.write(os.fsencode(path) + b"\0")


def remove_unfinished(store: str) -> None:
    """Removes the new files that a killed process did not rename. The caller must hold the lock."""
    notes = os.path.join(store, _NOTES)
    try:
        with open(notes, "rb") as file:
            paths = file.read().split(b"\0")
    except FileNotFoundError:
        return
    for path in paths:
        if os.path.basename(path).startswith(_START.encode()):
            with suppress(OSError):
                os.unlink(path)
    os.unlink(notes)


def state_in(folder: int, name: str) -> os.stat_result | None:
    """The state of a file in an open folder; None if it does not exist."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def set_permissions(folder: int, name: str, mode: int) -> None:
    """Sets the permissions of a file or folder in an open folder. Raises `OSError`."""
    anchor = getattr(os, "O_PATH", None)
    flags = (os.O_RDONLY if anchor is None else anchor) | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(name, flags, dir_fd=folder)
    try:
        if anchor is None:
            os.fchmod(handle, mode)
        else:  # such a descriptor needs no right to read, and leads to no other file
            os.chmod(f"/proc/self/fd/{handle}", mode)
    finally:
        os.close(handle)


def is_version(folder: int, name: str, state: os.stat_result, saved: FileVersion | None) -> bool:
    """Whether the file is as it was saved, so that no later change is lost."""
    if saved is None or stat.S_ISLNK(state.st_mode) != (saved.mode == _LINK):
        return False
    digest = (sha1 if len(saved.object) == _SHA1_LENGTH else sha256)(
        b"blob %d\0" % saved.size, usedforsecurity=False
    )
    if stat.S_ISLNK(state.st_mode):
        digest.update(os.fsencode(os.readlink(name, dir_fd=folder)))
    elif stat.S_ISREG(state.st_mode) and state.st_size == saved.size:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(name, flags, dir_fd=folder), "rb") as file:
            left = saved.size + 1  # a file that grows meanwhile is another one, and may be huge
            while left and (piece := file.read(min(left, _CHUNK))):
                digest.update(piece)
                left -= len(piece)
    else:
        return False
    return digest.hexdigest().encode() == saved.object


def _create(folder: int, name: str, then: FileVersion, mode: int, read: ObjectReader) -> None:
    if then.mode == _LINK:
        os.symlink(b"".join(read(then.object)), name, dir_fd=folder)
        return
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, 0o600, dir_fd=folder), "wb") as file:
        with closing(read(then.object)) as pieces:
            file.writelines(pieces)
        os.fchmod(file.fileno(), mode)


def _remove_empty(folder: int, name: str) -> bool:
    """Removes a folder that contains no file; returns whether it was removed.

    It can be nested more deeply than functions can call each other or files can be open at once.
    So it goes up by `..`, if that is still the folder from which it went down.
    """
    current, above = folder, list[_Level]()
    try:
        inside = _open_folder(folder, name)
        while inside is not None:
            above.append(_Level(name, _identity(current), os.listdir(inside)))
            if current != folder:
                os.close(current)
            current = inside
            while not above[-1].left:
                level = above.pop()
                parent = os.open("..", _FOLDER, dir_fd=current) if above else folder
                os.close(current)
                current = parent
                if _identity(current) != level.parent:
                    return False
                os.rmdir(level.name, dir_fd=current)
                if not above:
                    return True
            name = above[-1].left.pop()
            inside = _open_folder(current, name)
        return False
    finally:
        if current != folder:
            os.close(current)


class _Level(Struct):
    """A folder that is being removed: its name, the folder that it is in, and what is left."""

    name: str
    parent: tuple[int, int]
    left: list[str]


def _open_folder(folder: int, name: str) -> int | None:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except NotADirectoryError:
        return None


def _identity(folder: int) -> tuple[int, int]:
    state = os.fstat(folder)
    return state.st_dev, state.st_ino
