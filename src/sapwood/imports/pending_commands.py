"""Commands on a session that were carried out before the session was imported.

To mask and count every text of a long session takes seconds, and a command on it needs neither. So
the first command changes the program's session at once, and is kept here. The import records what
the session had before, gives the command, and continues behind the rows that it wrote. It begins in
a process of its own; whoever opens the database meanwhile waits for it, or does it.

If the file is lost, the import finds the change in the session itself, as after a crash.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import get_args

import msgspec
from msgspec import Struct

from sapwood.config.folders import pending_folder
from sapwood.core.commands import Command, CommandMeta
from sapwood.core.ids import AgentId, Space
from sapwood.private_files import replace_file
from sapwood.turns.command_batch import SentCommand

_KINDS: dict[str, type[Command]] = {each.__name__: each for each in get_args(Command)}


class _Kept(Struct, frozen=True):
    kind: str
    command: msgspec.Raw
    meta: CommandMeta


class PendingSession(Struct, frozen=True):
    """A session of a program that has to be imported into a space of a database.

    `size` is the length of its transcript in bytes before the commands, and `version` that of its
    agent: they are given only if the import leads to the same version.
    """

    address: str
    space: Space
    source: str
    path: str
    size: int
    version: int
    kept: tuple[_Kept, ...] = ()

    @property
    def commands(self) -> list[SentCommand]:
        """The commands as they were given."""
        return [
            (msgspec.json.decode(each.command, type=_KINDS[each.kind]), each.meta)
            for each in self.kept
        ]


def pending_file(address: str, space: Space, agent: AgentId) -> Path:
    """The file of the commands that wait for the import of this agent. Most agents have none."""
    name = blake2b(f"{address}\0{space}\0{agent}".encode(), digest_size=16).hexdigest()
    return pending_folder() / name


def keep_commands(file: Path, session: PendingSession, commands: Sequence[SentCommand]) -> None:
    """Keeps the commands for the import of a session."""
    kept = tuple(
        _Kept(type(command).__name__, msgspec.Raw(msgspec.json.encode(command)), meta)
        for command, meta in commands
    )
    replace_file(file, msgspec.json.encode(msgspec.structs.replace(session, kept=kept)))


def read_commands(file: Path) -> PendingSession | None:
    """The session and its commands; None if there are none, or if they cannot be read."""
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode(file.read_bytes(), type=PendingSession)
    return None


def pending_sessions(address: str, space: Space) -> Iterator[tuple[Path, PendingSession]]:
    """The sessions that wait for their import into a space, each with its file."""
    for file in sorted(pending_folder().iterdir()):
        found = read_commands(file)
        if found is not None and (found.address, found.space) == (address, space):
            yield file, found


def forget_commands(file: Path) -> None:
    """Removes the commands: the log has them."""
    with suppress(FileNotFoundError):
        os.unlink(file)
