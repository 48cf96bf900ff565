"""Files that only their owner may read, each written as a whole or not at all.

This is the only place that writes such files. It imports little, because hooks use it.
"""

import errno
import os
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

_MAX_FILES = 10_000
_LOCK_POLL_SECONDS = 0.05


def replace_file(
    path: str | Path, content: str | bytes, *, mode: int = 0o600, folder_mode: int = 0o700
) -> None:
    """Writes a file in place of the old one, in one step; readers see the old or the new content.

    A file that exists keeps its rights, and a symbolic link stays a link. `mode` and `folder_mode`
    are the rights of a new file and a new folder. If `mode` is private, others also lose the rights
    that they had on the old file. Raises `OSError` and leaves the old file as it
    was if the new one cannot be written.
    """
    target = os.path.realpath(path)
    with _temporary(os.path.dirname(target), content, mode, folder_mode) as temporary:
        with suppress(FileNotFoundError):
            rights = os.stat(target).st_mode & 0o777
            os.chmod(temporary, rights if mode & 0o077 else rights & 0o700)
        os.replace(temporary, target)


def private_folder(folder: Path) -> None:
    """Creates a folder, and those above it that are missing, for their owner alone."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)


def create_file(path: Path, content: bytes) -> None:
    """Writes a new file in one step. Raises `FileExistsError` if the name is taken."""
    with _temporary(str(path.parent), content) as temporary:
        _rename_to_free(temporary, path)


@contextmanager
def new_file(path: Path) -> Generator[Path]:
    """Yields an empty file beside `path` for another program to fill; then gives it that name.

    Nothing is left if the block raises. Raises `FileExistsError` if the name is taken at the end,
    and `OSError` if the file cannot be created.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}-{os.urandom(4).hex()}.new")
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        yield temporary
        _flush(temporary)
        _rename_to_free(str(temporary), path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def append_line(path: Path, line: bytes, *, durable: bool = False) -> None:
    """Adds a line in one write, so that several processes may add lines at once.

    With `durable`, it is on the disk afterwards.
    """
    private_folder(path.parent)
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(handle, line + b"\n")
        if durable:
            os.fsync(handle)
    finally:
        os.close(handle)


def write_new_file(folder: Path, stem: str, text: str) -> Path:
    """Writes a file under a name that is free, `STEM.txt` or `STEM-2.txt` and so on."""
    with _temporary(str(folder), text) as temporary:
        for number in range(1, _MAX_FILES):
            path = folder / (f"{stem}.txt" if number == 1 else f"{stem}-{number}.txt")
            with suppress(FileExistsError):
                _rename_to_free(temporary, path)
                return path
    raise FileExistsError(f"{folder} has too many files named {stem}.txt")


def slug(words: str, length: int = 48) -> str:
    """Words as a part of a file's name; empty if they hold neither letter nor digit.

    Anybody may have typed the words, so only letters and digits reach the file system.

    >>> slug("OAuth: implementation"), slug("../../etc/passwd"), slug("認証の実装")
    ('oauth-implementation', 'etc-passwd', '認証の実装')
    """
    kept = "".join(char if char.isalnum() else " " for char in words.lower())
    return "-".join(kept.split())[:length].strip("-")


@contextmanager
def reserved_space(folder: str, size: int) -> Generator[None]:
    """Holds bytes of the disk in the block, so that as many can be written to the folder after it.

    Raises `OSError` if that is not possible now.
    """
    with _temporary(folder, b"\0" * size):
        yield


@contextmanager
def locked(file: Path, seconds: float | None = None) -> Generator[None]:
    """Holds a lock on a file, so that no other process changes it between a read and a write.

    Raises `TimeoutError` if another process has it for longer than `seconds`, if given.
    """
    private_folder(file.parent)
    path = file.with_name(f".{file.name}.lock")
    handle = wait_for_lock(path) if seconds is None else _lock_in_time(path, seconds)
    try:
        yield
    finally:
        release_lock(handle)


@contextmanager
def lock_held(path: str | Path, mode: int = 0o600) -> Generator[None]:
    """Waits for the lock on a folder, or on a file, which is created with `mode`, and holds it."""
    handle = wait_for_lock(path, mode)
    try:
        yield
    finally:
        release_lock(handle)


def wait_for_lock(path: str | Path, mode: int = 0o600) -> int:
    """Waits for the same lock and returns its handle. `release_lock` ends it."""
    import fcntl

    flags = os.O_RDONLY if os.path.isdir(path) else os.O_RDWR | os.O_CREAT
    handle = os.open(path, flags, mode)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _lock_in_time(file: Path, seconds: float) -> int:
    """The handle of the lock. Raises `TimeoutError`."""
    end = time.monotonic() + seconds
    while (handle := try_lock(file)) is None:
        if time.monotonic() > end:
            raise TimeoutError(errno.ETIMEDOUT, "another process is using it")
        time.sleep(_LOCK_POLL_SECONDS)
    return handle


def try_lock(file: Path) -> int | None:
    """Locks a file, which stays empty, and returns its handle; None if another process has it.

    `release_lock` or the end of the process ends it.
    """
    import fcntl

    handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException as error:
        os.close(handle)
        if isinstance(error, BlockingIOError):
            return None
        raise
    return handle


def release_lock(handle: int) -> None:
    """Ends the lock and closes its handle.

    Closing alone would not end the lock at once: a program that another thread is about to start
    has a copy of the handle for a moment.
    """
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_UN)
    finally:
        os.close(handle)


def _rename_to_free(temporary: str, path: Path) -> None:
    """Gives the temporary file its name. Raises `FileExistsError` if the name is taken."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        os.replace(temporary, path)


@contextmanager
def _temporary(
    folder: str, content: str | bytes, mode: int = 0o600, folder_mode: int = 0o700
) -> Generator[str]:
    """A file in the folder with this content, removed afterwards unless it was renamed."""
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    os.makedirs(folder, mode=folder_mode, exist_ok=True)
    path = os.path.join(folder, f".{os.getpid()}-{os.urandom(4).hex()}.new")
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with open(handle, "wb") as file:
            file.write(data)
        yield path
    finally:
        with suppress(FileNotFoundError):
            os.unlink(path)
