"""`python -m tests.engine.another_worker PARENT PLACE JOURNAL NAME STORM AGENTS DEAD_AFTER`

It drives until it gets SIGTERM, and ends with the process that started it. An agent whose name
starts with `held` is driven until the journal has the note `release`; one whose name starts with
`blocks` blocks the event loop of the worker until then; one whose name starts with `later` is to be
woken again in an hour. With a storm it gives work to agents itself, and wakes them.
"""

import asyncio
import ctypes
import logging
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec import structs

from sapwood.core.ids import AgentId, Space
from sapwood.turns.scheduler import Engine
from tests.engine.backends import FAST, SharedBackend
from tests.engine.drive_journal import DriveJournal
from tests.engine.eventually import eventually

SPACE = Space("main")


class AnotherWorker:
    """A worker in a process of its own."""

    def __init__(
        self,
        backend: SharedBackend,
        journal: DriveJournal,
        name: str,
        storm: int,
        agents: int,
        dead_after: float = FAST.dead_after,
    ) -> None:
        self.name = name
        self._journal = journal
        self._errors = journal.path.with_name(f"{name}.stderr")
        numbers = (str(storm), str(agents), str(dead_after))
        arguments = (backend.place, str(journal.path), name, *numbers)
        command = [sys.executable, "-m", __name__, str(os.getpid()), *arguments]
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(command, stderr=errors)

    @property
    def errors(self) -> str:
        """What it wrote to the terminal."""
        return self._errors.read_text()

    async def launched(self) -> None:
        """Waits until it takes work."""
        await eventually(lambda: self._journal.noted(f"{self.name} launched") or self._ended())

    async def weathered(self, within: float) -> None:
        """Waits until its storm is over."""
        await eventually(lambda: self._journal.noted(f"{self.name} weathered"), within)

    def kill(self) -> None:
        """Kills it outright."""
        self._process.kill()
        self._process.wait()
        self._journal.record_death(self.name)

    def stop(self) -> None:
        """Stops it in its tracks."""
        self._process.send_signal(signal.SIGSTOP)
        self._journal.record_death(self.name)

    def go_on(self) -> None:
        """Lets it go on."""
        self._process.send_signal(signal.SIGCONT)

    def terminate(self) -> None:
        """Asks it to close."""
        self._process.terminate()

    def wait(self) -> int:
        """Waits for its end."""
        return self._process.wait(60)

    def _ended(self) -> bool:
        assert self._process.poll() is None, self.errors
        return False


def drive_for(
    journal: DriveJournal, worker: str, engine: Engine
) -> Callable[[Space, AgentId], Awaitable[None]]:
    """The drive that tells the journal."""

    async def drive(space: Space, agent: AgentId) -> None:
        number, wanted, how = journal.begin(worker, agent), journal.wanted(agent), "cancelled"
        try:
            if agent.startswith("held"):
                await eventually(lambda: journal.noted("release"), within=120)
            while agent.startswith("blocks") and not journal.noted("release"):
                time.sleep(0.01)  # noqa: ASYNC251 # as imports do that take long: nothing else runs
            if agent.startswith("later"):
                await engine.wake(space, agent, delay=3600)
            await asyncio.sleep(0)
            how = "done"
        finally:
            journal.end(number, agent, wanted if how == "done" else 0, how)

    return drive


async def _storm(engine: Engine, journal: DriveJournal, times: int, agents: int) -> None:
    chance = random.Random(times * agents)
    for _ in range(times):
        for number in chance.sample(range(agents), agents):
            journal.want(f"agent-{number}")
            await engine.wake(SPACE, AgentId(f"agent-{number}"))


def _end_with(parent: int) -> None:
    """Has Linux kill this process when the one that started it ends, however that ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("The process that started this worker has ended.")


_SET_PARENT_DEATH_SIGNAL = 1


def _log_what_libraries_say() -> None:
    """To the terminal, where the tests expect nothing; what we say ourselves is none of that."""
    logging.basicConfig(level=logging.WARNING)
    logging.getLogger("sapwood").propagate = False
    logging.getLogger("sapwood").addHandler(logging.NullHandler())


async def _main(
    place: str, path: str, name: str, storm: int, agents: int, dead_after: float
) -> None:
    sigterm = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, sigterm.set)
    intervals = structs.replace(FAST, dead_after=dead_after)
    journal, engine = DriveJournal(Path(path)), SharedBackend.at(place).engine(None, intervals)
    await engine.launch(drive_for(journal, name, engine))
    journal.note(f"{name} launched")
    await _storm(engine, journal, storm, agents)
    journal.note(f"{name} weathered")
    await sigterm.wait()
    await engine.close()
    journal.close()


if __name__ == "__main__":
    parent, place, path, name, storm, agents, dead_after = sys.argv[1:]
    _end_with(int(parent))
    _log_what_libraries_say()
    asyncio.run(_main(place, path, name, int(storm), int(agents), float(dead_after)))
