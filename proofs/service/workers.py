"""The workers of the service. Every few seconds one of them is killed and started again."""

import asyncio
import random
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

__all__ = ["Workers"]

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
        self._places: list[asyncio.subprocess.Process | None] = [None] * workers
        self._started = 0
        self.kills = 0

    async def start(self) -> None:
        """Starts all workers and waits until they take work."""
        for place in range(len(self._places)):
            await self._start(place)

    async def kill_every(self, seconds: float) -> None:
        """Kills a worker, starts it again, and waits; until it is cancelled."""
        while True:
            await asyncio.sleep(seconds)
            place = self._chance.randrange(len(self._places))
            worker = self._places[place]
            if worker is not None and worker.returncode is None:
                worker.kill()
                await worker.wait()
                self.kills += 1
            await self._start(place, wait=False)

    async def stop(self) -> list[str]:
        """Ends the workers. Returns what they printed that they should not."""
        for worker in self._places:
            if worker is not None and worker.returncode is None:
                worker.send_signal(signal.SIGTERM)
        for worker in self._places:
            if worker is not None:
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
        self._started += 1
        output = self._folder / f"worker-{self._started}"
        command = [sys.executable, "-m", "sapwood.cli", "worker"]
        command += ["--app", "proofs.service.app:runtime", "--spaces", "*"]
        with output.open("wb") as file:
            worker = await asyncio.create_subprocess_exec(
                *command,
                env=self._environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )
        self._places[place] = worker
        while wait and _READY not in output.read_text():
            if worker.returncode is not None:
                raise RuntimeError(f"a worker did not start: {output.read_text()}")
            await asyncio.sleep(_LOOK)
