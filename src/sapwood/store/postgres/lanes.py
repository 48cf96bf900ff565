"""Which commits may be under way at once: those that share no agent and no command.

Every key has a lane, and a job stands in each of its lanes at once, so nobody waits in a circle.
A job is ready when it is first in all of them.
"""

from collections import deque

from sapwood.store.postgres.job import Job, Key

__all__ = ["Lanes"]

_FEWEST_JOBS, _MOST_JOBS, _MOST_BYTES = 4, 256, 4_000_000


class Lanes:
    """Jobs in the order of their coming, and those that are ready to go."""

    def __init__(self, writers: int) -> None:
        self.ready: deque[Job] = deque()
        self._lanes: dict[Key, deque[Job]] = {}
        self._writers = writers
        self._inside = 0

    def enter(self, job: Job) -> None:
        """Takes a job in; it is ready at once if it meets nobody."""
        self._inside += 1
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
        self._inside -= 1
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
        """The next batch: a fair share of what is here, small enough to be quick.

        With fair shares one batch is made while the database works on another.
        """
        if len(self.ready) == 1:
            return [self.ready.popleft()]
        share = max(_FEWEST_JOBS, -(-self._inside // self._writers))
        batch: list[Job] = []
        weight = 0
        while self.ready and len(batch) < min(share, _MOST_JOBS):
            weight += self.ready[0].weight
            if batch and weight > _MOST_BYTES:
                break
            batch.append(self.ready.popleft())
        return batch
