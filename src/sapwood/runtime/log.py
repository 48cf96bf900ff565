"""The log that the runtime needs. `sapwood.store` has three: memory, SQLite, PostgreSQL.

Every call is scoped by a space: nothing of one space can be read, counted or guessed from
another, not even whether an id is taken.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.log import Commit, Cursor, Facts, Hit, Receipt, Snapshot, Tailed

__all__ = ["Log"]


class Log(Protocol):
    """An append-only log of events, one stream an agent."""

    async def commit(self, space: Space, commit: Commit) -> Receipt | None:
        """Stores all appends and the receipts durably, or nothing.

        Returns an earlier receipt when a command's id is known already. Raises
        `VersionConflict` when a log is not at the expected version.
        """
        ...

    async def receipt(self, space: Space, command: CommandId) -> Receipt | None:
        """The first answer to this command, if it was given before."""
        ...

    async def read(
        self,
        space: Space,
        agent: AgentId,
        first: int = 1,
        last: int | None = None,
        *,
        limit: int | None = None,
        backward: bool = False,
    ) -> list[Recorded]:
        """Events of one agent, versions `first` to `last`, newest first if `backward`."""
        ...

    async def snapshot(
        self, space: Space, agent: AgentId, schema: str, at: int | None = None
    ) -> Snapshot | None:
        """The newest snapshot of this schema, at or before version `at` if given."""
        ...

    async def save_snapshot(self, space: Space, snapshot: Snapshot) -> None:
        """Keeps a snapshot. Several of one agent are kept, so that the past opens fast too."""
        ...

    async def facts(self, space: Space, agent: AgentId) -> Facts | None:
        """What a list shows of one agent."""
        ...

    async def agents(
        self,
        space: Space,
        *,
        after: Facts | None = None,
        limit: int = 100,
        parent: AgentId | None = None,
        status: str | None = None,
    ) -> list[Facts]:
        """A page of agents, newest first (by creation, then id), going on after one seen."""
        ...

    async def conversations(
        self,
        space: Space,
        folder: str,
        *,
        after: Facts | None = None,
        limit: int = 100,
        status: str | None = None,
    ) -> list[Facts]:
        """A page of the root agents of a folder, last written to first, going on after one seen.

        An agent without a folder is in no such list.
        """
        ...

    async def working(
        self, space: Space, *, after: AgentId | None = None, limit: int = 100
    ) -> list[Facts]:
        """A page of the running agents that have work to do, by their ids, going on after one."""
        ...

    async def find(self, space: Space, name: str, limit: int = 10) -> list[Facts]:
        """The agent with this id; else those with this name; else those whose id starts so."""
        ...

    async def ancestors(self, space: Space, agent: AgentId) -> list[AgentId]:
        """The agent's parent, its parent, and so on up to the root."""
        ...

    async def descendants(self, space: Space, agent: AgentId) -> list[AgentId]:
        """All children, their children, and so on; parents before their children."""
        ...

    def follow(self, space: Space, agent: AgentId, after: int = 0) -> AsyncIterator[Recorded]:
        """Every event of one agent after a version, then each new one as it is committed."""
        ...

    def tail(self, space: Space, after: Cursor | None = None) -> AsyncIterator[Tailed]:
        """Every event of a space after a cursor, then each new one as it is committed.

        None is missed and none repeated, whatever commits out of order; each agent's events come
        in the order of their versions.
        """
        ...

    async def search(
        self,
        space: Space,
        query: str,
        *,
        agents: Sequence[AgentId] | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> list[Hit]:
        """Where these words stand, best first. Sees everything committed before the call."""
        ...

    async def close(self) -> None:
        """Lets go of files and connections; everything acknowledged is on disk already."""
        ...
