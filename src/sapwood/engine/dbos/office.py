"""The office: everything that needs the database and no worker. A process that only wakes has this.

Each method is one transaction, and returns when it is committed.
"""

from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from sapwood.engine.dbos.bells import Bell, Bells
from sapwood.engine.dbos.clerk import Clerk, Tell
from sapwood.engine.dbos.place import find_place
from sapwood.engine.dbos.post import Post
from sapwood.engine.dbos.quiet import quieten
from sapwood.engine.dbos.workers import Workers
from sapwood.engine.errors import EngineError
from sapwood.engine.limits import Limits

__all__ = ["Office"]


class Office:
    """A place, opened."""

    def __init__(self, address: str | Path, limits: Limits, tell: Tell | None = None) -> None:
        quieten()
        try:
            self.place = find_place(address)
        except (OSError, SQLAlchemyError) as problem:
            raise EngineError(
                f"The engine's database could not be opened: {problem}. The log was not touched."
            ) from problem
        self.post = Post(self.place, limits)
        self.bells = Bells(self.place.prefix)
        self.workers = Workers(self.place.prefix)
        self.tell = tell
        self._clerk = Clerk(self.place.database, tell)

    async def ring(self, bell: Bell) -> None:
        """Rings for whichever worker is free."""

        def ring(connection: sa.Connection) -> None:
            if self.bells.ring(connection, bell, None, None):
                self.post.enqueue(connection, bell)

        await self._clerk.do(ring, bell.space, bell.agent)

    async def ring_here(self, bell: Bell, worker: str, holder: str) -> bool:
        """Rings. If the bell is new, true: it is held already, and its drive is to be started."""
        return await self._clerk.do(
            lambda connection: self.bells.ring(connection, bell, worker, holder),
            bell.space,
            bell.agent,
        )

    async def ring_later(self, bell: Bell, delay: float) -> None:
        """Has somebody ring after so many seconds."""
        await self._clerk.do(lambda connection: self.post.set_alarm(connection, bell, delay))

    async def take(self, bell: Bell, worker: str, holder: str) -> int | None:
        """Makes this holder the one that drives. Its rings, or None if it is not to be had."""
        return await self._clerk.do(
            lambda connection: self.bells.take(connection, bell, worker, holder),
            bell.space,
            bell.agent,
        )

    async def leave(self, bell: Bell, holder: str, rings: int) -> int | None:
        """Takes the bell down, or returns how often it was rung meanwhile."""
        return await self._clerk.do(
            lambda connection: self.bells.leave(connection, bell, holder, rings),
            bell.space,
            bell.agent,
        )

    async def enter(self, worker: str) -> None:
        """Makes a worker known to the others."""
        await self._clerk.do(lambda connection: self.workers.enter(connection, worker))

    async def retire(self, worker: str) -> None:
        """Takes a worker off the list."""
        await self._clerk.do(lambda connection: self.workers.leave(connection, worker))

    async def close(self) -> None:
        """Finishes what was begun and lets go of the database."""
        await self._clerk.close()
        self.post.close()
        self.place.database.dispose()
