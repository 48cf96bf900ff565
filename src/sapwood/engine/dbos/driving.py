"""The drives under way in this process. Lives in the loop where agents live."""

import asyncio
import itertools
from collections.abc import Iterable
from contextvars import Context
from time import monotonic

from msgspec import Struct

from sapwood.core.ids import AgentId, Space
from sapwood.engine.dbos.bells import Bell
from sapwood.engine.dbos.office import Office
from sapwood.engine.dbos.pace import Pace
from sapwood.engine.gates import Gates
from sapwood.engine.trying import Drive, tried

__all__ = ["Attempt", "Driving"]


class Attempt(Struct, eq=False):
    """One try at a drive. Its bell hangs for sure while it is `driving`: it takes it down later."""

    bell: Bell
    holder: str
    task: asyncio.Task[None]
    driving: bool = False


class _Taken(Struct, frozen=True):
    """Who holds a bell since it was hung up, and when: later somebody may have mended it."""

    holder: str
    since: float


class Driving:
    """Looks after agents whose bells rang, and knows which."""

    def __init__(self, drive: Drive, worker: str, office: Office, most: int, pace: Pace) -> None:
        self._drive = drive
        self._worker = worker
        self._office = office
        self._pace = pace
        self._gate = Gates(most)
        self._numbers = itertools.count(1)
        self._closing = False
        self._taken: dict[str, _Taken] = {}
        self._begun: dict[str, asyncio.Task[None]] = {}
        self._attempts: dict[tuple[Space, AgentId], Attempt] = {}

    @property
    def prompt(self) -> int:
        """How many drives were started here without waiting in a queue, and are not done."""
        return len(self._taken)

    def new_holder(self) -> str:
        """A name for an attempt that no other ever had."""
        return f"{self._worker}/{next(self._numbers)}"

    def expect(self, bell: Bell, holder: str) -> None:
        """Announces a drive whose bell will hang in the name of this holder from the start."""
        self._taken[bell.drive] = _Taken(holder, monotonic())

    def begin(self, bell: Bell) -> None:
        """Begins an expected drive whose bell hangs, while DBOS is still told of it."""
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._run(bell), context=Context())
        self._begun[bell.drive] = task

    def forget(self, bell: Bell) -> None:
        """DBOS will not ask for it. One that has begun goes on and takes its bell down itself."""
        self._taken.pop(bell.drive, None)
        if begun := self._begun.pop(bell.drive, None):
            begun.add_done_callback(_heard)

    async def run(self, bell: Bell) -> None:
        """Drives an agent until nobody rings any more, or waits for the drive that has begun."""
        begun = self._begun.pop(bell.drive, None)
        await (begun or self._run(bell))

    async def _run(self, bell: Bell) -> None:
        task = asyncio.current_task()
        assert task is not None
        taken = self._taken.get(bell.drive)
        attempt = Attempt(bell, taken.holder if taken else self.new_holder(), task)
        try:
            await self._replace(attempt)
            async with self._gate.through(""):
                fresh = taken is not None and monotonic() - taken.since < self._pace.beat
                holder, worker = attempt.holder, self._worker
                rings = 1 if fresh else await self._office.take(bell, worker, holder)
                while rings is not None:
                    await self._look_after(attempt)
                    rings = await self._office.leave(bell, holder, rings)
        finally:
            self._taken.pop(bell.drive, None)
            if self._attempts.get((bell.space, bell.agent)) is attempt:
                del self._attempts[bell.space, bell.agent]

    def under_way(self) -> list[Attempt]:
        """The attempts that drive at this moment."""
        return [attempt for attempt in self._attempts.values() if attempt.driving]

    def cancel(self, attempts: Iterable[Attempt]) -> None:
        """Ends those of the attempts that still drive: their agents are others' now."""
        for attempt in attempts:
            if attempt.driving:
                attempt.task.cancel()

    async def close(self) -> None:
        """Ends everything and starts nothing more. An attempt between two steps ends by itself."""
        self._closing = True
        attempts = list(self._attempts.values())
        self.cancel(attempts)
        if attempts:
            await asyncio.wait([each.task for each in attempts], timeout=self._pace.grace)

    async def _replace(self, attempt: Attempt) -> None:
        """Enters an attempt. An older one for the agent has lost its drive, so it ends first."""
        place = (attempt.bell.space, attempt.bell.agent)
        older = self._attempts.get(place)
        self._attempts[place] = attempt
        if older:
            self.cancel([older])
            await asyncio.wait([older.task], timeout=self._pace.grace)

    async def _look_after(self, attempt: Attempt) -> None:
        if self._closing:
            raise asyncio.CancelledError  # what is not finished is handed back, and goes on
        attempt.driving = True
        try:
            bell = attempt.bell
            await tried(self._drive, bell.space, bell.agent, self._pace.retry_after)
        finally:
            attempt.driving = False


def _heard(task: asyncio.Task[None]) -> None:
    """What went wrong with a drive that nobody waits for is mended like one that died."""
    if not task.cancelled():
        task.exception()
