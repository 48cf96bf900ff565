"""Heartbeats: each worker counts up in a row of its own, and a row that stands still is a death.

What counts is whether the number moves as seen from here, so no two clocks are compared.
"""

from time import monotonic

import sqlalchemy as sa
from msgspec import Struct

__all__ = ["Coroner", "Workers"]


class Workers:
    """The statements, one verb each."""

    def __init__(self, prefix: str) -> None:
        table = f"{prefix}workers"
        self._beat = sa.text(f"UPDATE {table} SET beats = beats + 1 WHERE worker = :worker")
        self._enter = sa.text(
            f"INSERT INTO {table} (worker, beats) VALUES (:worker, 0) ON CONFLICT DO NOTHING"
        )
        self._all = sa.text(f"SELECT worker, beats FROM {table}")
        self._leave = sa.text(f"DELETE FROM {table} WHERE worker = :worker")
        self._bury = sa.text(f"DELETE FROM {table} WHERE worker = :worker AND beats = :beats")

    def enter(self, connection: sa.Connection, worker: str) -> None:
        """Makes a worker known to the others."""
        connection.execute(self._enter, {"worker": worker})

    def beat(self, connection: sa.Connection, worker: str) -> bool:
        """Shows that a worker is alive. False if the others took it for dead; it enters again."""
        if connection.execute(self._beat, {"worker": worker}).rowcount:
            return True
        self.enter(connection, worker)
        return False

    def all(self, connection: sa.Connection) -> dict[str, int]:
        """The heartbeats of every worker."""
        return {row.worker: row.beats for row in connection.execute(self._all)}

    def leave(self, connection: sa.Connection, worker: str) -> None:
        """Takes a worker off the list."""
        connection.execute(self._leave, {"worker": worker})

    def bury(self, connection: sa.Connection, worker: str, beats: int) -> bool:
        """Takes a dead worker off the list. True for one only of all who try."""
        return bool(connection.execute(self._bury, {"worker": worker, "beats": beats}).rowcount)


class _Sighting(Struct):
    """How often a worker was seen with the same count, and since when."""

    beats: int
    since: float
    times: int = 1


class Coroner:
    """Says who is dead, from what it saw at each of its own heartbeats.

    It wants several sightings in a row and not only a long time: after a stop of its own, or of
    the database, nobody has moved.
    """

    def __init__(self, dead_after: float, beat: float) -> None:
        self._dead_after = dead_after
        self._times = max(2, round(dead_after / beat) // 2 + 1)
        self._seen: dict[str, _Sighting] = {}
        self._looked = 0.0

    def dead(self, beats: dict[str, int], now: float | None = None) -> dict[str, int]:
        """Those among the living that are not, with their last count."""
        now = monotonic() if now is None else now
        if now - self._looked > self._dead_after / 2:
            self.start_over()  # it was this process that stood still
        self._looked = now
        self._seen = {worker: self._sighted(worker, count, now) for worker, count in beats.items()}
        return {
            worker: seen.beats
            for worker, seen in self._seen.items()
            if seen.times >= self._times and now - seen.since >= self._dead_after
        }

    def start_over(self) -> None:
        """Forgets what it saw."""
        self._seen.clear()

    def _sighted(self, worker: str, count: int, now: float) -> _Sighting:
        seen = self._seen.get(worker)
        if seen is None or seen.beats != count:
            return _Sighting(count, now)
        seen.times += 1
        return seen
