"""Files that people read: written whole or not at all, for their owner alone, in their folder.

Names are made of words that anybody may have typed, so nothing of them but letters and digits
reaches the file system.
"""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["file_new", "file_over", "locked", "slug"]

_MOST = 10_000


def slug(words: str, length: int = 48) -> str:
    """Words as a part of a file's name; empty if they hold neither letter nor digit.

    >>> slug("OAuth: implementation"), slug("../../etc/passwd"), slug("認証の実装")
    ('oauth-implementation', 'etc-passwd', '認証の実装')
    """
    kept = "".join(char if char.isalnum() else " " for char in words.lower())
    return "-".join(kept.split())[:length].strip("-")


def file_new(folder: Path, stem: str, text: str) -> Path:
    """Writes a file that was not there before, `STEM.txt` or `STEM-2.txt` and so on."""
    with _written(folder, text) as written:
        for number in range(1, _MOST):
            path = folder / (f"{stem}.txt" if number == 1 else f"{stem}-{number}.txt")
            with suppress(FileExistsError):
                _put(written, path)
                return path
    raise FileExistsError(f"{folder} has no room for another {stem}.txt")


def file_over(path: Path, text: str) -> None:
    """Puts a text in the place of a file, which may not be there yet."""
    with _written(path.parent, text) as written:
        written.replace(path)


@contextmanager
def locked(file: Path) -> Generator[None]:
    """Keeps other processes from changing a file that is read and then written over."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(file.with_name(f".{file.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _put(written: Path, path: Path) -> None:
    """Gives a file a name, unless the name is taken."""
    try:
        os.link(written, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        written.replace(path)


@contextmanager
def _written(folder: Path, text: str) -> Generator[Path]:
    """A file with this text under a name of its own, which is gone afterwards."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f".{os.getpid()}-{os.urandom(4).hex()}.new"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(text.encode("utf-8", "replace"))
        yield path
    finally:
        path.unlink(missing_ok=True)
