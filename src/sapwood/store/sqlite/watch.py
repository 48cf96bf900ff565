"""Who waits for news. Commits of this process ring at once; those of others are looked for.

SQLite tells nobody about a commit, but answers in microseconds whether there was one. Nothing is
asked while nobody waits.
"""

import asyncio
import sqlite3
from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from sapwood.core.ids import AgentId, Space
from sapwood.core.log import LogError
from sapwood.store.sqlite.connection import connect_to_read
from sapwood.store.sqlite.errors import explained
from sapwood.store.sqlite.events import last_position, origins_after
from sapwood.store.sqlite.readers import Readers

__all__ = ["Watch"]

_SECONDS = 0.02
"""Between two looks at what other processes did."""

Key = tuple[Space, AgentId | None]
"""An agent, or with None any agent of a space."""


class Watch:
    """Bells that ring when there may be news. Belongs to one event loop."""

    def __init__(self, path: Path, readers: Readers) -> None:
        self._path = path
        self._readers = readers
        self._bells: dict[Key, set[asyncio.Event]] = {}
        self._looking: asyncio.Task[None] | None = None
        self.closed = False

    @contextmanager
    def bell(self, space: Space, agent: AgentId | None) -> Generator[asyncio.Event]:
        """A bell to clear before reading, and to wait for when there was nothing to read."""
        if self._looking is None or self._looking.done():
            with explained(self._path):
                connection = connect_to_read(self._path, busy_seconds=0)
            self._looking = asyncio.create_task(self._look(connection))
        key, bell = (space, agent), asyncio.Event()
        self._bells.setdefault(key, set()).add(bell)
        try:
            yield bell
        finally:
            self._bells[key].discard(bell)
            if not self._bells[key]:
                del self._bells[key]

    def ring(self, space: Space, agents: Iterable[AgentId]) -> None:
        """There is news of these agents."""
        for agent in (None, *agents):
            for bell in self._bells.get((space, agent), ()):
                bell.set()

    async def close(self) -> None:
        """Rings for the last time."""
        self.closed = True
        self._ring_all()
        if self._looking:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    def _ring_all(self) -> None:
        for bells in self._bells.values():
            for bell in bells:
                bell.set()

    async def _look(self, connection: sqlite3.Connection) -> None:
        """Looks for commits of others, as long as somebody waits."""
        seen: int | None = None
        version: int | None = None
        with closing(connection):
            while self._bells:
                now = _data_version(connection)
                if now is None or now != version:
                    # A disk that fails for a moment is no reason to stop looking.
                    with suppress(LogError):
                        seen = await self._ring_after(seen)
                        version = now
                await asyncio.sleep(_SECONDS)

    async def _ring_after(self, seen: int | None) -> int:
        """Rings for what came after a position, and returns the new end."""
        if seen is None:
            # Nobody knows what came just before the first look, so it rings for all.
            seen = await self._readers.do(last_position)
            self._ring_all()
            return seen
        origins = await self._readers.do(lambda on: origins_after(on, seen))
        for space, agent, _ in origins:
            self.ring(space, (agent,))
        return origins[-1][-1] if origins else seen


def _data_version(connection: sqlite3.Connection) -> int | None:
    try:
        (version,) = connection.execute("PRAGMA data_version").fetchone()
    except sqlite3.OperationalError:  # busy, so something is going on
        return None
    return version
