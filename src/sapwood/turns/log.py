"""The interface to the log. `sapwood.store` provides two: SQLite, PostgreSQL.

Every call has a space: nothing of one space can be read, counted or guessed from another, not even
whether an id exists.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.live_words import AwaitWatcher, LiveWords
from sapwood.core.log_values import (
    AgentSummary,
    Commit,
    Cursor,
    Order,
    Receipt,
    SearchHit,
    Snapshot,
    TailedEvent,
)


class Log(Protocol):
    """An append-only log of events, with one stream for each agent."""

    async def commit(self, space: Space, commit: Commit) -> Receipt | None:
        """Stores all appends and the receipts durably, or nothing.

        Returns the earlier receipt if the id of a command is known. Raises `VersionConflict` if a
        stream is not at the expected version, or if it ends other words than those that are there.
        """
        ...

    async def receipt(self, space: Space, command: CommandId) -> Receipt | None:
        """The first answer to the command with this id; None if there was no such command."""
        ...

    async def late_receipt(self, space: Space, command: CommandId) -> Receipt | None:
        """The same, after a commit of this process has ended whose caller stopped waiting.

        If it is None then, nothing of that commit is stored later.
        """
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

    async def save_words(
        self,
        space: Space,
        agent: AgentId,
        version: int,
        words: LiveWords,
        before: CommandId | None,
    ) -> bool:
        """Stores the words of the reply that is arriving, in place of those before.

        They survive the end of any process. `before` is the command of the words before; None if
        these are the first ones. Returns false, and changes nothing, if others have changed the
        words, or if the agent is not at `version` when the first ones are stored.
        """
        ...

    def watched_words(self, space: Space, agent: AgentId) -> AbstractContextManager[AwaitWatcher]:
        """In the block, the function waits until anybody has watched the agent's words in it.

        Somebody who begins to watch is known a moment after he got the words that are stored.
        """
        ...

    async def words(self, space: Space, agent: AgentId) -> LiveWords | None:
        """The words of the reply that is arriving; None if there are none."""
        ...

    async def snapshot(
        self, space: Space, agent: AgentId, schema: str, at: int | None = None
    ) -> Snapshot | None:
        """The newest snapshot of this schema, at or before version `at` if given."""
        ...

    async def save_snapshot(self, space: Space, snapshot: Snapshot) -> None:
        """Stores a snapshot. Older ones of the agent are kept, so that the past opens fast too."""
        ...

    async def summary(self, space: Space, agent: AgentId) -> AgentSummary | None:
        """What a list shows of one agent."""
        ...

    async def agents(
        self,
        space: Space,
        *,
        after: AgentSummary | None = None,
        limit: int = 100,
        parent: AgentId | None = None,
        status: str | None = None,
        owner: str = "",
        label: str = "",
        order: Order = "created",
    ) -> list[AgentSummary]:
        """A page of agents after `after`, newest first (by creation or last event, then id)."""
        ...

    async def conversations(
        self,
        space: Space,
        folder: str,
        *,
        after: AgentSummary | None = None,
        limit: int = 100,
        status: str | None = None,
    ) -> list[AgentSummary]:
        """A page of the root agents of a folder after `after`, the last changed first.

        Agents without a folder are not included.
        """
        ...

    async def working(
        self, space: Space, *, after: AgentId | None = None, limit: int = 100
    ) -> list[AgentSummary]:
        """A page of the running agents that have work to do, by id, after `after`."""
        ...

    async def working_spaces(self, *, after: Space | None = None, limit: int = 100) -> list[Space]:
        """A page of the spaces in which an agent has work to do, by name, after `after`.

        Only for workers that serve several spaces: it is no secret from them that a space exists.
        """
        ...

    async def find(self, space: Space, name: str, limit: int = 10) -> list[AgentSummary]:
        """The agent with this id, else those with this name, else those whose id starts with it."""
        ...

    async def ancestors(self, space: Space, agent: AgentId) -> list[AgentId]:
        """The agent's parent, its parent, and so on up to the root."""
        ...

    async def descendants(self, space: Space, agent: AgentId) -> list[AgentId]:
        """All children, their children, and so on; parents before their children."""
        ...

    async def family(self, space: Space, agent: AgentId) -> list[AgentSummary]:
        """The root of the agent and all its descendants, parents before their children.

        All of them as of one moment: an agent that one of them makes later is not missed by halves.
        """
        ...

    def follow(self, space: Space, agent: AgentId, after: int = 0) -> AsyncIterator[Recorded]:
        """Every event of one agent after a version, then each new one as it is committed."""
        ...

    def watch(
        self, space: Space, agent: AgentId, after: int = 0
    ) -> AsyncIterator[Recorded | LiveWords]:
        """As `follow`, and the words of the reply that is arriving whenever there are more.

        Words come after the event of their model call.
        """
        ...

    def tail(self, space: Space, after: Cursor | None = None) -> AsyncIterator[TailedEvent]:
        """Every event of a space after a cursor, then each new one as it is committed.

        No event is missed or repeated, even if transactions commit out of order. The events of each
        agent come in the order of their versions.
        """
        ...

    async def end(self, space: Space) -> Cursor:
        """The cursor after all events of a space that a tail has yielded or could yield now."""
        ...

    async def search(
        self,
        space: Space,
        query: str,
        *,
        agents: Sequence[AgentId] | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> list[SearchHit]:
        """Finds events with these words, best first. Includes all commits before the call."""
        ...

    async def close(self) -> None:
        """Closes files and connections. Everything acknowledged is on disk already."""
        ...


@runtime_checkable
class ExpiringLog(Protocol):
    """A log that can do without old receipts."""

    async def expire_receipts(self, days: float) -> int:
        """Deletes receipts older than `days` of commands whose id Sapwood made up, in all spaces.

        Returns how many.
        """
        ...


@runtime_checkable
class MovableLog(Protocol):
    """A log whose spaces can move to other databases."""

    async def require_here(self, space: Space) -> None:
        """Returns if this database has the space. Waits while the space is stopped to be moved.

        Raises `SpaceMoved` if another database has it, and `SpaceStopped` if the move takes long or
        the space has not arrived.
        """
        ...
