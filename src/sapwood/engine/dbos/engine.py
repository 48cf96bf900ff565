"""The durable engine, put together from its parts."""

import asyncio
import logging
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from msgspec import Struct

from sapwood.core.ids import AgentId, Space
from sapwood.engine.dbos.bells import Bell
from sapwood.engine.dbos.clerk import Tell
from sapwood.engine.dbos.driving import Driving
from sapwood.engine.dbos.loop import Loop, over_to
from sapwood.engine.dbos.names import new_drive, new_worker
from sapwood.engine.dbos.office import Office
from sapwood.engine.dbos.pace import Pace
from sapwood.engine.dbos.place import Place
from sapwood.engine.dbos.transact import Transact
from sapwood.engine.dbos.watch import Watch
from sapwood.engine.errors import EngineError
from sapwood.engine.limits import Limits
from sapwood.engine.trying import Drive

__all__ = ["DbosEngine"]

_PROMPT = 16
_SETTLE = 2.0
_log = logging.getLogger("sapwood.engine")


class _Worker(Struct, frozen=True):
    """What is needed to drive them."""

    name: str
    loop: Loop
    driving: Driving
    transact: Transact
    watch: asyncio.Task[None]


class DbosEngine:
    """Drives agents in any number of processes that share a database.

    `address` is the log's: a path or `postgresql://…`. A process that only wakes agents need not
    launch. One engine a process can be launched at a time, and it belongs to the event loop that
    launched it. `tell` hears, from threads, that the database is away and that it is back.
    """

    def __init__(
        self,
        address: str | Path,
        limits: Limits | None = None,
        *,
        pace: Pace | None = None,
        tell: Tell | None = None,
    ) -> None:
        self._address = address
        self._limits = limits or Limits()
        self._pace = pace or Pace()
        self._tell = tell
        self._opening = asyncio.Lock()
        self._office: Office | None = None
        self._worker: _Worker | None = None
        self._waking: set[asyncio.Task[None]] = set()
        self._closed = False

    async def launch(self, drive: Drive) -> None:
        """Starts to take work; unfinished work of workers that died is taken over."""
        office, name, loop = await self._opened(), new_worker(), Loop()
        driving = Driving(drive, name, office, self._limits.per_worker, self._pace)
        try:
            await asyncio.to_thread(office.post.open_queues, self._pace)
            await office.enter(name)
            transact = await loop.call(self._launched(office.place, name, driving))
        except BaseException:
            await office.retire(name)
            await loop.stop()
            raise
        watch = Watch(name, office, driving, transact, self._pace).run()
        task = asyncio.create_task(watch, name="sapwood-engine-watch")
        self._worker = _Worker(name, loop, driving, transact, task)

    async def wake(
        self, space: Space, agent: AgentId, *, model: str = "", user: str = "", delay: float = 0.0
    ) -> None:
        """Has this agent driven soon, or after a delay; once more if it is being driven.

        An agent that is woken where there is room is driven there, without waiting in a queue.
        Delays are rounded up to whole seconds.
        """
        office = await self._opened()
        bell = Bell(space, agent, new_drive(), model, user)
        if delay > 0:
            await office.ring_later(bell, delay)
        elif self._worker and self._has_room(self._worker):
            await self._wake_here(office, self._worker, bell)
        else:
            await office.ring(bell)

    async def close(self) -> None:
        """Stops taking work. Drives under way are cancelled and go on elsewhere at once."""
        worker, self._worker = self._worker, None
        if worker and self._office:
            await self._retire(self._office, worker)
        self._closed = True
        office, self._office = self._office, None
        if office:
            await office.close()

    async def _opened(self) -> Office:
        async with self._opening:
            if self._closed:
                raise EngineError.closed()
            if self._office is None:
                self._office = await asyncio.to_thread(
                    Office, self._address, self._limits, self._tell
                )
            return self._office

    def _launched(self, place: Place, name: str, driving: Driving) -> Coroutine[Any, Any, Transact]:
        home = asyncio.get_running_loop()

        async def drive(space: str, agent: str, drive: str) -> None:
            await over_to(home, driving.run(Bell(Space(space), AgentId(agent), drive)))

        async def alarm(space: str, agent: str, model: str, user: str) -> None:
            await over_to(home, self.wake(Space(space), AgentId(agent), model=model, user=user))

        return Transact.launch(place, name, self._pace, drive, alarm)

    def _has_room(self, worker: _Worker) -> bool:
        """May one more drive start here without waiting in a queue?

        Only a few: the rest is for whichever worker is free. With limits by key, none.
        """
        limited = self._limits.per_model or self._limits.per_user
        return not limited and worker.driving.prompt < min(_PROMPT, self._limits.per_worker)

    async def _wake_here(self, office: Office, worker: _Worker, bell: Bell) -> None:
        """Starts a drive in two commits; whoever gives up waiting must not come between them."""
        task = asyncio.create_task(_start_here(office, worker, bell))
        self._waking.add(task)
        task.add_done_callback(self._waking.discard)
        await asyncio.shield(task)

    async def _retire(self, office: Office, worker: _Worker) -> None:
        """It goes on beating until its drives have ended, so that nobody takes them too early."""
        await asyncio.gather(*self._waking, return_exceptions=True)
        await worker.driving.close()
        worker.watch.cancel()
        await asyncio.wait([worker.watch])
        await worker.loop.settle(_SETTLE)
        await asyncio.to_thread(worker.transact.stop)
        await worker.loop.settle(0)
        await worker.loop.stop()
        try:
            begun = await asyncio.to_thread(office.post.under_way, worker.name)
            await asyncio.to_thread(office.post.hand_back, begun)
            await office.retire(worker.name)
        except Exception as problem:  # closing goes on: others will notice by themselves
            cause = getattr(problem, "orig", None) or problem
            _log.warning("Not everything was handed over; it is missed soon: %s", cause)


async def _start_here(office: Office, worker: _Worker, bell: Bell) -> None:
    holder = worker.driving.new_holder()
    worker.driving.expect(bell, holder)
    started = False
    try:
        if await office.ring_here(bell, worker.name, holder):
            worker.driving.begin(bell)
            await worker.loop.call(worker.transact.start(bell))
            started = True
    finally:
        if not started:
            worker.driving.forget(bell)
