"""The commands of one workspace that run at the same time, in all processes of this user.

A command that runs holds a shared lock on a file in Sapwood's own folder, which ends with its
process. So another one finds out whether it is alone, whatever became of those before it.
"""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from sapwood.private_files import lock_held, private_folder, release_lock


class CommandGroup:
    """The group, as one of its commands uses it. `command_group` makes it."""

    def __init__(self, changing: Path, users: int) -> None:
        self._changing = changing
        self._users = users
        self._joins = False

    @contextmanager
    def changing(self) -> Generator[bool]:
        """Holds the group as it is in the block; yields whether none of its commands runs.

        Afterwards the command of this object runs if `join` was called in the block, else not.
        """
        with lock_held(self._changing):
            self._joins = False
            try:
                yield self._is_alone()
            finally:
                fcntl.flock(self._users, fcntl.LOCK_SH if self._joins else fcntl.LOCK_UN)

    def join(self) -> None:
        """Makes the command run from the end of the block of `changing` on."""
        self._joins = True

    def _is_alone(self) -> bool:
        try:
            fcntl.flock(self._users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextmanager
def command_group(state: Path) -> Generator[CommandGroup]:
    """The group of a workspace. `state` is the stem of the files about it."""
    private_folder(state.parent)
    users = os.open(state.with_name(f"{state.name}.users"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        yield CommandGroup(state.with_name(f"{state.name}.lock"), users)
    finally:
        release_lock(users)
