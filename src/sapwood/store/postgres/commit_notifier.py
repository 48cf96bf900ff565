"""Wakes followers in all processes after a commit, with NOTIFY and LISTEN.

A notification has no content: the follower reads the log. So a notification that comes twice, late
or for nothing does no harm, and a lost one only causes a delay, because followers also poll.

NOTIFY runs after the commit and on its own connection. Inside a commit it would make all commits
wait for each other.

Spaces are spread over channels, and a process listens to those of the spaces that it follows. So it
is not sent what concerns others. The same connection has the locks of tasks that one process at a
time does.
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import LogError
from sapwood.store.postgres.connections import DRIVER_ERRORS, Server, log_error

if TYPE_CHECKING:
    from sapwood.store.postgres.connections import Connection


Topic = tuple[Space, AgentId | None]
"""One agent, or with None every agent of a space; or as `words_of` and `watchers_of` return."""

_CHANNEL = "sapwood"
"""For what concerns no space, and from earlier versions all. A space adds a number to it."""
_NOTIFY = "SELECT pg_notify(channel, keys) FROM unnest($1::text[], $2::text[]) AS t (channel, keys)"
_TRY_LOCK = "SELECT pg_try_advisory_lock(hashtextextended($1, 7))"
_UNLOCK = "SELECT pg_advisory_unlock(hashtextextended($1, 7))"
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


def words_of(agent: AgentId) -> AgentId:
    """The words of the replies of an agent, in a topic. No agent has such an id.

    They change several times a second, and most followers want the events alone.
    """
    return AgentId(f"{agent}\0words")


def watchers_of(agent: AgentId) -> AgentId:
    """Those who watch the words of an agent, in a topic: they notify the one who stores them."""
    return AgentId(f"{agent}\0watchers")


def channel_of(space: Space) -> str:
    """The channel of a space, one of 256."""
    return f"{_CHANNEL}_{topic_key(space)[:2]}"


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
        if self._event.is_set():
            return True
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return False
        return True


class AdvisoryLock:
    """A lock of the server on the connection of the notifier. It ends with the connection."""

    def __init__(self, notifier: "CommitNotifier", connection: "Connection", name: str) -> None:
        self._notifier = notifier
        self._connection = connection
        self._name = name

    async def is_held(self) -> bool:
        """Whether the connection is still there, and with it the lock."""
        return await self._notifier.run_on(self._connection, "SELECT true")

    async def release(self) -> None:
        await self._notifier.run_on(self._connection, _UNLOCK, self._name)
        self._notifier.locks.discard(self._name)


class CommitNotifier:
    """One connection that listens for commits of others and notifies them of ours."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._signals: dict[str, set[CommitSignal]] = {}
        self._channels: Counter[str] = Counter()
        self._listens: set[str] = set()
        self._hears_others = False
        self._connection: Connection | None = None
        self._connected = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()
        self.locks: set[str] = set()
        self._unsent: set[Topic] = set()
        self._work = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.closed = False
        self.listening = False

    @contextmanager
    def subscribe(
        self, space: Space, agent: AgentId | None = None, signal: CommitSignal | None = None
    ) -> Generator[CommitSignal]:
        """A signal for this topic, or the given one, until the end of the `with` block."""
        key, channel = topic_key(space, agent), channel_of(space)
        signal = self.signal(key, channel, signal)
        try:
            yield signal
        finally:
            self._channels[channel] -= 1
            self._signals[key].discard(signal)
            if not self._signals[key]:
                del self._signals[key]

    def signal(
        self, key: str, channel: str = _CHANNEL, signal: CommitSignal | None = None
    ) -> CommitSignal:
        """A signal for this key until the log is closed; set after each new connection too."""
        signal = signal or CommitSignal()
        self._signals.setdefault(key, set()).add(signal)
        self._channels[channel] += 1
        if channel not in self._listens:
            self._work.set()
        self._start()
        return signal

    async def try_lock(self, task: str) -> AdvisoryLock | None:
        """The lock of a task; None if another one has it. Raises `LogError`."""
        name = f"sapwood {task}"
        if self.closed:
            raise LogError("The log is closed. Open it again to continue.")
        if name in self.locks:
            return None  # for the server, this process could have it twice
        self.locks.add(name)
        lock: AdvisoryLock | None = None
        try:
            self._start()
            async with asyncio.timeout(self._server.patience):
                await self._connected.wait()
            connection = self._connection
            assert connection is not None
            async with self._one_at_a_time:
                if await connection.fetchval(_TRY_LOCK, name):
                    lock = AdvisoryLock(self, connection, name)
        except DRIVER_ERRORS as error:
            raise log_error(error, "Nothing was changed.") from error
        finally:
            if lock is None:
                self.locks.discard(name)
        return lock

    async def run_on(self, connection: "Connection", query: str, *arguments: object) -> bool:
        """Runs a statement that returns one value. False if the connection is lost."""
        if connection is not self._connection:
            return False
        try:
            async with self._one_at_a_time:
                return bool(await connection.fetchval(query, *arguments))
        except DRIVER_ERRORS:
            return False

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
                connection = await self._server.connect(session=True)
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
            self._connection = None
            self._connected.clear()
            if not self.closed:
                self._server.availability.lost(lost)

    async def _run_on(self, connection: "Connection") -> None:
        connection.add_termination_listener(lambda _: self._work.set())
        await connection.execute("SET synchronous_commit = off")
        self._listens = set()
        await self._listen(connection)
        self._server.availability.answered()
        self.listening = True
        self._connection = connection
        self._connected.set()
        self._wake_all()  # notifications may have been missed before
        loop = asyncio.get_running_loop()
        while not connection.is_closed():
            await self._work.wait()
            self._work.clear()
            if not self.closed:
                await self._listen(connection)
            if self._unsent:
                sending, self._unsent = self._unsent, set()
                started = loop.time()
                async with self._one_at_a_time:
                    await connection.fetch(_NOTIFY, *_payloads(sending))
                pause = pause_after(loop.time() - started)
                await asyncio.sleep(0 if self.closed else pause)
            if self.closed and not self._unsent:
                return

    async def _listen(self, connection: "Connection") -> None:
        """Listens to the channels of what is followed now.

        A channel that nobody needs any more is kept until it brings something.
        """
        needed = {_CHANNEL, *(each for each, count in self._channels.items() if count)}
        for channel in needed - self._listens:
            async with self._one_at_a_time:
                await connection.add_listener(channel, self._on_notification)
            self._listens.add(channel)
            if channel != _CHANNEL:
                self._wake_all()  # something may have happened before
        if self._hears_others:
            self._hears_others = False
            for channel in self._listens - needed:
                async with self._one_at_a_time:
                    await connection.remove_listener(channel, self._on_notification)
                self._listens.discard(channel)

    def _on_notification(
        self, connection: "Connection", pid: int, channel: str, keys: object
    ) -> None:
        if channel != _CHANNEL and not self._channels[channel]:
            self._hears_others = True
            self._work.set()
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


def _payloads(topics: Iterable[Topic]) -> tuple[list[str], list[str]]:
    """The channel of each notification, and its keys."""
    by_channel: dict[str, list[str]] = {}
    for topic in topics:
        by_channel.setdefault(channel_of(topic[0]), []).append(topic_key(*topic))
    parts = [
        (channel, " ".join(keys[start : start + _KEYS_PER_PAYLOAD]))
        for channel, keys in by_channel.items()
        for start in range(0, len(keys), _KEYS_PER_PAYLOAD)
    ]
    return [channel for channel, _ in parts], [keys for _, keys in parts]
