"""Opens an absolute path step by step without following a symlink.

What the descriptor stands for cannot be exchanged afterwards, as a path can.
"""

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress

_STEP = getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW | os.O_CLOEXEC


def open_path(path: str) -> int:
    """A descriptor of a file or folder. Raises `OSError` if a part of the path is a symlink."""
    current = os.open("/", _STEP | os.O_DIRECTORY)
    steps = [step for step in path.split("/") if step]
    for number, step in enumerate(steps, 1):
        last = number == len(steps)
        try:
            following = os.open(step, _STEP if last else _STEP | os.O_DIRECTORY, dir_fd=current)
        finally:
            os.close(current)
        current = following
    return current


@contextmanager
def folder_handle(path: str) -> Generator[int]:
    """A descriptor of a folder for the functions that take `dir_fd`, closed afterwards."""
    handle = open_path(path)
    try:
        yield handle
    finally:
        os.close(handle)


def make_accessible(path: str) -> None:
    """Gives the owner of a folder all rights to it. A command may have taken them away."""
    if os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return
    with suppress(OSError), folder_handle(path) as handle:
        # The descriptor has no rights of its own, so the folder is named by it.
        mode = stat.S_IMODE(os.fstat(handle).st_mode) | stat.S_IRWXU
        os.chmod(f"/proc/self/fd/{handle}", mode)
