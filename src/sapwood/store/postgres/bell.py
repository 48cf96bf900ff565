"""The bell: tells followers, here and in other processes, that there is something new.

It only ever says 'look': what is there is read from the log, so a bell that rings twice, or late,
or for nothing does no harm, and one that does not ring costs a delay, because followers also look
by themselves now and then.

Ringing happens after the commit and on a session of its own: as part of a commit it would make
all commits wait for each other.
"""

import asyncio
import hashlib
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sapwood.core.ids import AgentId, Space
from sapwood.store.postgres.faults import FAULTS
from sapwood.store.postgres.sessions import Server

if TYPE_CHECKING:
    from sapwood.store.postgres.sessions import Session

__all__ = ["Bell", "Place", "Wake", "key_of"]

Place = tuple[Space, AgentId | None]
"""An agent, or a whole space."""

_CHANNEL = "sapwood"
_RING = f"SELECT pg_notify('{_CHANNEL}', keys) FROM unnest($1::text[]) AS keys"
_KEYS_A_NOTE = 400  # a note may have 8,000 bytes
# Many commits share a ring: between two of them there is some rest, and more on a busy machine,
# so that ringing never takes more than a tenth of the time.
_REST, _SHARE = 0.002, 0.1
_LONGEST_PAUSE = 1.0
_LAST_WORDS = 2.0


def key_of(space: Space, agent: AgentId | None = None) -> str:
    """What the bell calls a place. Names stay at home."""
    name = f"{space}\0{agent}" if agent is not None else space
    return hashlib.blake2b(name.encode(), digest_size=8).hexdigest()


class Wake:
    """Set when the bell rang for a key."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def set(self) -> None:
        """Wakes whoever waits."""
        self._event.set()

    def clear(self) -> None:
        """Forgets that it rang. Comes before a look, so that nothing falls between."""
        self._event.clear()

    async def wait(self, seconds: float) -> bool:
        """Whether it rang within so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return False
        return True


class Bell:
    """One session that listens for others and rings for them."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._wakes: dict[str, set[Wake]] = {}
        self._unsaid: set[Place] = set()
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.closed = False

    @contextmanager
    def waiting(self, key: str) -> Generator[Wake]:
        """A wake for this key, for as long as the `with` block lasts."""
        self._start()
        wake = Wake()
        self._wakes.setdefault(key, set()).add(wake)
        try:
            yield wake
        finally:
            self._wakes[key].discard(wake)
            if not self._wakes[key]:
                del self._wakes[key]

    def ring(self, places: Iterable[Place]) -> None:
        """Wakes followers here at once, and others soon."""
        for place in places:
            self._unsaid.add(place)
            if self._wakes:
                self._wake(key_of(*place))
        self._news.set()
        self._start()

    async def close(self) -> None:
        """Says what is unsaid, wakes everybody for the last time, and ends."""
        self.closed = True
        self._news.set()
        self._wake_all()
        if self._task:
            await asyncio.wait({self._task}, timeout=_LAST_WORDS)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _start(self) -> None:
        if self._task is None and not self.closed:
            self._task = asyncio.create_task(self._serve())

    async def _serve(self) -> None:
        """Listens and rings, on a new session whenever one is lost."""
        pause = _REST
        while not self.closed or self._unsaid:
            try:
                session = await self._server.connect()
            except FAULTS:
                self._server.presence.lost()
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
                continue
            pause = _REST
            try:
                await self._serve_on(session)
            except FAULTS:
                session.terminate()
            else:
                await session.close()
            if not self.closed:
                self._server.presence.lost()

    async def _serve_on(self, session: "Session") -> None:
        session.add_termination_listener(lambda _: self._news.set())
        await session.execute("SET synchronous_commit = off")
        await session.add_listener(_CHANNEL, self._heard)
        self._server.presence.answered()
        self._wake_all()  # for what was said while nobody listened
        loop = asyncio.get_running_loop()
        while not session.is_closed():
            await self._news.wait()
            self._news.clear()
            if self._unsaid:
                said, self._unsaid = self._unsaid, set()
                began = loop.time()
                await session.fetch(_RING, _notes(sorted(key_of(*place) for place in said)))
                rest = max(_REST, (loop.time() - began) / _SHARE)
                await asyncio.sleep(0 if self.closed else rest)
            if self.closed and not self._unsaid:
                return

    def _heard(self, session: "Session", pid: int, channel: str, keys: object) -> None:
        if pid != session.get_server_pid():
            for key in str(keys).split():
                self._wake(key)

    def _wake(self, key: str) -> None:
        for wake in self._wakes.get(key, ()):
            wake.set()

    def _wake_all(self) -> None:
        for wakes in self._wakes.values():
            for wake in wakes:
                wake.set()


def _notes(keys: list[str]) -> list[str]:
    return [
        " ".join(keys[start : start + _KEYS_A_NOTE]) for start in range(0, len(keys), _KEYS_A_NOTE)
    ]
