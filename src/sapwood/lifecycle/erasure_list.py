"""The list of what was erased, to erase it again after a backup was restored.

It is a file outside of the database, which would be lost or reset with the database. A line has the
space, the time, and a hash of the agent's id: an id cannot be read from it, but an agent of a
restored database can be recognized.
"""

from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from sapwood.core.errors import LogError
from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import AgentSummary
from sapwood.private_files import append_line


class ErasedAgent(Struct, frozen=True):
    """One line: the hash of an agent's id, its space, and when its erasure began."""

    agent: str
    space: Space
    at: int


def id_hash(space: Space, agent: AgentId) -> str:
    """The hash of an id.

    >>> id_hash(Space("local"), AgentId("demo")) == id_hash(Space("team"), AgentId("demo"))
    False
    """
    return blake2b(f"{space}\0{agent}".encode(), digest_size=20).hexdigest()


def append_erased(file: Path, space: Space, agent: AgentId, at: int) -> None:
    """Adds an agent to the list, durably. Raises `OSError`."""
    line = msgspec.json.encode(ErasedAgent(id_hash(space, agent), space, at))
    append_line(file, line, durable=True)


def read_erased(files: Iterable[Path]) -> dict[Space, dict[str, int]]:
    """What the lists of one or more machines have: by space, the newest time of each hash.

    A line that was cut off by a crash at the end of a file is passed over: its erasure was not
    finished, and wrote another one. Raises `LogError`.
    """
    found: dict[Space, dict[str, int]] = {}
    for file in files:
        try:
            lines = file.read_bytes().split(b"\n")
        except OSError as error:
            raise LogError(f"'{file}' cannot be read: {error.strerror}.") from error
        for number, line in enumerate(lines, 1):
            try:
                each = msgspec.json.decode(line, type=ErasedAgent) if line else None
            except msgspec.MsgspecError as error:
                if number == len(lines):
                    continue
                raise LogError(
                    f"Line {number} of '{file}' is not a valid entry in a list of erasures: "
                    f"{error}. Nothing was erased."
                ) from error
            if each is not None:
                times = found.setdefault(each.space, {})
                times[each.agent] = max(each.at, times.get(each.agent, 0))
    return found


def is_erased(times: dict[str, int], space: Space, facts: AgentSummary) -> bool:
    """Whether the list has this agent, and not only an earlier one with the same id."""
    return facts.created <= times.get(id_hash(space, facts.agent), -1)
