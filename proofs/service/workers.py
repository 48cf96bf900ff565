"""The workers of the service: killed, replaced, started again, and each on a machine of its own."""

import asyncio
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from proofs.service.app import DEFECT
from tools.postgres import dying_with_us

_READY = "Running the agents of"
_LOOK = 0.1
_LEAVING = 30.0


class _Worker(Struct):
    """A started worker and the file of its output."""

    process: asyncio.subprocess.Process
    output: Path

    @property
    def has_ended(self) -> bool:
        return self.process.returncode is not None

    @property
    def is_ready(self) -> bool:
        return not self.has_ended and _READY in self.output.read_text()

    def send(self, number: signal.Signals) -> None:
        """Sends a signal to the worker itself, which is the child of what made it a machine."""
        pid = self.process.pid
        with suppress(OSError):
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            os.kill(int(children[0]) if children else pid, number)


class Workers:
    """Several workers for all spaces. Each reaches the database by a way of its own."""

    def __init__(
        self,
        environment: Mapping[str, str],
        folder: Path,
        workers: int,
        chance: random.Random,
        dsn: Callable[[int], str],
    ) -> None:
        self._environment = environment
        self._folder = folder
        self._chance = chance
        self._dsn = dsn
        self._started = 0
        self._stopped = False
        self._places: dict[int, _Worker] = {}
        self.places = range(workers)
        self.python = sys.executable
        """The interpreter of workers that are started from now on."""
        self.are_apart = False
        """Whether workers that are started from now on have a machine of their own."""
        self.extra: dict[str, str] = {}
        """Further variables of workers that are started from now on."""
        self.killed: list[float] = []
        """When workers were killed."""
        self.restarts = 0

    async def start(self) -> None:
        """Starts all workers and waits until they take work."""
        await asyncio.gather(*map(self._start, self.places))

    async def until_ready(self) -> None:
        """Waits until all workers take work, those that were started without waiting too."""
        await asyncio.gather(*map(self._until_ready, self._places.values()))

    async def kill_one(self) -> None:
        """Kills a worker and starts it again. One is always left."""
        ready = [place for place in self.places if self._places[place].is_ready]
        if len(ready) > 1:  # on a busy machine the others may still be starting
            place = self._chance.choice(ready)
            worker = self._places[place]
            self.killed.append(time.time())
            worker.send(signal.SIGKILL)
            await worker.process.wait()
            await self._start(place, wait=False)

    async def replace(self) -> None:
        """Stops each worker cleanly and starts another in its place, one after the other."""
        for place in self.places:
            await self._end(self._places[place])
            await self._start(place)

    async def restart_ended(self) -> None:
        """Starts those again that have ended, as a supervisor does, until it is cancelled."""
        while True:
            for place in self.places:
                if self._places[place].has_ended:
                    self.restarts += 1
                    await self._start(place, wait=False)
            await asyncio.sleep(_LOOK)

    async def stop(self) -> list[str]:
        """Ends the workers. Returns what they printed that they should not."""
        self._stopped = True
        await asyncio.gather(*map(self._end, self._places.values()))
        outputs = [(each.name, each.read_text()) for each in sorted(self._folder.glob("worker-*"))]
        return [
            f"{name} printed a traceback: {text[-2000:]}"
            for name, text in outputs
            if text.count("Traceback") > text.count(f"ValueError: {DEFECT}")
        ]

    def lines(self, word: str) -> list[str]:
        """The lines that workers have printed with this word."""
        outputs = [each.read_text() for each in sorted(self._folder.glob("worker-*"))]
        return [line for text in outputs for line in text.splitlines() if word in line]

    async def _end(self, worker: _Worker) -> None:
        if worker.has_ended:
            return
        worker.send(signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(_LEAVING):
                await worker.process.wait()
        if not worker.has_ended:
            worker.send(signal.SIGKILL)
            await worker.process.wait()

    async def _start(self, place: int, *, wait: bool = True) -> None:
        if self._stopped:
            return
        self._started += 1
        output = self._folder / f"worker-{self._started:03}"
        first = _machine() if self.are_apart else dying_with_us()
        command = [*first, self.python, "-m", "sapwood.cli", "worker"]
        command += ["--app", "proofs.service.app:runtime", "--spaces", "*"]
        with output.open("wb") as file:
            process = await asyncio.create_subprocess_exec(
                *command,
                env={**self._environment, **self.extra, "SAPWOOD_DATABASE": self._dsn(place)},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )
        worker = self._places[place] = _Worker(process, output)
        if wait:
            await self._until_ready(worker)

    async def _until_ready(self, worker: _Worker) -> None:
        while not worker.is_ready:
            if worker.has_ended:
                raise RuntimeError(f"a worker did not start: {worker.output.read_text()}")
            await asyncio.sleep(_LOOK)


def can_be_apart() -> bool:
    """Whether a worker can have a machine of its own here."""
    return os.geteuid() == 0 and bool(shutil.which("unshare") and shutil.which("setpriv"))


def _machine() -> list[str]:
    """A command prefix that hides the processes of the others, as on a machine of its own.

    Otherwise a worker sees that another one of its machine still runs, and takes nothing from it.
    `unshare` ignores the signal that ends the others with us, so it is killed.
    """
    apart = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
    return ["setpriv", "--pdeathsig", "KILL", *apart]
