"""`python -m tests.engine.another_worker ADDRESS WITNESS NAME STORM AGENTS DEAD_AFTER`: a worker.

It drives until it is told to end by SIGTERM. An agent whose name starts with `held` is driven until
the witness has the note `release`. With a storm it gives work to agents itself, and wakes them.
"""

import asyncio
import logging
import random
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec import structs

from sapwood.core.ids import AgentId, Space
from sapwood.engine.dbos import DbosEngine
from tests.engine.backends import FAST
from tests.engine.waiting import eventually
from tests.engine.witness import Witness

__all__ = ["SPACE", "AnotherWorker", "drive_for"]

SPACE = Space("main")


class AnotherWorker:
    """A worker in a process of its own."""

    def __init__(
        self,
        address: str,
        witness: Witness,
        name: str,
        storm: int,
        agents: int,
        dead_after: float = FAST.dead_after,
    ) -> None:
        self.name = name
        self._witness = witness
        self._errors = witness.path.with_name(f"{name}.stderr")
        numbers = (str(storm), str(agents), str(dead_after))
        arguments = (address, str(witness.path), name, *numbers)
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, *arguments], stderr=errors
            )

    @property
    def errors(self) -> str:
        """What it wrote to the terminal."""
        return self._errors.read_text()

    async def launched(self) -> None:
        """Waits until it takes work."""
        await eventually(lambda: self._witness.noted(f"{self.name} launched") or self._ended())

    async def weathered(self, within: float) -> None:
        """Waits until its storm is over."""
        await eventually(lambda: self._witness.noted(f"{self.name} weathered"), within)

    def kill(self) -> None:
        """Kills it outright."""
        self._process.kill()
        self._process.wait()
        self._witness.bury(self.name)

    def stop(self) -> None:
        """Stops it in its tracks."""
        self._process.send_signal(signal.SIGSTOP)
        self._witness.bury(self.name)

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


def drive_for(witness: Witness, worker: str) -> Callable[[Space, AgentId], Awaitable[None]]:
    """The drive that tells the witness."""

    async def drive(space: Space, agent: AgentId) -> None:
        number, wanted, how = witness.begin(worker, agent), witness.wanted(agent), "cancelled"
        try:
            if agent.startswith("held"):
                await eventually(lambda: witness.noted("release"), within=120)
            await asyncio.sleep(0)
            how = "done"
        finally:
            witness.end(number, agent, wanted if how == "done" else 0, how)

    return drive


async def _storm(engine: DbosEngine, witness: Witness, times: int, agents: int) -> None:
    chance = random.Random(times * agents)
    for _ in range(times):
        for number in chance.sample(range(agents), agents):
            witness.want(f"agent-{number}")
            await engine.wake(SPACE, AgentId(f"agent-{number}"))


def _log_what_dbos_says() -> None:
    """To the terminal, where the tests expect nothing; what we say ourselves is none of that."""
    logging.basicConfig(level=logging.WARNING)
    logging.getLogger("sapwood").propagate = False
    logging.getLogger("sapwood").addHandler(logging.NullHandler())


async def _main(
    address: str, path: str, name: str, storm: int, agents: int, dead_after: float
) -> None:
    told_to_end = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told_to_end.set)
    pace = structs.replace(FAST, dead_after=dead_after)
    witness, engine = Witness(Path(path)), DbosEngine(address, pace=pace)
    await engine.launch(drive_for(witness, name))
    witness.note(f"{name} launched")
    await _storm(engine, witness, storm, agents)
    witness.note(f"{name} weathered")
    await told_to_end.wait()
    await engine.close()
    witness.close()


if __name__ == "__main__":
    address, path, name, storm, agents, dead_after = sys.argv[1:]
    _log_what_dbos_says()
    asyncio.run(_main(address, path, name, int(storm), int(agents), float(dead_after)))
