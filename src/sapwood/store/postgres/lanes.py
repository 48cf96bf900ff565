"""Which commits may be under way at once: those that share no agent and no command.

Every key has a lane, and a job stands in each of its lanes at once, so nobody waits in a circle.
A job is ready when it is first in all of them.
"""

from collections import deque

from sapwood.store.postgres.job import Job, Key

__all__ = ["Lanes"]

_MOST_JOBS, _MOST_EVENTS, _MOST_BYTES = 256, 4_000, 4_000_000


class Lanes:
    """Jobs in the order of their coming, and those that are ready to go."""

    def __init__(self) -> None:
        self.ready: deque[Job] = deque()
        self._lanes: dict[Key, deque[Job]] = {}

    def enter(self, job: Job) -> None:
        """Takes a job in; it is ready at once if it meets nobody."""
        for key in job.keys:
            lane = self._lanes.get(key)
            if lane is None:
                self._lanes[key] = deque((job,))
            else:
                lane.append(job)
                job.blocked += 1
        if not job.blocked:
            self.ready.append(job)

    def leave(self, job: Job) -> None:
        """Lets a job out, whatever became of it; who waited for it may be ready now."""
        for key in job.keys:
            lane = self._lanes[key]
            lane.popleft()
            if not lane:
                del self._lanes[key]
            else:
                lane[0].blocked -= 1
                if not lane[0].blocked:
                    self.ready.append(lane[0])

    def take(self) -> list[Job]:
        """The next batch: what is ready, as long as it stays small enough to be quick."""
        if len(self.ready) == 1:
            return [self.ready.popleft()]
        batch: list[Job] = []
        events = size = 0
        while self.ready and len(batch) < _MOST_JOBS:
            job = self.ready[0]
            events, size = events + job.events, size + job.size
            if batch and (events > _MOST_EVENTS or size > _MOST_BYTES):
                break
            batch.append(self.ready.popleft())
        return batch
