"""Workers take drives from the spaces in turn, so that none waits behind another with many.

DBOS takes from the keys of a queue in random order, and from one key as many as there is room for.
Here the spaces that wait form a line. A worker goes through the line from its head, and takes at
most an equal part of its free places from each space. A space that gave a drive goes to the end. So
a drive that is the only one of its space waits for at most one drive of each other space.
"""

import sys
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from psycopg import errors
from sqlalchemy.exc import OperationalError

from sapwood.core.ids import Space
from sapwood.engine.dbos.drive_queue import BY_SPACE

if TYPE_CHECKING:
    from dbos import DBOS
    from dbos._queue import Queue
    from dbos._sys_db import DequeueStopReason

__all__ = ["DrivesInTurn", "SpaceTurns", "part_of"]


class SpaceTurns:
    """The line of the spaces that wait.

    >>> turns = SpaceTurns()
    >>> turns.line(["flood"]), turns.served("flood")
    (['flood'], None)
    >>> turns.line(["ada", "flood"])
    ['flood', 'ada']
    >>> turns.served("flood")
    >>> turns.line(["ada", "flood"])
    ['ada', 'flood']
    """

    def __init__(self) -> None:
        self._line: dict[str, None] = {}

    def line(self, waiting: Iterable[str]) -> list[str]:
        """The spaces that wait, the next one first. A space that did not wait before is last."""
        now = dict.fromkeys(waiting)
        kept = {space: None for space in self._line if space in now}
        self._line = {**kept, **now}
        return list(self._line)

    def served(self, space: str) -> None:
        """A drive was taken from this space; it goes to the end of the line."""
        if space in self._line:
            self._line[space] = self._line.pop(space)


def part_of(free: int, spaces: int) -> int:
    """How many drives a worker with so many free places takes from the first of these spaces.

    >>> part_of(8, 4), part_of(1, 4)
    (2, 1)
    """
    return max(1, free // spaces)


_TAKEN_BY_OTHERS = (errors.LockNotAvailable, errors.SerializationFailure)


class DrivesInTurn:
    """Makes DBOS take drives of the spaces that a worker serves, in turn.

    DBOS has no public setting for the order or for the keys, so this takes the place of three of
    its methods. Without it, a worker would also take drives of spaces that it does not serve and
    give them back, again and again.
    """

    def __init__(self, dbos: "DBOS", serves: Callable[[Space], bool] | None) -> None:
        system = dbos._sys_db  # pyright: ignore[reportPrivateUsage]
        self._serves = serves
        self._running_of_key = dbos._active_workflows_set.count_for_partition  # pyright: ignore[reportPrivateUsage]
        self._keys_of = system.get_queue_partitions
        self._start = system.start_queued_workflows
        self._start_batch = system.start_queued_partitioned_workflows
        self._turns = SpaceTurns()
        self._left: deque[str] = deque()
        system.get_queue_partitions = self.keys_of
        system.start_queued_workflows = self.start
        system.start_queued_partitioned_workflows = self.start_batch

    def keys_of(self, queue_name: str) -> list[str]:
        """The keys of a queue that have drives waiting."""
        keys = self._keys_of(queue_name)
        if queue_name != BY_SPACE:
            return keys
        served = [key for key in keys if self._serves is None or self._serves(Space(key))]
        self._left = deque(self._turns.line(served))
        return list(self._left)

    def start(
        self,
        queue: "Queue",
        executor_id: str,
        app_version: str,
        queue_partition_key: str | None,
        local_running_count: int = 0,
        partition_local_running_count: int = 0,
        *,
        owner_xid: str | None = None,
    ) -> "tuple[list[str], DequeueStopReason | None]":
        """Takes drives of the space whose turn it is, whichever one DBOS names."""
        key, running = queue_partition_key, local_running_count
        running_of_key = partition_local_running_count
        share = queue._partition_worker_concurrency  # pyright: ignore[reportPrivateUsage]
        if queue.name == BY_SPACE and self._left and share:
            places = queue._worker_concurrency or share  # pyright: ignore[reportPrivateUsage]
            part = part_of(places - running, len(self._left))
            key = self._left.popleft()
            # DBOS takes as many as are left of the share.
            running_of_key = max(self._running_of_key(queue.name, key), share - part)
        started, reason = self._start(
            queue, executor_id, app_version, key, running, running_of_key, owner_xid=owner_xid
        )
        if started and key is not None:
            self._turns.served(key)
        return started, reason

    def start_batch(
        self,
        queue: "Queue",
        executor_id: str,
        app_version: str,
        max_tasks: int = sys.maxsize,
        *,
        owner_xid: str | None = None,
    ) -> list[str]:
        """Takes drives of a queue in which each key may have one at a time."""
        if queue.name != BY_SPACE:
            return self._start_batch(
                queue, executor_id, app_version, max_tasks, owner_xid=owner_xid
            )
        places = queue._worker_concurrency or max_tasks  # pyright: ignore[reportPrivateUsage]
        running = places - min(max_tasks, places)
        all_started: list[str] = []
        for key in self.keys_of(queue.name):
            if running >= places:
                break
            try:
                started, _ = self.start(
                    queue, executor_id, app_version, key, running, owner_xid=owner_xid
                )
            except OperationalError as problem:
                if not isinstance(problem.orig, _TAKEN_BY_OTHERS):
                    raise
            else:
                all_started += started
                running += len(started)
        return all_started
