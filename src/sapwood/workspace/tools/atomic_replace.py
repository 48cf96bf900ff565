"""Replaces a file of the user atomically, and never through a symlink."""

import os
import secrets
import stat
from contextlib import suppress

from sapwood.workspace.places import Place, open_parent
from sapwood.workspace.tool_output import ToolError

FileState = tuple[int, int, int]
"""Identifies a state of a file: inode number, size and time of the last change."""


def file_state(descriptor: int) -> FileState:
    """The state of an open file."""
    return _state(os.fstat(descriptor))


def replace_file(place: Place, data: bytes, expected: FileState | None = None) -> bool:
    """Writes the file and creates its folders; returns whether the file existed before.

    Raises `ToolError` if the file is not in the `expected` state any more, or cannot be written.
    """
    with open_parent(place, make=True) as (folder, name):
        before = _existing(place, folder, name)
        if expected is not None and (before is None or _state(before) != expected):
            raise ToolError(f"{place.shown} changed while it was edited. Read it again.")
        temporary = f".sapwood-{secrets.token_hex(8)}"
        try:
            _write(folder, temporary, data, before)
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError as error:
            raise ToolError(f"{place.shown} was not written: {error.strerror}.") from error
        finally:
            _remove(folder, temporary)
    return before is not None


def _existing(place: Place, folder: int, name: str) -> os.stat_result | None:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found.st_mode):
        raise ToolError(f"{place.shown} is a folder. Give the path of a file.")
    if stat.S_ISLNK(found.st_mode):
        raise ToolError(f"{place.shown} just became a symlink. Nothing was written.")
    if not stat.S_ISREG(found.st_mode):
        raise ToolError(f"{place.shown} is not a file but a device, pipe or socket.")
    return found


def _write(folder: int, name: str, data: bytes, before: os.stat_result | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, 0o666, dir_fd=folder), "wb") as file:
        if before is not None:
            os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
            _keep_owner(file.fileno(), before)
        file.write(data)


def _keep_owner(descriptor: int, before: os.stat_result) -> None:
    now = os.fstat(descriptor)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        with suppress(PermissionError):  # only root may change the owner
            os.fchown(descriptor, before.st_uid, before.st_gid)


def _remove(folder: int, name: str) -> None:
    with suppress(FileNotFoundError):  # it was renamed
        os.unlink(name, dir_fd=folder)


def _state(found: os.stat_result) -> FileState:
    return found.st_ino, found.st_size, found.st_mtime_ns
