"""Putting a file's new content in place: whole or not at all, never through a symlink."""

import os
import secrets
import stat
from contextlib import suppress

from sapwood.workspace.errors import ToolError
from sapwood.workspace.places import Place, open_parent

__all__ = ["Seen", "replace_file", "see_file"]

Seen = tuple[int, int, int]
"""What tells one state of a file from the next: its number, its size and when it changed."""


def see_file(descriptor: int) -> Seen:
    """The state of an open file."""
    return _state(os.fstat(descriptor))


def replace_file(place: Place, data: bytes, seen: Seen | None = None) -> bool:
    """Writes the file, makes its folders, and returns whether it was there before.

    With `seen`, only if it is still as it was then.
    """
    with open_parent(place, make=True) as (folder, name):
        before = _before(place, folder, name)
        if seen is not None and (before is None or _state(before) != seen):
            raise ToolError(f"{place.shown} changed while it was edited. Read it again.")
        fresh = f".sapwood-{secrets.token_hex(8)}"
        try:
            _write(folder, fresh, data, before)
            os.replace(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError as error:
            raise ToolError(f"{place.shown} was not written: {error.strerror}.") from error
        finally:
            _remove(folder, fresh)
    return before is not None


def _before(place: Place, folder: int, name: str) -> os.stat_result | None:
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
        with suppress(PermissionError):  # only root gives files away
            os.fchown(descriptor, before.st_uid, before.st_gid)


def _remove(folder: int, name: str) -> None:
    with suppress(FileNotFoundError):  # it has taken its place
        os.unlink(name, dir_fd=folder)


def _state(found: os.stat_result) -> Seen:
    return found.st_ino, found.st_size, found.st_mtime_ns
