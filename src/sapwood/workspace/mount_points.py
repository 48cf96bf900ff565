"""Empty files and folders that exist while commands run, so that something can be mounted there.

A mount needs a file or folder at its place. Where git would read one that does not exist, such as
`hooks`, a command must not be able to make it. So an empty one is made before the command, is
mounted read-only for it, and is removed when no command of the workspace runs any more: removing it
earlier would end the mount of another command. A list of them is kept in Sapwood's own folder, so
that the next command removes what a crash has left.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from sapwood.private_files import replace_file
from sapwood.workspace.safe_paths import folder_handle


class MountPoint(Struct, frozen=True):
    """A path, and the content of the file there; None for a folder."""

    path: str
    content: str | None = None


def make_mount_points(state: Path, wanted: Iterable[MountPoint]) -> list[str]:
    """Makes what is missing and returns the paths of all that exist then.

    `state` is the stem of the files about the workspace, and has the list. A place that this user
    cannot write is left out: a command cannot write there either.
    """
    ready: list[str] = []
    made = list(_made(state))
    for point in wanted:
        if point in made or os.path.lexists(point.path):
            ready.append(point.path)
            continue
        # It is listed first: after a crash in between, there is nothing to remove.
        made.append(point)
        replace_file(state, msgspec.json.encode(made))
        with suppress(OSError):
            _make(point)
            ready.append(point.path)
    return [path for path in ready if os.path.lexists(path)]


def _make(point: MountPoint) -> None:
    folder, name = os.path.split(point.path)
    with folder_handle(folder) as parent:
        if point.content is None:
            os.mkdir(name, 0o755, dir_fd=parent)
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(name, flags, 0o644, dir_fd=parent)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(point.content)


def remove_mount_points(state: Path) -> None:
    """Removes all that were made. No command of the workspace may run."""
    for point in _made(state):
        with suppress(OSError):
            _remove(point)
    state.unlink(missing_ok=True)


def _remove(point: MountPoint) -> None:
    """Removes what was made, unless somebody has put something else there meanwhile."""
    folder, name = os.path.split(point.path)
    with folder_handle(folder) as parent:
        if point.content is None:
            os.rmdir(name, dir_fd=parent)
            return
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(name, flags, dir_fd=parent), "rb") as file:
            if file.read(100) != point.content.encode():
                return
        os.unlink(name, dir_fd=parent)


def _made(state: Path) -> tuple[MountPoint, ...]:
    try:
        return msgspec.json.decode(state.read_bytes(), type=tuple[MountPoint, ...])
    except (FileNotFoundError, msgspec.MsgspecError):
        return ()
