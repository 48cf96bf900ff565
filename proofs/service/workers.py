"""The workers of the service. Every few seconds one of them is killed and started again."""

import asyncio
import random
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tools.postgres import dying_with_us

_READY = "Running the agents of"
_LOOK = 0.1
_LEAVING = 30.0


class Workers:
    """Several workers for all spaces."""

    def __init__(
        self, environment: Mapping[str, str], folder: Path, workers: int, chance: random.Random
    ) -> None:
        self._environment = environment
        self._folder = folder
        self._chance = chance
        self._workers = workers
        self._places: dict[int, tuple[asyncio.subprocess.Process, Path]] = {}
        self._started = 0
        self._stopped = False
        self.kills = 0

    async def start(self) -> None:
        """Starts all workers and waits until they take work."""
        for place in range(self._workers):
            await self._start(place)

    async def kill_every(self, seconds: float) -> None:
        """Waits, kills a worker and starts it again, until it is cancelled. One is always left."""
        while True:
            await asyncio.sleep(seconds)
            ready = [place for place in range(len(self._places)) if self._is_ready(place)]
            if len(ready) > 1:  # on a busy machine the others may still be starting
                place = self._chance.choice(ready)
                await self._kill(place)
                await self._start(place, wait=False)

    def _is_ready(self, place: int) -> bool:
        worker, output = self._places[place]
        return worker.returncode is None and _READY in output.read_text()

    async def _kill(self, place: int) -> None:
        worker, _ = self._places[place]
        worker.kill()
        await worker.wait()
        self.kills += 1

    async def stop(self) -> list[str]:
        """Ends the workers. Returns what they printed that they should not."""
        self._stopped = True
        for worker, _ in self._places.values():
            if worker.returncode is None:
                worker.send_signal(signal.SIGTERM)
        for worker, _ in self._places.values():
            with suppress(TimeoutError):
                async with asyncio.timeout(_LEAVING):
                    await worker.wait()
            if worker.returncode is None:
                worker.kill()
                await worker.wait()
        outputs = sorted(self._folder.glob("worker-*"))
        return [
            f"{output.name} printed a traceback: {output.read_text()[-2000:]}"
            for output in outputs
            if "Traceback" in output.read_text()
        ]

    async def _start(self, place: int, *, wait: bool = True) -> None:
        if self._stopped:
            return
        self._started += 1
        output = self._folder / f"worker-{self._started}"
        command = [*dying_with_us(), sys.executable, "-m", "sapwood.cli", "worker"]
        command += ["--app", "proofs.service.app:runtime", "--spaces", "*"]
        with output.open("wb") as file:
            worker = await asyncio.create_subprocess_exec(
                *command,
                env=self._environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )
        self._places[place] = (worker, output)
        while wait and _READY not in output.read_text():
            if worker.returncode is not None:
                raise RuntimeError(f"a worker did not start: {output.read_text()}")
            await asyncio.sleep(_LOOK)
