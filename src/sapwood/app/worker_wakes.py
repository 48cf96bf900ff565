"""Wakes the workers of a database for agents that got work from a process without a worker."""

import asyncio
import logging
from typing import TYPE_CHECKING

from sapwood.config.config_file import load_config
from sapwood.config.database_address import is_of_plugin
from sapwood.core.errors import SapwoodError
from sapwood.core.ids import AgentId, Space
from sapwood.core.log_values import Append
from sapwood.engine import DriveLimits, wake_all
from sapwood.engine.engine_plugin import OWN_ENGINES, load_engine
from sapwood.turns.log import Log
from sapwood.turns.scheduler import woken_by

if TYPE_CHECKING:
    from sapwood.turns.scheduler import Engine


_TRIES = 5
_PAUSE = 1.0
"""Seconds between two tries. A worker finds the work by itself after some minutes."""

_log = logging.getLogger("sapwood.engine")


class WorkerWakes:
    """Asks the workers of a database to drive the agents that got work by a commit.

    Opens the tables of the engine, or the engine of a plug-in if one is configured, at the first
    use, and keeps them open. An SQLite log whose engine was never started has no workers; the
    first one looks for work when it starts.
    """

    def __init__(self, address: str, log: Log, engine: "Engine | None" = None) -> None:
        self._address = address
        self._log = log
        self._engine = engine
        self._is_own = engine is None
        self._creation = asyncio.Lock()
        self._waking: set[asyncio.Task[None]] = set()
        self._closing = False

    def committed(self, space: Space, appends: tuple[Append, ...]) -> None:
        """Wakes, in the background, each agent that these appends give work to."""
        if self._address == ":memory:" and self._engine is None:
            return
        for append in appends:
            for agent in woken_by(append):
                task = asyncio.ensure_future(self._wake(space, agent))
                self._waking.add(task)
                task.add_done_callback(self._waking.discard)

    async def wake_space(self, space: Space) -> int:
        """Wakes every agent of a space that has work to do; returns how many."""
        engine = await self._opened()
        return 0 if engine is None else await wake_all(self._log, engine, [space])

    def use(self, engine: "Engine | None") -> None:
        """Passes work to an engine that runs in this process, from now on; None: to workers."""
        self._engine, self._is_own = engine, engine is None

    async def passed(self) -> None:
        """Returns when every wake so far was passed to the workers, or failed once."""
        if self._waking:
            await asyncio.wait(self._waking)

    async def close(self) -> None:
        """Passes the wakes that are still to be passed, and closes the engine."""
        self._closing = True
        await self.passed()
        if self._engine is not None and self._is_own:
            await self._engine.close()

    async def _wake(self, space: Space, agent: AgentId) -> None:
        problem: SapwoodError | None = None
        for _ in range(_TRIES):
            try:
                summary = await self._log.summary(space, agent)
                engine = await self._opened() if summary and summary.working else None
                if engine is not None and summary is not None:
                    await engine.wake(space, agent, model=summary.model, user=summary.owner)
                return
            except SapwoodError as failed:
                problem = failed
                if self._closing:
                    break
                await asyncio.sleep(_PAUSE)
        _log.warning(
            "Could not wake a worker for agent '%s', which has work to do: %s. A worker will pick "
            "it up within a few minutes.",
            agent,
            problem,
        )

    async def _opened(self) -> "Engine | None":
        async with self._creation:
            if self._engine is None and self._has_workers():
                self._engine = await asyncio.to_thread(_engine_of, self._address)
            return self._engine

    def _has_workers(self) -> bool:
        """Whether there may be workers that this process can wake."""
        if load_config().engine not in OWN_ENGINES:
            return True
        if is_of_plugin(self._address):
            return False
        from sapwood.engine.wake_requests import engine_file

        file = engine_file(self._address)
        return file is None or file.exists()


def _engine_of(address: str) -> "Engine":
    config = load_config()
    if config.engine not in OWN_ENGINES:
        return load_engine(config.engine).configured(config, DriveLimits())
    from sapwood.engine.process_engine import ProcessEngine

    return ProcessEngine(address)
