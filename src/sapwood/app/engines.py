"""Chooses the engine that drives agents, and wakes agents that other processes drive."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Literal

from sapwood.app.connection import Connection
from sapwood.config.config_file import Config
from sapwood.config.database_address import is_of_plugin
from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import Append
from sapwood.engine import DriveLimits, EngineError, LocalEngine, wake_all
from sapwood.engine.engine_plugin import (
    DBOS_IS_AUTO,
    OWN_ENGINES,
    CountsDeaths,
    load_engine,
)
from sapwood.engine.reconciliation import working_spaces
from sapwood.turns.scheduler import Drive, Engine, woken_by

_NO_WORKERS = (
    "Sapwood's own workers do not support the store of a plug-in: each process runs the agents "
    "that it starts. To use an engine with workers, type: sapwood config set engine temporal"
)
_LOCAL_WORKER = (
    "The engine 'local' runs agents in the process that starts them, so it has no workers. To use "
    "workers, type: sapwood config set engine auto"
)

_DEADLY = (
    "{deaths} processes that ran this turn died without an error, so it is not retried. Their "
    "logs or the system log may show why, such as running out of memory. The conversation so far "
    "is kept. Send another prompt to continue, or take this one out of view first: /rewind"
)

_log = logging.getLogger("sapwood.engine")

_SLOW_IMPORTS = ("sapwood.redaction.masks", "httpx2")
"""What takes long to import; a screen opens before it is imported."""


def engine_for(
    config: Config,
    connection: Connection | None = None,
    limits: DriveLimits | None = None,
    serves: Callable[[Space], bool] | None = None,
    *,
    for_workers: bool = False,
) -> Engine:
    """Returns the configured engine.

    `limits` replace the configured ones. `serves` says of which spaces this process takes work, by
    default of that of the connection. With `for_workers` it takes work that other processes left.
    Raises `EngineError` if the engine is not installed.
    """
    limits = limits or configured_limits(config)
    outages = connection.outages if connection else None
    on_availability = outages.report if outages else None

    async def give_up(space: Space, agent: AgentId, deaths: int) -> None:
        if connection is not None:
            await _fail_turn(connection.with_space(space), agent, deaths)

    match _kind(config):
        case "memory":
            return LocalEngine(limits)
        case "plug-in":
            engine = load_engine(config.engine).configured(config, limits)
            if isinstance(engine, CountsDeaths):
                engine.give_up = give_up
            return engine
        case "process":
            from sapwood.engine.process_engine import ProcessEngine

            space = connection.space if connection else Space(config.space)
            covers: Callable[[Space], bool] = serves or (lambda each: each == space)

            async def recover(engine: Engine) -> None:
                if connection is not None and for_workers:
                    await wake_all(connection.log, engine, working_spaces(connection.log, covers))
                elif connection is not None:  # what waits for a person is left to who asked
                    await wake_all(connection.log, engine, [space], parked=False)

            return ProcessEngine(
                config.address,
                limits,
                on_availability=on_availability,
                serves=covers,
                recover=recover,
                give_up=give_up,
                is_worker=for_workers,
            )


async def _fail_turn(connection: Connection, agent: AgentId, deaths: int) -> None:
    """Fails the open turn of an agent in whose runs so many processes died, then closes."""
    from sapwood.core.commands import FailTurn
    from sapwood.core.events import SYSTEM
    from sapwood.metrics import METRICS
    from sapwood.telemetry.metrics_tracing import MetricsTracing
    from sapwood.turns.clock_and_ids import command_meta
    from sapwood.turns.driver import report
    from sapwood.turns.trace import Untraced

    try:
        opened = await connection.dispatcher.open(agent)
        turn = opened.live.open
        if turn is not None:
            reason = _DEADLY.format(deaths=deaths)
            await report(connection.dispatcher, opened.state, turn, reason)
            failed = FailTurn(agent, reason, failure="other", turn=turn.first)
            with MetricsTracing(METRICS, Untraced()).turn(opened.state) as ended:
                await connection.dispatcher.dispatch(failed, command_meta(SYSTEM))
                for last in (await connection.dispatcher.last_seen(agent)).live.turns[-1:]:
                    if last.first == turn.first:
                        ended(last)
    finally:
        await connection.close()


def _kind(config: Config) -> Literal["memory", "process", "plug-in"]:
    """The engine to use. Raises `EngineError` if it is not installed."""
    if config.address == ":memory:":
        return "memory"
    if config.engine not in OWN_ENGINES:
        load_engine(config.engine)
        return "plug-in"
    if is_of_plugin(config.address):  # whose tables an engine of ours cannot use
        return "memory"
    return "process"


def configured_limits(config: Config) -> DriveLimits:
    """Returns the limits of drives in the configuration; 0 there means no limit."""
    limits = config.limits
    return DriveLimits(
        config.workers,
        limits.per_model or None,
        limits.per_user or None,
        limits.per_space or None,
        limits.share or None,
        limits.deaths or None,
    )


def local_engine() -> Engine:
    """Returns an engine that works in this process only."""
    return LocalEngine()


def require_durable_engine(config: Config) -> None:
    """Raises `EngineError` if the configured engine cannot serve workers."""
    kind = _kind(config)
    if kind == "memory" and is_of_plugin(config.address):
        raise EngineError(_NO_WORKERS)
    if kind == "process" and config.engine == "local":
        raise EngineError(_LOCAL_WORKER)
    if config.engine == "dbos":
        _log.warning("%s Type: sapwood config set engine auto", DBOS_IS_AUTO)


async def import_slow() -> None:
    """Imports in a thread what takes long to import, so that no turn waits for it."""
    for name in _SLOW_IMPORTS:
        if find_spec(name.partition(".")[0]) is not None:
            await asyncio.to_thread(import_module, name)


class LazyEngine:
    """The configured engine, created at its first use: a screen that only reads creates none."""

    def __init__(
        self, config: Config, connection: Connection | None = None, *, for_workers: bool = False
    ) -> None:
        """The parameters are those of `engine_for`."""
        self._config = config
        self._connection = connection
        self._for_workers = for_workers
        self._engine: Engine | None = None
        self._creation = asyncio.Lock()
        self._launched: asyncio.Task[None] | None = None

    async def launch(self, drive: Drive) -> None:
        """Creates the engine and starts it."""
        self._launched = asyncio.ensure_future(self._launch(drive))
        await self._launched

    async def _launch(self, drive: Drive) -> None:
        await (await self._created()).launch(drive)

    async def wake(
        self, space: Space, agent: AgentId, *, model: str = "", user: str = "", delay: float = 0.0
    ) -> None:
        """Creates the engine if needed and asks it to drive this agent after `delay` seconds."""
        engine = await self._created()
        if self._launched is not None:  # a launched engine drives at once, without a queue
            await asyncio.wait([self._launched])
        await engine.wake(space, agent, model=model, user=user, delay=delay)

    async def close(self) -> None:
        """Closes the engine, if it was created."""
        if self._engine is not None:
            await self._engine.close()

    async def warm_up(self) -> None:
        """Imports the slow libraries in a thread, so that the first call does not wait for them."""
        await asyncio.to_thread(_kind, self._config)
        await import_slow()

    async def _created(self) -> Engine:
        async with self._creation:
            if self._engine is None:
                await self.warm_up()
                self._engine = engine_for(
                    self._config, self._connection, for_workers=self._for_workers
                )
            return self._engine


@asynccontextmanager
async def agents_given_work(connection: Connection) -> AsyncGenerator[dict[AgentId, str]]:
    """Yields a dictionary; on exit it maps each agent that got work in the block to its model."""
    woken: dict[AgentId, str] = {}
    with_work: dict[AgentId, str] = {}

    def committed(appends: tuple[Append, ...]) -> None:
        for append in appends:
            woken.update(dict.fromkeys(woken_by(append), append.summary.model))

    stop = connection.dispatcher.on_commit(committed)
    try:
        yield with_work
    finally:
        stop()
    for agent, model in woken.items():
        summary = await connection.log.summary(connection.space, agent)
        if summary is not None and summary.working:
            with_work[agent] = model


async def wake_by_workers(config: Config, agents: Mapping[AgentId, str]) -> None:
    """Asks the processes of the database to drive these agents, given with their models."""
    if not agents or _kind(config) == "memory":
        return
    engine = engine_for(config)
    try:
        for agent, model in agents.items():
            await engine.wake(Space(config.space), agent, model=model)
    finally:
        await engine.close()
