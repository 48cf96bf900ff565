"""DBOS in this process: its start, its workflows, its end. Runs in a loop of its own.

There is one DBOS a process, by its own design; whoever starts a second engine is told so.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager
from typing import Any

from dbos import DBOS, DBOSConfig, DBOSPortableJSONSerializer, EnqueueOptions, SetWorkflowID

from sapwood.engine.dbos.bells import Bell
from sapwood.engine.dbos.pace import Pace
from sapwood.engine.dbos.place import Place
from sapwood.engine.dbos.post import APPLICATION, VERSION
from sapwood.engine.dbos.quiet import LEVEL
from sapwood.engine.dbos.routes import ADMIT, ALARM, DRIVE, second_route
from sapwood.engine.errors import EngineError

__all__ = ["Transact"]

Driver = Callable[[str, str, str], Awaitable[None]]
"""Looks after (space, agent) on behalf of a drive."""
Alarm = Callable[[str, str, str, str], Awaitable[None]]
"""Wakes (space, agent, model, user)."""

_Workflow = Callable[[str, str, str, str], Coroutine[Any, Any, None]]


class Transact:
    """DBOS, launched."""

    def __init__(self, drive: _Workflow, running: set[str]) -> None:
        self._drive = drive
        self.running = running
        """The workflows that run in this process at this moment."""

    @classmethod
    async def launch(
        cls,
        place: Place,
        worker: str,
        pace: Pace,
        driver: Driver,
        alarm: Alarm,
    ) -> "Transact":
        """Starts to take work from the queues."""
        DBOS(config=_config(place, worker))
        if worker != DBOS.executor_id:
            raise EngineError(
                "There is a DBOS in this process already, and only one can be. Nothing was "
                "started. Close the other engine, or run this one in a process of its own."
            )
        running: set[str] = set()
        try:
            drive = _define(pace, driver, alarm, running)
            DBOS.launch()
        except BaseException:
            await asyncio.to_thread(cls.stop)
            raise
        return cls(drive, running)

    async def start(self, bell: Bell) -> None:
        """Has a bell's drive run here and now. Returns when it is known to the database."""
        with SetWorkflowID(bell.drive):
            await DBOS.start_workflow_async(self._drive, bell.space, bell.agent, bell.drive, "")

    @staticmethod
    def stop() -> None:
        """Takes no more work and forgets the workflows. Not in the loop, which it waits for."""
        DBOS.destroy(destroy_registry=True)


def _config(place: Place, worker: str) -> DBOSConfig:
    return DBOSConfig(
        name=APPLICATION,
        application_version=VERSION,
        executor_id=worker,
        system_database_engine=place.database,
        dbos_system_schema=place.schema,
        run_migrations=False,
        serializer=DBOSPortableJSONSerializer(),
        max_executor_threads=place.threads,
        # Nobody here waits for messages or events.
        use_listen_notify=False,
        notification_listener_polling_interval_sec=0.5,
        log_level=LEVEL,
    )


def _define(pace: Pace, driver: Driver, alarm: Alarm, running: set[str]) -> _Workflow:
    """Makes the workflows known to DBOS. Their names and arguments are stored: they must not move.

    A drive is one step, because the log makes it repeatable: what was done is found there.
    """

    async def run(space: str, agent: str, drive: str) -> None:
        await driver(space, agent, drive)

    async def drive(space: str, agent: str, drive: str, model: str) -> None:
        with _noted_in(running):
            await DBOS.run_step_async({"name": "drive"}, run, space, agent, drive)

    async def admit(space: str, agent: str, drive: str, model: str) -> None:
        way = second_route(model)
        options = EnqueueOptions(
            workflow_name=way.workflow,
            queue_name=way.queue,
            queue_partition_key=way.key or "",
            workflow_id=f"{drive}/admitted",
            app_version=VERSION,
        )
        with _noted_in(running):
            admitted = await DBOS.enqueue_workflow_with_options_async(
                options, space, agent, drive, model
            )
            await admitted.get_result(polling_interval_sec=pace.poll)

    async def ring(space: str, agent: str, model: str, user: str) -> None:
        with _noted_in(running):
            await alarm(space, agent, model, user)

    # A drive that was interrupted is always taken up again, however often that happens.
    DBOS.workflow(name=ADMIT, max_recovery_attempts=None)(admit)
    DBOS.workflow(name=ALARM, max_recovery_attempts=None)(ring)
    return DBOS.workflow(name=DRIVE, max_recovery_attempts=None)(drive)


@contextmanager
def _noted_in(running: set[str]) -> Generator[None]:
    workflow = DBOS.workflow_id or ""
    running.add(workflow)
    try:
        yield
    finally:
        running.discard(workflow)
