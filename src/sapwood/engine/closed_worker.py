"""A worker whose engine has closed: what it leaves to other processes, at once or later.

Others leave the agents of a worker alone while its process runs on their machine: it may only be
slow. So a process that goes on after it has closed its engine must give them away itself, also if
the database does not answer at that moment.
"""

import asyncio
import logging
import threading
from pathlib import Path

from msgspec import Struct

from sapwood.engine.drives import EngineError
from sapwood.engine.wake_database import WakeDatabase, open_wake_database
from sapwood.engine.wake_requests import WakeRequest, engine_file

_FIRST_PAUSE, _MAX_PAUSE = 0.5, 5.0
"""Seconds between two tries, which double."""
_MAX_TRIES = 17_000
"""About a day."""

_log = logging.getLogger("sapwood.engine")


class ClosedWorker(Struct, frozen=True):
    """The id of a worker, and the wakes that it could not record while it ran."""

    worker: str
    unrecorded: tuple[WakeRequest, ...]

    async def release(self, database: WakeDatabase) -> None:
        """Gives its requests to any other process. Raises `EngineError` if that is not possible."""
        for request in self.unrecorded:
            await database.wake(request)
        await database.release_all(self.worker)
        await database.remove_worker(self.worker)

    def release_later(self, address: str | Path) -> None:
        """Tries again and again in a thread, because the event loop may end with the engine.

        The thread does not keep the process from ending: others then see that it has ended.
        """
        work = self._release_when_back(address)
        name = "sapwood-closed-worker"
        threading.Thread(target=asyncio.run, args=(work,), name=name, daemon=True).start()

    async def _release_when_back(self, address: str | Path) -> None:
        file, pause = engine_file(address), _FIRST_PAUSE
        for _ in range(_MAX_TRIES):
            await asyncio.sleep(pause)
            pause = min(2 * pause, _MAX_PAUSE)
            if file is not None and not file.exists():
                return
            try:
                database = await open_wake_database(address)
                try:
                    await self.release(database)
                finally:
                    await database.close()
            except EngineError as problem:
                _log.debug("The agents of a closed engine cannot be released yet: %s", problem)
            else:
                _log.info("Other processes now take over the agents of the engine that was closed.")
                return
        _log.warning("Agents of an engine that was closed wait until this process ends.")
