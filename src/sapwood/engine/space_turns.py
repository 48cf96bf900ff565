"""Which of the waiting agents a worker takes: spaces take turns, however many agents one has.

The spaces that wait form a line. A worker with a free place takes an agent of the space at the
head, which then goes to the end. So an agent that is the only one of its space waits for at most
one agent of each other space.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import suppress

from sapwood.core.ids import Space
from sapwood.engine.limits import DriveLimits
from sapwood.engine.wake_requests import WakeRequest


class SpaceTurns:
    """The line of the spaces that wait.

    >>> from sapwood.core.ids import AgentId
    >>> spaces = ("flood", "flood", "flood", "ada")
    >>> waiting = [WakeRequest(Space(each), AgentId("a"), "") for each in spaces]
    >>> turns = SpaceTurns(DriveLimits(per_worker=2))
    >>> [each.space for each in turns.next(waiting, Counter())]
    ['flood', 'ada']
    """

    def __init__(self, limits: DriveLimits, serves: Callable[[Space], bool] | None = None) -> None:
        """`limits` says how many agents run here, and how many of one space."""
        self._places = limits.per_worker
        self._share = min(limits.share or limits.per_worker, limits.per_worker)
        self._may_be_refused = limits.counts_keys
        self._serves = serves
        self._line: dict[Space, None] = {}

    async def take(
        self,
        waiting: Iterable[WakeRequest],
        running: Counter[Space],
        claim: Callable[[WakeRequest], Awaitable[bool]],
    ) -> int:
        """Claims the requests to drive now, while there are places; returns how many.

        `running` is what runs here. With limits that count by key, requests are claimed one after
        the other, because a claim may be refused.
        """
        taken = 0
        chosen = self.next(waiting, running)
        if not self._may_be_refused:
            return sum(await asyncio.gather(*map(claim, chosen)))
        with suppress(StopIteration):
            request = next(chosen)
            while True:
                was_taken = await claim(request)
                taken += was_taken
                request = chosen.send(was_taken)
        return taken

    def next(
        self, waiting: Iterable[WakeRequest], running: Counter[Space]
    ) -> Generator[WakeRequest, bool | None]:
        """Yields the requests to claim now.

        Send False for a request that could not be claimed: it costs no place and no turn.
        """
        running, left = running.copy(), self._by_space(waiting)
        while running.total() < self._places:
            ready = (each for each in self._line if left[each] and running[each] < self._share)
            space = next(ready, None)
            if space is None:
                return
            taken = yield left[space].popleft()
            if taken is not False:
                running[space] += 1
                self._line[space] = self._line.pop(space)  # to the end

    def _by_space(self, waiting: Iterable[WakeRequest]) -> dict[Space, deque[WakeRequest]]:
        """The requests of each space that is served. A space that did not wait before is last."""
        found: dict[Space, deque[WakeRequest]] = {}
        for each in waiting:
            if self._serves is None or self._serves(each.space):
                found.setdefault(each.space, deque()).append(each)
        kept = {space: None for space in self._line if space in found}
        self._line = {**kept, **dict.fromkeys(found)}
        return found
