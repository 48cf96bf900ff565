"""The interface to a log that can erase. All stores of Sapwood have it; a log of a user may not."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from sapwood.core.erasure import Erasure, Hold, Senders, UnfinishedErasure
from sapwood.core.errors import LogError
from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import Commit
from sapwood.turns.log import Log


class LeaderLock(Protocol):
    """A lock that one process at a time has. It ends with the process."""

    async def is_held(self) -> bool:
        """Whether this process still has it."""
        ...

    async def release(self) -> None:
        """Lets another process have it."""
        ...


@runtime_checkable
class ErasableLog(Log, Protocol):
    """A log with the one exception to 'append-only'."""

    async def begin_erasure(
        self, space: Space, erasure: Erasure, agents: Sequence[AgentId]
    ) -> None:
        """Stores the record of an erasure and the agents that it is about."""
        ...

    async def unfinished_erasures(self) -> list[UnfinishedErasure]:
        """The unfinished erasures of all spaces, with their agents."""
        ...

    async def erase_agent(
        self, space: Space, erasure: str, agent: AgentId, archived: Senders | None = None
    ) -> frozenset[AgentId]:
        """Deletes everything of an agent, and plans the erasure of its children.

        Replaces its words in the logs of others, and returns these others. If it is the stub of an
        archived conversation, `archived` has the agents of that, and to whom each sent mail: their
        words are replaced too.
        """
        ...

    async def replace_agents(
        self, space: Space, erasure: Erasure, expected: Mapping[AgentId, int], commit: Commit
    ) -> None:
        """Deletes agents that are at these versions, and stores a commit, together or not at all.

        Stores the record of the erasure too. What the agents said stays in the logs of others, and
        archives of which they are stubs are noted as restored. Raises `VersionConflict` if one of
        them has another version, a child that is not named, or a reply that is arriving, and if the
        commit has one.
        """
        ...

    async def clear_space(self, space: Space, erasure: str) -> None:
        """Deletes what a space has beside its agents."""
        ...

    async def erase_words(self, space: Space, erasure: str) -> None:
        """Removes words and long texts that only erased events had."""
        ...

    async def forget_agents(self, erasure: str) -> None:
        """Deletes the ids of what was erased."""
        ...

    async def scrub(self, whole: bool = False) -> str:
        """Removes what was deleted from the raw files, as far as this is possible at once.

        With `whole`, also if this locks tables of a server for some time. Returns what remains to
        be done by hand; empty if nothing.
        """
        ...

    async def finish_erasure(self, erasure: str, at: int) -> None:
        """Completes the record of an erasure."""
        ...

    async def erasures(self, space: Space) -> list[Erasure]:
        """The records of all erasures in a space, newest first."""
        ...

    async def spaces(self, *, after: Space | None = None, limit: int = 100) -> list[Space]:
        """A page of the spaces that have agents, ordered by name."""
        ...

    async def try_lead(self, task: str) -> LeaderLock | None:
        """The lock of a task that one process at a time does; None if another one has it."""
        ...

    async def add_hold(self, space: Space, hold: Hold) -> None:
        """Stores a legal hold."""
        ...

    async def release_hold(self, space: Space, hold: str, by: str, at: int) -> bool:
        """Releases a hold; returns false if there is none in force with this id."""
        ...

    async def holds(self, space: Space) -> list[Hold]:
        """The legal holds of a space, newest first; released ones too."""
        ...


def erasable(log: Log) -> ErasableLog:
    """The log, if it can erase. Raises `LogError` if it cannot."""
    if isinstance(log, ErasableLog):
        return log
    raise LogError(
        f"Logs of class {type(log).__name__} cannot erase. Nothing was changed. Open the database "
        "by its address instead."
    )
