"""Tells a folder from a later one at its path, which may get the number of the earlier one."""

import ctypes
import os
import sys

from sapwood.workspace.protected_files import Identity, entry_identity

_HERE = -100
_NOT_THROUGH_LINKS = 0x100
_BIRTH = 0x800
_SIZE = 256
"""Of what `statx` of Linux answers: first what it knows, and from 80 on seconds and nanoseconds."""


def folder_identity(path: str) -> Identity:
    """The number of what has this path, and when it was made; empty if there is nothing.

    >>> folder_identity("/nothing")
    ()
    """
    entry = entry_identity(path)
    return (*entry, _birth_time(path)) if entry else ()


def _birth_time(path: str) -> int:
    """In nanoseconds; 0 if the system does not say it. No program can set it."""
    statx = getattr(ctypes.CDLL(None), "statx", None)
    answer = ctypes.create_string_buffer(_SIZE)
    if statx is None or statx(_HERE, os.fsencode(path), _NOT_THROUGH_LINKS, _BIRTH, answer):
        return 0
    known, seconds, nanoseconds = (
        int.from_bytes(answer.raw[start:end], sys.byteorder)
        for start, end in ((0, 4), (80, 88), (88, 92))
    )
    return seconds * 10**9 + nanoseconds if known & _BIRTH else 0
