"""What a worker does besides driving: it shows that it is alive, and minds those that are not.

At every heartbeat it counts itself up, ends the drives that others took from it, and takes over
from workers that stand still. Now and then it tidies up: what is finished is deleted, and what got
stuck, because somebody died between two commits, is set going again.
"""

import asyncio
import logging

import sqlalchemy as sa
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy.exc import SQLAlchemyError

from sapwood.engine.dbos.bells import Bell
from sapwood.engine.dbos.clerk import Clerk
from sapwood.engine.dbos.driving import Driving
from sapwood.engine.dbos.names import has_ended, new_drive
from sapwood.engine.dbos.office import Office
from sapwood.engine.dbos.pace import Pace
from sapwood.engine.dbos.post import UnderWay
from sapwood.engine.dbos.transact import Transact
from sapwood.engine.dbos.workers import Coroner
from sapwood.engine.errors import EngineError

__all__ = ["Watch"]

_MOST_BELLS = 5000
_log = logging.getLogger("sapwood.engine")


class _Pulse(Struct, frozen=True):
    """What the database says at a heartbeat."""

    alive: bool
    beats: dict[str, int]
    held: set[str]


class Watch:
    """The heartbeat of one worker."""

    def __init__(
        self, worker: str, office: Office, driving: Driving, transact: Transact, pace: Pace
    ) -> None:
        self._worker = worker
        self._post = office.post
        self._bells = office.bells
        self._workers = office.workers
        # A heart must not wait behind a crowd.
        self._clerk = Clerk(office.place.database, office.tell)
        self._driving = driving
        self._transact = transact
        self._pace = pace
        self._coroner = Coroner(pace.dead_after, pace.beat)
        self._stuck: set[str] = set()

    async def run(self) -> None:
        """Beats until it is cancelled. A database that is away only makes it wait."""
        try:
            await self._beat_on()
        finally:
            await self._clerk.close()

    async def _beat_on(self) -> None:
        clock = asyncio.get_running_loop().time
        tidied = clock()
        while True:
            await asyncio.sleep(self._pace.beat)
            try:
                beats = await self._beat()
                if clock() - tidied >= self._pace.tidy:
                    await self._tidy(beats)
                    tidied = clock()
            except (SQLAlchemyError, EngineError):
                self._coroner.start_over()  # nobody could beat
            except Exception:  # whatever it was, the next heartbeat must come
                _log.exception("A worker's heartbeat failed.")

    async def _beat(self) -> dict[str, int]:
        under_way = self._driving.under_way()
        pulse = await self._clerk.do(self._pulse)
        if pulse.alive:
            lost = [attempt for attempt in under_way if attempt.holder not in pulse.held]
        else:
            lost = under_way
            _log.warning("This worker was away so long that others took over its agents.")
        self._driving.cancel(lost)
        dead = self._coroner.dead(pulse.beats)
        dead |= {worker: beats for worker, beats in pulse.beats.items() if has_ended(worker)}
        for worker, beats in dead.items():
            await self._take_over(worker, beats)
        return pulse.beats

    def _pulse(self, connection: sa.Connection) -> _Pulse:
        alive = self._workers.beat(connection, self._worker)
        beats = self._workers.all(connection)
        return _Pulse(alive, beats, self._bells.held(connection, self._worker))

    async def _take_over(self, worker: str, beats: int) -> None:
        if await self._clerk.do(lambda connection: self._workers.bury(connection, worker, beats)):
            begun = await asyncio.to_thread(self._post.under_way, worker)
            await asyncio.to_thread(self._post.hand_back, begun)
            _log.info("Worker %s is gone; %s drives go on elsewhere.", worker, len(begun))

    async def _tidy(self, beats: dict[str, int]) -> None:
        """Everybody minds their own strays; the rest is done by one for all."""
        first = self._worker == min(beats)
        strays = await asyncio.to_thread(self._strays, None if first else self._worker, set(beats))
        silent = await self._unattended() if first else []
        stuck = {each.workflow for each in strays} | {bell.drive for bell in silent}
        # Seen once, it may be on its way from one commit to the next.
        await asyncio.to_thread(
            self._post.hand_back, [each for each in strays if each.workflow in self._stuck]
        )
        for bell in silent:
            if bell.drive in self._stuck:
                await self._mend(bell)
        self._stuck = stuck
        if first:
            await asyncio.to_thread(self._post.delete_finished, self._pace.keep)

    def _strays(self, worker: str | None, alive: set[str]) -> list[UnderWay]:
        """What was begun by a worker that is gone, or by this one, which knows nothing of it."""
        return [
            begun
            for begun in self._post.under_way(worker)
            if begun.worker not in alive
            or (begun.worker == self._worker and begun.workflow not in self._transact.running)
        ]

    async def _unattended(self) -> list[Bell]:
        bells = await self._clerk.do(lambda connection: self._bells.all(connection, _MOST_BELLS))
        return await asyncio.to_thread(self._post.unattended, bells)

    async def _mend(self, bell: Bell) -> None:
        successor = replace(bell, drive=new_drive())

        def pass_on(connection: sa.Connection) -> None:
            if self._bells.pass_on(connection, bell, successor.drive):
                self._post.enqueue(connection, successor)

        await self._clerk.do(pass_on, bell.space, bell.agent)
