"""DBOS in this process: its launch, its workflows, its end, and the event loop it runs in.

DBOS allows one instance per process; launching a second engine raises `EngineError`. DBOS has an
event loop of its own, in a thread: it blocks while it launches, and it replaces the thread pool of
the loop it is launched in. The loop that draws screens and streams answers must not suffer that.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager
from contextvars import Context
from typing import Any, TypeVar

from dbos import DBOS, DBOSConfig, DBOSPortableJSONSerializer

from sapwood.engine.dbos.drive_queue import ALARM, APPLICATION, QUEUED_BEFORE, VERSION
from sapwood.engine.dbos.system_database import LOG_LEVEL, SystemDatabase
from sapwood.engine.drives import EngineError

_T = TypeVar("_T")

RunDrive = Callable[[str, str, str], Awaitable[None]]
"""Drives (space, agent) for the drive of this id."""
RunAlarm = Callable[[str, str, str, str], Awaitable[None]]
"""Wakes (space, agent, model, user)."""


class DbosRuntime:
    """A launched DBOS."""

    def __init__(self, running: set[str]) -> None:
        self.running = running
        """The ids of the workflows that run in this process at this moment."""

    @classmethod
    async def launch(
        cls,
        system: SystemDatabase,
        worker: str,
        run_drive: RunDrive,
        run_alarm: RunAlarm,
    ) -> "DbosRuntime":
        """Starts DBOS, which then takes alarms from their queue.

        Raises `EngineError` if the process has a DBOS already.
        """
        DBOS(config=_config(system, worker))
        if worker != DBOS.executor_id:
            raise EngineError(
                "This process already has a DBOS instance, and there can be only one. Nothing was "
                "started. Close the other engine, or run this one in a separate process."
            )
        running: set[str] = set()
        try:
            _register_workflows(run_drive, run_alarm, running)
            DBOS.launch()
        except BaseException:
            await asyncio.to_thread(cls.stop)
            raise
        return cls(running)

    @staticmethod
    def stop() -> None:
        """Takes no more work and unregisters the workflows. Blocks; not for the loop of DBOS."""
        DBOS.destroy(destroy_registry=True)


class LoopThread:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="sapwood-engine", daemon=True)
        self._thread.start()

    async def call(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Runs a coroutine in the thread's loop and returns its result to the calling loop."""
        return await run_in_loop(self._loop, coroutine)

    async def settle(self, seconds: float) -> None:
        """Waits up to `seconds` for all tasks of the loop, then cancels the rest."""
        await self.call(_settle(seconds))

    async def stop(self) -> None:
        """Ends the loop and its thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()


async def run_in_loop(loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Runs a coroutine in another thread's loop, in a fresh context, and awaits it in this one."""
    start = asyncio.run_coroutine_threadsafe
    return await asyncio.wrap_future(Context().run(start, coroutine, loop))


async def _settle(seconds: float) -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    if tasks:
        _, left = await asyncio.wait(tasks, timeout=seconds)
        for task in left:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _config(system: SystemDatabase, worker: str) -> DBOSConfig:
    return DBOSConfig(
        name=APPLICATION,
        application_version=VERSION,
        executor_id=worker,
        system_database_engine=system.sql,
        dbos_system_schema=system.schema,
        run_migrations=False,
        serializer=DBOSPortableJSONSerializer(),
        max_executor_threads=system.threads,
        # Sapwood uses neither messages nor events of DBOS.
        use_listen_notify=False,
        notification_listener_polling_interval_sec=0.5,
        log_level=LOG_LEVEL,
    )


def _register_workflows(run_drive: RunDrive, run_alarm: RunAlarm, running: set[str]) -> None:
    """Registers the workflows with DBOS.

    Names and arguments of workflows are stored in databases and must not change. Drives are those
    that earlier versions queued: the log makes them repeatable.
    """

    def register_drive(name: str) -> None:
        async def drive(space: str, agent: str, drive: str, further: object) -> None:
            with _listed_in(running):
                await run_drive(space, agent, drive)

        DBOS.workflow(name=name, max_recovery_attempts=None)(drive)

    async def alarm(space: str, agent: str, model: str, user: str) -> None:
        with _listed_in(running):
            await run_alarm(space, agent, model, user)

    # An interrupted workflow is always resumed, however often that happens.
    DBOS.workflow(name=ALARM, max_recovery_attempts=None)(alarm)
    for name in QUEUED_BEFORE:
        register_drive(name)


@contextmanager
def _listed_in(running: set[str]) -> Generator[None]:
    workflow = DBOS.workflow_id or ""
    running.add(workflow)
    try:
        yield
    finally:
        running.discard(workflow)
