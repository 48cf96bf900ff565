"""Processes of `sapwood worker`, or another command, that are killed and started again."""

import asyncio
import random
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_READY = "Running the agents of"
_BEFORE_READY = 0.15
"""The share of workers that are killed while they start."""
_STARTING = 2.0
_TAKING_OVER = 8.0
_LOOK = 0.1
_LEAVING = 30.0


class Workers:
    """Several workers at once. Each is killed after a while and replaced, `kills` times in all."""

    def __init__(
        self,
        environment: Mapping[str, str],
        folder: Path,
        chance: random.Random,
        *,
        commands: Sequence[Sequence[str]],
        kills: int,
        longest: float,
        progress: Callable[[], int],
        report: Callable[[str], None],
    ) -> None:
        self._environment = environment
        self._folder = folder
        self._chance = chance
        self._commands = commands
        self._left = self._all = kills
        self._longest = longest
        self._progress = progress
        self._report = report
        self.kills = 0
        self.faults: list[str] = []
        self.done_killing = asyncio.Event()
        self._leave = asyncio.Event()

    async def run(self, workers: int) -> None:
        """Keeps the workers running until `leave` is called."""
        async with asyncio.TaskGroup() as places:
            for place in range(workers):
                places.create_task(self._place(place))

    def leave(self) -> None:
        """Ends the running workers normally."""
        self._leave.set()

    async def _place(self, place: int) -> None:
        life = 0
        while self._left > 0 and not self._leave.is_set():
            self._left -= 1
            life += 1
            await self._killed(self._folder / f"worker-{place}-{life}", place)
        await self._last(self._folder / f"worker-{place}-last", place)

    async def _killed(self, output: Path, place: int) -> None:
        """Starts one worker and kills it while it works."""
        worker = await self._start(output, place)
        if self._chance.random() < _BEFORE_READY:
            await self._until_end(worker, self._chance.uniform(0, _STARTING))
        else:
            await self._until_ready(worker, output)
            await self._until_progress(worker)
            await self._until_end(worker, self._chance.uniform(0, self._longest))
        if worker.returncode is not None:
            self._fault(output, f"exited with {worker.returncode}")
        else:
            worker.kill()
            await worker.wait()
            self.kills += 1
            if self.kills == self._all:
                self.done_killing.set()
            if self.kills % 10 == 0:
                self._report(f"{self.kills} kills")
        self._look_at(output)

    async def _last(self, output: Path, place: int) -> None:
        worker = await self._start(output, place)
        await self._leave.wait()
        await self._until_ready(worker, output)  # before that it does not know how to leave
        if worker.returncode is None:
            worker.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(_LEAVING):
                code = await worker.wait()
        except TimeoutError:
            worker.kill()
            code = await worker.wait()
        if code != 0:
            self._fault(output, f"did not leave in peace but with {code}")
        self._look_at(output)

    async def _start(self, output: Path, place: int) -> asyncio.subprocess.Process:
        with output.open("wb") as file:
            return await asyncio.create_subprocess_exec(
                *self._commands[place % len(self._commands)],
                env=self._environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )

    async def _until_ready(self, worker: asyncio.subprocess.Process, output: Path) -> None:
        while worker.returncode is None and _READY not in _output_of(output):
            await self._until_end(worker, _LOOK)

    async def _until_progress(self, worker: asyncio.subprocess.Process) -> None:
        """Waits until the worker makes progress; a single worker first takes over open work."""
        before, looks = self._progress(), round(_TAKING_OVER / _LOOK)
        for _ in range(looks):
            if self._progress() > before or worker.returncode is not None:
                break
            await self._until_end(worker, _LOOK)

    async def _until_end(self, worker: asyncio.subprocess.Process, seconds: float) -> None:
        """Waits this long, or until the worker exits."""
        try:
            async with asyncio.timeout(seconds):
                await worker.wait()
        except TimeoutError:
            pass

    def _look_at(self, output: Path) -> None:
        if "Traceback" in _output_of(output):
            self._fault(output, "showed a traceback")

    def _fault(self, output: Path, what: str) -> None:
        self.faults.append(f"{output.name} {what}: {_output_of(output)[-2_000:]}")


def _output_of(output: Path) -> str:
    return output.read_text(errors="replace")
