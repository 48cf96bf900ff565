"""A lock that one process at a time has, for work that only one of them should do."""

from pathlib import Path

from sapwood.private_files import release_lock
from sapwood.private_files import try_lock as try_file


class FileLock:
    """A lock on a file beside the database. It ends with the process, however that ends."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    async def is_held(self) -> bool:
        """Always true: nobody can take the lock away."""
        return True

    async def release(self) -> None:
        """Lets another process have it."""
        release_lock(self._handle)


def try_lock(path: Path, task: str) -> FileLock | None:
    """The lock of a task; None if another process has it. Raises `OSError`."""
    handle = try_file(path.with_name(f"{path.name}.{task}.lock"))
    return None if handle is None else FileLock(handle)
