"""Wakes followers after a commit: at once for commits of this process, by polling for others.

SQLite sends no notification of a commit, but `PRAGMA data_version` shows in microseconds whether
another process has committed. There is no polling while nothing is followed.
"""

import asyncio
import sqlite3
from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from sqlite3 import Connection

from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.log_values import LogError
from sapwood.store.sqlite.connections import SqliteReaderPool, connect_to_read, translated_errors
from sapwood.store.sqlite.event_table import last_position, last_words, origins_after

_POLL_SECONDS = 0.02
"""The pause between two checks for commits of other processes."""

Topic = tuple[Space, AgentId | None]
"""One agent, or with None every agent of a space."""


class CommitWatcher:
    """Sets an `asyncio.Event` for each follower when there may be new events for it.

    Use it only on the event loop that created it.
    """

    def __init__(self, path: Path, readers: SqliteReaderPool) -> None:
        self._path = path
        self._readers = readers
        self._subscribers: dict[Topic, set[asyncio.Event]] = {}
        self._words: dict[tuple[Space, AgentId], CommandId] = {}
        self._poll_task: asyncio.Task[None] | None = None
        self.closed = False

    @contextmanager
    def subscribe(self, space: Space, agent: AgentId | None) -> Generator[asyncio.Event]:
        """An event that is set after a commit. Clear it before reading, then wait for it."""
        if self._poll_task is None or self._poll_task.done():
            with translated_errors(self._path):
                connection = connect_to_read(self._path, busy_seconds=0)
            self._poll_task = asyncio.create_task(self._poll(connection))
        topic, event = (space, agent), asyncio.Event()
        self._subscribers.setdefault(topic, set()).add(event)
        try:
            yield event
        finally:
            self._subscribers[topic].discard(event)
            if not self._subscribers[topic]:
                del self._subscribers[topic]

    def notify(self, space: Space, agents: Iterable[AgentId]) -> None:
        """Wakes the followers of these agents and of the space."""
        for agent in (None, *agents):
            for event in self._subscribers.get((space, agent), ()):
                event.set()

    def notify_words(self, space: Space, agent: AgentId) -> None:
        """Wakes the followers of one agent: more words of its reply have arrived."""
        for event in self._subscribers.get((space, agent), ()):
            event.set()

    async def close(self) -> None:
        """Stops polling and wakes every follower, so that it sees `closed`."""
        self.closed = True
        self._notify_all()
        if self._poll_task:
            self._poll_task.cancel()
            await asyncio.gather(self._poll_task, return_exceptions=True)

    def _notify_all(self) -> None:
        for events in self._subscribers.values():
            for event in events:
                event.set()

    async def _poll(self, connection: Connection) -> None:
        """Checks for commits of other processes, as long as there is a follower."""
        seen: int | None = None
        version: int | None = None
        with closing(connection):
            while self._subscribers:
                now = _data_version(connection)
                if now is None or now != version:
                    # After an error, which may be temporary, the next round checks again.
                    with suppress(LogError):
                        seen = await self._notify_after(seen)
                        version = now
                await asyncio.sleep(_POLL_SECONDS)

    async def _notify_after(self, seen: int | None) -> int:
        """Wakes the followers of events after a position; returns the last position."""
        if seen is None:
            # A commit just before the first check cannot be seen here, so all are woken.
            seen = await self._readers.run(last_position)
            self._notify_all()
            return seen
        origins = await self._readers.run(lambda on: origins_after(on, seen))
        words = await self._readers.run(last_words)
        for (space, agent), _ in words.items() - self._words.items():
            self.notify_words(space, agent)
        self._words = words
        for space, agent, _ in origins:
            self.notify(space, (agent,))
        return origins[-1][-1] if origins else seen


def _data_version(connection: Connection) -> int | None:
    try:
        (version,) = connection.execute("PRAGMA data_version").fetchone()
    except sqlite3.OperationalError:  # busy: another process is writing
        return None
    return version
