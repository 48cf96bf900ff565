"""The engine of processes and workers: any number of them share the agents of a database.

It needs no server and no library but that of the log's database. A process claims the wake request
of an agent before it drives it, shows by a heartbeat that it is alive, and takes the requests of
processes that died. A worker takes every request that waits; a process beside workers takes those
of agents that it woke itself.
"""

import asyncio
import itertools
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import Context
from pathlib import Path
from time import monotonic

from msgspec import Struct

from sapwood.core.errors import LogUnavailable
from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import AvailabilityListener
from sapwood.engine.closed_worker import ClosedWorker
from sapwood.engine.drives import (
    DriveFunction,
    EngineError,
    GiveUp,
    NotServed,
    drive_with_retries,
    log_given_up,
    log_suspect,
)
from sapwood.engine.limits import DriveLimits, Intervals, KeyLimiter
from sapwood.engine.wake_database import Claim, WakeDatabase, open_wake_database
from sapwood.engine.wake_requests import (
    SpaceRoundRobin,
    WakeRequest,
    died_in,
    drive_age,
    new_drive_id,
)
from sapwood.engine.workers import (
    FailureDetector,
    is_of_one_process,
    new_worker_id,
    process_has_ended,
    process_is_running,
)
from sapwood.log_fields import within_fields
from sapwood.metrics import METRICS

_MAX_STARTED_HERE = 16
"""How many agents a worker drives at once that it woke itself. Others get their share of the rest.
"""
_LEFT_TO_WORKERS = 10.0
"""Seconds for which a process lets workers take an agent that was woken elsewhere."""

_Key = tuple[Space, AgentId]

_log = logging.getLogger("sapwood.engine")


class _Held(Struct, eq=False):
    """An agent whose request this process has claimed.

    `woken` counts the wakes of this process, `seen` those that a drive has begun after. `timers`
    are wakes of later. `task` drives the agent; without one it rests: only timers hold it, and its
    claim has no holder. While `changing`, the request is being claimed or deleted at this moment.
    `taken` says that it had to wait for a place.
    """

    request: WakeRequest
    claim: Claim
    woken: int = 0
    seen: int = 0
    timers: int = 0
    changing: bool = False
    taken: bool = False
    task: asyncio.Task[None] | None = None


class ProcessEngine:
    """Drives agents in this process, and continues those of processes that died.

    `address` is the log's: a path or `postgresql://…`. A process that only wakes agents need not
    launch its engine. `serves` says of which spaces this process takes work that others left, by
    default of all. `recover` is awaited after a process was found dead, and after the connection to
    the database was lost: it wakes the agents whose wakes were not recorded, or were lost with
    commits that the database had not flushed. `give_up` is awaited instead of a drive after so many
    processes died in it that the agent must be the cause. A worker (`is_worker`) also takes what
    others woke.
    """

    def __init__(
        self,
        address: str | Path,
        limits: DriveLimits | None = None,
        *,
        intervals: Intervals | None = None,
        on_availability: AvailabilityListener | None = None,
        serves: Callable[[Space], bool] | None = None,
        recover: Callable[["ProcessEngine"], Awaitable[object]] | None = None,
        give_up: GiveUp | None = None,
        is_worker: bool = False,
    ) -> None:
        self._address = address
        self._limits = limits or DriveLimits()
        self._intervals = intervals or Intervals()
        self._on_availability = on_availability
        self._recover = recover
        self._give_up = give_up
        self._is_worker = is_worker
        self._serves = serves
        self._turns = SpaceRoundRobin(self._limits, serves)
        self._places = KeyLimiter(self._limits.per_worker)
        self._opening = asyncio.Lock()
        self._database: WakeDatabase | None = None
        self._drive: DriveFunction | None = None
        self._closed = False
        self._worker = new_worker_id(of_one_process=not is_worker)
        self._numbers = itertools.count(1)
        self._detector = FailureDetector(self._intervals.dead_after, self._intervals.heartbeat)
        self._held: dict[_Key, _Held] = {}
        self._timers: set[asyncio.TimerHandle] = set()
        self._background: set[asyncio.Task[None]] = set()
        self._heartbeat: asyncio.Task[None] | None = None
        self._beating: WakeDatabase | None = None
        self._ending: dict[_Key, asyncio.Task[None]] = {}
        self._unrecorded: dict[_Key, WakeRequest] = {}
        self._left: set[_Key] = set()
        self._seen_waiting: dict[_Key, float] = {}
        self._seen_suspects: dict[str, float] = {}
        self._unheld: dict[_Key, Claim] = {}
        self._look = asyncio.Event()
        self._is_limited = self._limits.counts_keys or bool(self._limits.share)
        self._others_wait = False
        self._has_workers = False
        self._is_first_beat = True
        self._connections = 0
        self._alive: set[str] = set()

    async def launch(self, drive: DriveFunction) -> None:
        """Starts to drive agents, first those that other processes left.

        Raises `EngineError` if the database cannot be opened, or the engine is closed.
        """
        database = await self._opened()
        await database.add_worker(self._worker)
        self._drive = drive
        if self._is_worker:  # a heartbeat must not wait behind the statements of many agents
            self._beating = await open_wake_database(
                self._address, self._on_availability, self._look.set
            )
        beating = self._beating or database
        await self._beat(beating)  # so that it knows who else there is
        self._heartbeat = asyncio.ensure_future(self._beat_until_closed(beating))
        self._in_background(self._take_until_closed(database))

    async def wake(
        self, space: Space, agent: AgentId, *, model: str = "", user: str = "", delay: float = 0.0
    ) -> None:
        """Drives this agent soon, or after `delay` seconds.

        An agent that is being driven is driven once more after that. An engine that is not
        launched leaves the wake, without the delay, to one that is. Raises `EngineError` when the
        database does not answer or the engine is closed.
        """
        database = await self._opened()
        request = WakeRequest(space, agent, new_drive_id(), model, user)
        held = self._held.get((space, agent))
        if held is not None:
            self._wake_held(held, delay)
        elif self._drive is not None and self._has_room(space):
            await self._wake_here(database, request, delay)
        else:
            await database.wake(request)
            if self._is_worker and not self._is_limited:
                self._others_wait = True  # the next drive that ends here looks, or another worker
            else:
                self._take_soon(request)

    async def close(self) -> None:
        """Accepts no more work. Running drives are cancelled; other processes continue them.

        The heartbeat continues until the drives have ended, so that no other takes them too early.
        If the database does not answer, the others get them as soon as it does.
        """
        self._closed = True
        database, self._database = self._database, None
        try:
            await self._end_tasks()
        finally:  # also if whoever closes does not wait for the drives
            await self._end_heartbeat()
            if database is not None:
                await self._release(database)

    async def _end_tasks(self) -> None:
        """Cancels what runs, and waits for it for a while."""
        for timer in self._timers:
            timer.cancel()
        finishing = {held.task for held in self._held.values() if held.task and held.changing}
        drives = {held.task for held in self._held.values() if held.task} - finishing
        tasks = {*drives, *self._ending.values(), *self._background} - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks or finishing:
            await asyncio.wait(tasks | finishing, timeout=self._intervals.grace)

    async def _end_heartbeat(self) -> None:
        if self._heartbeat is not None:
            self._heartbeat.cancel()
            await asyncio.wait([self._heartbeat])
        beating, self._beating = self._beating, None
        if beating is not None:
            await beating.close()

    async def _release(self, database: WakeDatabase) -> None:
        """Gives everything to other processes, and closes the database."""
        closed = ClosedWorker(self._worker, tuple(self._unrecorded.values()))
        is_released = self._drive is None
        try:
            if not is_released:
                await closed.release(database)
            is_released = True
        except EngineError as problem:
            _log.warning("Other processes will take over some agents later: %s", problem)
        finally:
            if not is_released:
                closed.release_later(self._address)
            await database.close()

    async def _opened(self) -> WakeDatabase:
        async with self._opening:
            if self._closed:
                raise EngineError.closed()
            if self._database is None:
                self._database = await open_wake_database(self._address, self._on_availability)
            return self._database

    def _in_background(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    # Wakes of this process

    def _has_room(self, space: Space) -> bool:
        """Whether an agent can be claimed without looking at what waits.

        With limits it cannot: they are counted when a request that waits is claimed.
        """
        is_served = self._serves is None or self._serves(space)
        if self._is_limited or not is_served:
            return False
        if self._is_worker and self._started_here() >= _MAX_STARTED_HERE:
            return False
        return self._places_taken().total() < self._limits.per_worker

    def _started_here(self) -> int:
        """How many agents are driven here that did not wait for a place."""
        here = (held for held in self._held.values() if not held.taken)
        return sum(held.task is not None or held.changing for held in here)

    def _places_taken(self) -> Counter[Space]:
        """How many agents of each space are driven here. Those that wait for a timer take none."""
        return Counter(
            space for (space, _), held in self._held.items() if held.task or held.changing
        )

    async def _wake_here(self, database: WakeDatabase, request: WakeRequest, delay: float) -> None:
        """Claims a new request and drives. Cancelling cannot come between the two."""
        holder = self._new_holder()
        held = self._hold(request, holder)

        async def claim() -> None:
            is_new = False
            try:
                is_new = await database.wake_here(request, self._worker, holder)
            finally:
                held.changing = False
                if is_new:
                    self._wake_held(held, delay)
                else:  # another process has it, or it waits
                    self._let_go(held)
                    self._take_soon(request)

        task = asyncio.ensure_future(claim())
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        await asyncio.shield(task)

    def _hold(self, request: WakeRequest, holder: str | None) -> _Held:
        """Enters an agent whose request is about to be claimed."""
        held = _Held(request, Claim(holder, 1), changing=True)
        self._held[request.space, request.agent] = held
        return held

    def _wake_held(self, held: _Held, delay: float) -> None:
        if delay <= 0:
            held.woken += 1
            rests = held.claim.holder is None and held.task is None
            if rests and not self._can_resume(held.request):
                self._let_go(held)  # back into the line, where limits are counted
            else:
                self._start(held)
            return

        def wake() -> None:
            self._timers.discard(timer)
            if self._is_held(held):
                held.timers -= 1
                self._wake_held(held, 0.0)

        held.timers += 1
        timer = asyncio.get_running_loop().call_later(delay, wake)
        self._timers.add(timer)

    def _can_resume(self, request: WakeRequest) -> bool:
        """Whether an agent that rests here can be driven again without looking at what waits."""
        limits, running = self._limits, self._places_taken()
        if limits.counts_keys or limits.is_suspect(self._deaths(request)):
            return False
        share = limits.share or limits.per_worker
        return running.total() < limits.per_worker and running[request.space] < share

    def _start(self, held: _Held) -> None:
        if held.task is None and not held.changing and not self._closed:
            # The drive must not inherit the context of the task that woke the agent.
            work = self._drive_until_done(held)
            held.task = asyncio.get_running_loop().create_task(work, context=Context())

    async def _drive_until_done(self, held: _Held) -> None:
        drive, database, request = self._drive, await self._opened(), held.request
        assert drive is not None
        if older := self._ending.pop((request.space, request.agent), None):
            await asyncio.wait([older], timeout=self._intervals.grace)
        try:
            if held.claim.holder is None:
                await self._resume(database, held)
            while held.seen != held.woken and not self._closed:
                held.seen = held.woken
                async with self._places.slot(""):  # timers may have ended together
                    await drive_with_retries(
                        self._given_up(request) if self._is_deadly(request) else drive,
                        request.space,
                        request.agent,
                        self._intervals.retry_after,
                    )
                if held.seen == held.woken:
                    await self._finish(database, held)
            if self._others_wait:
                self._look.set()
        except NotServed:
            self._drop(held)
            with suppress(EngineError):  # the heartbeat finds it when the database answers
                await database.release(request)
        finally:
            held.task = None

    def _is_deadly(self, request: WakeRequest) -> bool:
        return self._give_up is not None and self._limits.is_deadly(self._deaths(request))

    def _deaths(self, request: WakeRequest) -> int:
        """How many processes died in drives of this agent. One that beats again was only slow."""
        return len(set(died_in(request.drive)) - self._alive)

    def _given_up(self, request: WakeRequest) -> DriveFunction:
        """Instead of a drive: every process that began one has died."""
        give_up, deaths = self._give_up, self._deaths(request)
        assert give_up is not None

        async def end_turn(space: Space, agent: AgentId) -> None:
            log_given_up(agent, deaths)
            await give_up(space, agent, deaths)

        return end_turn

    async def _resume(self, database: WakeDatabase, held: _Held) -> None:
        """Claims the request of an agent that rests here for the next drive, or lets it go."""
        holder, claim = self._new_holder(), None
        held.changing = True
        try:
            claim = await database.resume(held.request, self._worker, holder)
        except EngineError as problem:
            _log.info("Agent '%s' waits for the engine: %s", held.request.agent, problem)
        finally:
            held.changing = False
        if claim is None:
            self._let_go(held)
        else:
            held.claim = claim

    async def _finish(self, database: WakeDatabase, held: _Held) -> None:
        """Deletes the request, unless the agent was woken meanwhile, here or elsewhere.

        If it is to be woken later, the request stays without a holder: until then limits do not
        count it, and if this process dies, that agent is not the cause.
        """
        held.changing, rests = True, held.timers > 0
        end = database.rest if rests else database.finish
        try:
            wakes = await end(held.request, held.claim)
        except EngineError as problem:  # the heartbeat finds it when the database answers
            _log.info(
                "The request of agent '%s' is kept for later: %s", held.request.agent, problem
            )
            return
        finally:
            held.changing = False
        if wakes is not None:
            held.claim = Claim(held.claim.holder, wakes)
            held.woken += 1
        elif rests:
            held.claim = Claim(None, held.claim.wakes)
            if held.seen != held.woken:  # woken while it came to rest
                self._let_go(held)
        else:
            self._let_go(held)

    def _let_go(self, held: _Held) -> None:
        """Forgets an agent whose request is not ours, and records the wakes since then anew.

        A request that rests here is released then.
        """
        self._drop(held)
        if held.woken == held.seen and not held.timers:
            return
        held.seen, held.timers, of = held.woken, 0, held.request
        again = WakeRequest(of.space, of.agent, new_drive_id(), of.model, of.user)
        self._unrecorded[of.space, of.agent] = again
        self._in_background(self._record(again, of if held.claim.holder is None else None))

    async def _record(self, request: WakeRequest, rested: WakeRequest | None) -> None:
        key = (request.space, request.agent)
        while not self._closed and key in self._unrecorded:
            try:
                database = await self._opened()
                await database.wake(request)
                if rested is not None:
                    await database.release(rested)
            except EngineError:
                await asyncio.sleep(self._intervals.heartbeat)
            else:
                self._unrecorded.pop(key, None)
                self._take_soon(request)

    def _take_soon(self, request: WakeRequest) -> None:
        """Looks at what waits. Beside workers, this process takes what it woke itself."""
        if not self._is_worker:
            self._left.add((request.space, request.agent))
        self._look.set()

    def _is_held(self, held: _Held) -> bool:
        return self._held.get((held.request.space, held.request.agent)) is held

    def _drop(self, held: _Held) -> None:
        if self._is_held(held):
            del self._held[held.request.space, held.request.agent]

    def _new_holder(self) -> str:
        return f"{self._worker}/{next(self._numbers)}"

    # What waits

    async def _take_until_closed(self, database: WakeDatabase) -> None:
        is_away = False
        while True:
            self._look.clear()
            try:
                await self._take(database)
                is_away = False
            except EngineError as problem:
                level = logging.DEBUG if is_away else logging.INFO  # one line for each outage
                said = "Will look for waiting agents when the database is back: %s"
                _log.log(level, said, problem)
                is_away = True
            except Exception:  # whatever went wrong, the next look must come
                _log.exception("Waiting agents could not be picked up.")
            with suppress(TimeoutError):
                async with asyncio.timeout(self._intervals.poll):
                    await self._look.wait()

    async def _take(self, database: WakeDatabase) -> None:
        """Claims requests that wait, in turns of their spaces, while there are free places.

        Beside workers, only those of agents that were woken here: workers take the others, unless
        they serve other spaces.
        """
        running = self._places_taken()
        free = self._limits.per_worker - running.total()
        if free <= 0:
            self._others_wait = True
            return
        waiting = self._without_suspects(await database.waiting(self._limits, free))
        if self._has_workers and not self._is_worker:
            waiting = self._ours(waiting)
        taken = await self._turns.take(waiting, running, lambda each: self._claim(database, each))
        self._others_wait = self._is_limited or taken >= free

    def _without_suspects(self, waiting: list[WakeRequest]) -> list[WakeRequest]:
        """Leaves at most one agent that may be the cause of deaths, and none if one runs here.

        So only the cause is still there when the next process dies. Each of them waits for a while
        after it was seen, so that it does not end the last process before the others are back. One
        that is given up has no drive, so it does not wait.
        """
        suspects = [each for each in waiting if self._limits.is_suspect(self._deaths(each))]
        now, before = monotonic(), self._seen_suspects
        for each in suspects:
            if each.drive not in before and not self._is_deadly(each):
                with within_fields(space=each.space, agent=each.agent):
                    log_suspect(each.agent, self._deaths(each))
        self._seen_suspects = since = {each.drive: before.get(each.drive, now) for each in suspects}
        running = (self._deaths(held.request) for held in self._held.values() if held.task)
        if self._limits.is_suspect(max(running, default=0)):
            ready: list[WakeRequest] = []
        else:
            rest = self._intervals.after_deaths
            ready = [
                each
                for each in suspects
                if self._is_deadly(each) or now - since[each.drive] >= rest
            ]
        left = [each.drive for each in suspects if each not in ready[:1]]
        return [each for each in waiting if each.drive not in left]

    def _ours(self, waiting: list[WakeRequest]) -> list[WakeRequest]:
        """Those that were woken here, and those that no worker has taken for a while."""
        now, before = monotonic(), self._seen_waiting
        self._seen_waiting = since = {
            (each.space, each.agent): before.get((each.space, each.agent), now) for each in waiting
        }
        ours = self._left | {key for key in since if now - since[key] > _LEFT_TO_WORKERS}
        return [each for each in waiting if (each.space, each.agent) in ours]

    async def _claim(self, database: WakeDatabase, waiting: WakeRequest) -> bool:
        key = (waiting.space, waiting.agent)
        if key in self._held:
            return False
        request = WakeRequest(*key, new_drive_id(waiting.drive), waiting.model, waiting.user)
        holder, claim = self._new_holder(), None
        held = self._hold(request, holder)
        held.taken = True
        try:
            claim = await database.claim(waiting, request.drive, self._worker, holder, self._limits)
        finally:
            held.changing = False
            if claim is None:
                self._let_go(held)
        if claim is None:
            return False
        METRICS.observe("sapwood_claim_wait_seconds", drive_age(waiting.drive))
        held.claim = claim
        self._left.discard(key)
        self._wake_held(held, 0.0)
        return True

    # Other processes

    async def _beat_until_closed(self, database: WakeDatabase) -> None:
        while True:
            try:
                await self._beat(database)
            except EngineError:
                self._detector.start_over()  # no process could beat
            except Exception:  # whatever went wrong, the next beat must come
                _log.exception("The heartbeat of the engine failed.")
            await asyncio.sleep(self._intervals.heartbeat)

    async def _beat(self, database: WakeDatabase) -> None:
        before = {key: (held, held.claim) for key, held in self._held.items() if not held.changing}
        if not await database.beat(self._worker):
            _log.warning(
                "This process was unresponsive for so long that others took over its agents."
            )
        self._compare(before, await database.claimed(self._worker))
        beats = await database.workers()
        silent = self._detector.dead(beats)
        dead = {each: count for each, count in silent.items() if not process_is_running(each)}
        dead |= {each: count for each, count in beats.items() if process_has_ended(each)}
        self._alive = beats.keys() - dead.keys()
        self._has_workers = not all(is_of_one_process(each) for each in self._alive)
        buried = [each for each in dead if await database.remove_dead(each, dead[each])]
        for each in buried:
            level = logging.WARNING if self._is_worker else logging.INFO
            _log.log(level, "The process %s does not answer. Others take over its agents.", each)
        is_reconnected = not self._is_first_beat and database.connections > self._connections
        self._connections = database.connections
        if buried or self._is_first_beat:
            self._is_first_beat = False
            await database.release_orphans()
            self._look.set()
        if (buried or is_reconnected) and self._recover is not None:
            self._in_background(self._recovered(self._recover))

    async def _recovered(self, recover: Callable[["ProcessEngine"], Awaitable[object]]) -> None:
        while not self._closed:
            try:
                await recover(self)
            except (EngineError, LogUnavailable):  # the database is not back yet
                await asyncio.sleep(self._intervals.heartbeat)
            except Exception as problem:
                _log.warning("Could not wake all agents with pending work: %s", problem)
                return
            else:
                return

    def _compare(
        self,
        before: dict[_Key, tuple[_Held, Claim]],
        claimed: dict[_Key, tuple[WakeRequest, Claim]],
    ) -> None:
        """Ends the drives that others took, and notes the wakes by other processes."""
        self._ending = {key: task for key, task in self._ending.items() if not task.done()}
        for key, (held, claim_before) in before.items():
            if held.changing or held.claim != claim_before or not self._is_held(held):
                continue
            _, claim = claimed.get(key, (None, None))
            if claim is None or claim.holder != held.claim.holder:
                self._drop(held)
                held.woken = held.seen
                if held.task is not None:
                    self._ending[key] = held.task
                    held.task.cancel()
            elif held.task is None and (claim.wakes > held.claim.wakes or not held.timers):
                held.claim = claim
                self._wake_held(held, 0.0)
        unheld = {key: found for key, found in claimed.items() if key not in self._held}
        for key, (request, claim) in unheld.items():
            if self._unheld.get(key) == claim:  # the answer to its claim was lost
                held = self._hold(request, claim.holder)
                held.claim, held.changing = claim, False
                self._wake_held(held, 0.0)
        self._unheld = {key: claim for key, (_, claim) in unheld.items()}
