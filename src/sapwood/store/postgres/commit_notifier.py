"""Wakes followers in all processes after a commit, with NOTIFY and LISTEN.

A notification has no content: the follower reads the log. So a notification that comes twice, late
or for nothing does no harm, and a lost one only causes a delay, because followers also poll.

NOTIFY runs after the commit and on its own connection. Inside a commit it would make all commits
wait for each other.
"""

import asyncio
import hashlib
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sapwood.core.ids import AgentId, Space
from sapwood.store.postgres.connections import DRIVER_ERRORS, Server

if TYPE_CHECKING:
    from sapwood.store.postgres.connections import Connection


Topic = tuple[Space, AgentId | None]
"""One agent, or with None every agent of a space."""

_CHANNEL = "sapwood"
_NOTIFY = f"SELECT pg_notify('{_CHANNEL}', keys) FROM unnest($1::text[]) AS keys"
_KEYS_PER_PAYLOAD = 400  # a payload may have 8,000 bytes
# Many commits share a NOTIFY. The pause after it grows with the time it took, so that NOTIFY takes
# a tenth of the time. It is bounded, because each second of it is a second that followers wait.
_MIN_PAUSE, _MAX_PAUSE, _BUSY_SHARE = 0.002, 0.1, 0.1
_MAX_RETRY_PAUSE = 1.0
_CLOSE_SECONDS = 2.0


def topic_key(space: Space, agent: AgentId | None = None) -> str:
    """A hash of the topic. Names are not sent to other processes."""
    name = f"{space}\0{agent}" if agent is not None else space
    return hashlib.blake2b(name.encode(), digest_size=8).hexdigest()


class CommitSignal:
    """Set after a commit that concerns one subscription."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def set(self) -> None:
        """Wakes the follower."""
        self._event.set()

    def is_set(self) -> bool:
        """Whether there was a commit since `clear`."""
        return self._event.is_set()

    def clear(self) -> None:
        """Resets the signal. Call this before reading, so that no commit is missed."""
        self._event.clear()

    async def wait(self, seconds: float) -> bool:
        """Waits at most `seconds`; returns whether the signal was set."""
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return False
        return True


class CommitNotifier:
    """One connection that listens for commits of others and notifies them of ours."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._signals: dict[str, set[CommitSignal]] = {}
        self._unsent: set[Topic] = set()
        self._work = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.closed = False
        self.listening = False

    @contextmanager
    def subscribe(self, key: str) -> Generator[CommitSignal]:
        """A signal for this key, until the end of the `with` block."""
        signal = self.signal(key)
        try:
            yield signal
        finally:
            self._signals[key].discard(signal)
            if not self._signals[key]:
                del self._signals[key]

    def signal(self, key: str) -> CommitSignal:
        """A signal for this key until the log is closed; set after each new connection too."""
        self._start()
        signal = CommitSignal()
        self._signals.setdefault(key, set()).add(signal)
        return signal

    def notify(self, topics: Iterable[Topic]) -> None:
        """Wakes followers in this process at once, and those in other processes soon."""
        for topic in topics:
            self._unsent.add(topic)
            if self._signals:
                self._wake(topic_key(*topic))
        self._work.set()
        self._start()

    async def close(self) -> None:
        """Sends what is unsent, wakes every follower and closes the connection."""
        self.closed = True
        self._work.set()
        self._wake_all()
        if self._task:
            await asyncio.wait({self._task}, timeout=_CLOSE_SECONDS)
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _start(self) -> None:
        if self._task is None and not self.closed:
            self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        """Listens and notifies, with a new connection whenever one is lost."""
        pause = _MIN_PAUSE
        while not self.closed or self._unsent:
            try:
                connection = await self._server.connect()
            except DRIVER_ERRORS as error:
                self._server.availability.lost(error)
                await asyncio.sleep(pause)
                pause = min(2 * pause, _MAX_RETRY_PAUSE)
                continue
            pause = _MIN_PAUSE
            lost: Exception = ConnectionError("the connection was closed")
            try:
                await self._run_on(connection)
            except DRIVER_ERRORS as error:
                connection.terminate()
                lost = error
            else:
                await connection.close()
            self.listening = False
            if not self.closed:
                self._server.availability.lost(lost)

    async def _run_on(self, connection: "Connection") -> None:
        connection.add_termination_listener(lambda _: self._work.set())
        await connection.execute("SET synchronous_commit = off")
        await connection.add_listener(_CHANNEL, self._on_notification)
        self._server.availability.answered()
        self.listening = True
        self._wake_all()  # notifications may have been missed before
        loop = asyncio.get_running_loop()
        while not connection.is_closed():
            await self._work.wait()
            self._work.clear()
            if self._unsent:
                sending, self._unsent = self._unsent, set()
                started = loop.time()
                await connection.fetch(
                    _NOTIFY, _payloads(sorted(topic_key(*topic) for topic in sending))
                )
                pause = pause_after(loop.time() - started)
                await asyncio.sleep(0 if self.closed else pause)
            if self.closed and not self._unsent:
                return

    def _on_notification(
        self, connection: "Connection", pid: int, channel: str, keys: object
    ) -> None:
        if pid != connection.get_server_pid():
            for key in str(keys).split():
                self._wake(key)

    def _wake(self, key: str) -> None:
        for signal in self._signals.get(key, ()):
            signal.set()

    def _wake_all(self) -> None:
        for signals in self._signals.values():
            for signal in signals:
                signal.set()


def pause_after(seconds: float) -> float:
    """How long no NOTIFY is sent after one that took so many seconds.

    >>> pause_after(0.0001), pause_after(0.004), pause_after(2.0)
    (0.002, 0.04, 0.1)
    """
    return min(max(_MIN_PAUSE, seconds / _BUSY_SHARE), _MAX_PAUSE)


def _payloads(keys: list[str]) -> list[str]:
    return [
        " ".join(keys[start : start + _KEYS_PER_PAYLOAD])
        for start in range(0, len(keys), _KEYS_PER_PAYLOAD)
    ]
