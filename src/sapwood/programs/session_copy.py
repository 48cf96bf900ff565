"""Private copies of the sessions of other programs, made before a session is changed.

A transcript only grows, so a copy is a prefix of it and is extended by what is new. If the program
has rewritten the beginning of its transcript, the old copy stays and a new one is made beside it.
"""

import os
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

_COMPARED = 64 * 1024
"""Bytes at the beginning and at the end of a copy that are compared with the transcript."""

_PIECE = 8 * 1024 * 1024
_MAX_COPIES = 1_000


def extend_copy(transcript: Path, copy: Path) -> Path:
    """Brings the copy up to date and returns its path: `copy`, or a numbered one beside it.

    Only the owner may read it. It is on the disk when this returns. Raises `OSError`.
    """
    copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with transcript.open("rb") as source:
        newest = newest_copy(copy)
        target = newest if newest and _is_prefix(newest, source.fileno()) else _free_name(copy)
        handle = os.open(target, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _copy_rest(source.fileno(), handle)
            os.fsync(handle)
        finally:
            os.close(handle)
    return target


def append_lines(handle: int, lines: bytes, size: int) -> None:
    """Appends all lines at once, or none: after a failure the file has its former size."""
    written = 0
    try:
        written = os.write(handle, lines)
        if written != len(lines):
            raise OSError("the disk is full")
        os.fsync(handle)
    except OSError:
        if written and os.fstat(handle).st_size == size + written:
            os.ftruncate(handle, size)
        raise


def newest_copy(copy: Path) -> Path | None:
    """The copy that was made last; None if there is none."""
    return next(iter(copies_of(copy)), None)


def copies_of(copy: Path) -> list[Path]:
    """All copies of one transcript, the one that was made last first."""
    return [*takewhile(Path.exists, _names(copy))][::-1]


def _names(copy: Path) -> Iterator[Path]:
    yield copy
    for number in range(2, _MAX_COPIES):
        yield copy.with_name(f"{copy.stem}.{number}{copy.suffix}")


def _free_name(copy: Path) -> Path:
    for path in _names(copy):
        if not path.exists():
            return path
    raise FileExistsError(f"{copy.parent} has no room for another copy of {copy.name}")


def _is_prefix(copy: Path, source: int) -> bool:
    """Whether the transcript still begins with the copy, as far as both ends of the copy show."""
    with copy.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > os.fstat(source).st_size:
            return False
        for offset in (0, max(0, size - _COMPARED)):
            length = min(_COMPARED, size - offset)
            if os.pread(file.fileno(), length, offset) != os.pread(source, length, offset):
                return False
    return True


def _copy_rest(source: int, target: int) -> None:
    """Appends to the copy what it lacks, inside the kernel where that is possible."""
    done, size = os.fstat(target).st_size, os.fstat(source).st_size
    in_kernel = hasattr(os, "copy_file_range")
    while done < size:
        count = 0
        if in_kernel:
            try:
                count = os.copy_file_range(source, target, size - done, done, done)
            except OSError:  # the files are on file systems that cannot do this
                in_kernel = False
        if not count:
            count = os.pwrite(target, os.pread(source, min(_PIECE, size - done), done), done)
        if not count:
            raise OSError("the transcript became shorter while it was copied")
        done += count
