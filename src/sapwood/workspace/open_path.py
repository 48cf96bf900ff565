"""Opens an absolute path step by step without following a symlink.

What the descriptor stands for cannot be exchanged afterwards, as a path can.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["folder_handle", "open_path"]

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
