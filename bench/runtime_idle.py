"""The cost of idle agents: a real `sapwood worker`, measured from outside.

Every agent is woken and driven once. Some make a turn, with a model over HTTP, so that the worker
has imported what it needs; the others have nothing to do. Then all sleep.
"""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process, create_subprocess_exec
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from sapwood.api import Agent, Sapwood, open
from sapwood.engine.process_engine import ProcessEngine
from sapwood.engine.workers import read_engine_status
from scripted_model import ScriptedModel

TALKING = 100
_MODEL = "den:oak"
_AT_ONCE = 500
_TICKS = os.sysconf("SC_CLK_TCK")


class Idle(Struct, frozen=True):
    """A worker whose agents all sleep. `empty` is its memory before the first was driven."""

    agents: int
    megabytes: float
    empty: float
    percent: float

    def __str__(self) -> str:
        return (
            f"{self.agents:,} idle agents: a worker of {self.megabytes:.0f} MB, {self.empty:.0f} MB"
            f" before it drove one; it takes {self.percent:.1f} % of a core"
        )


async def measure_idle(database: Path, agents: int, seconds: float) -> Idle:
    """Lets a worker drive each agent once, then measures it for some seconds."""
    with ScriptedModel() as model:
        model.script(lambda _: "Done.")
        async with open(database) as db:
            started = await _start(db, agents)
            async with _worker(database, model.openai_url) as worker:
                empty = _resident_megabytes(worker.pid)
                await _drive(db, database, started)
                busy = _cpu_seconds(worker.pid)
                await asyncio.sleep(seconds)
                percent = 100 * (_cpu_seconds(worker.pid) - busy) / seconds
                return Idle(agents, _resident_megabytes(worker.pid), empty, percent)


async def _start(db: Sapwood, agents: int) -> list[Agent]:
    started: list[Agent] = []
    for first in range(0, agents, _AT_ONCE):
        some = range(first, min(first + _AT_ONCE, agents))
        started += await asyncio.gather(*(db.start(model=_MODEL) for _ in some))
    for some in _pages(started):
        await asyncio.gather(*(agent.record("Go on.", "Done.") for agent in some))
    await asyncio.gather(*(agent.run_command("Go on.") for agent in started[:TALKING]))
    return started


async def _drive(db: Sapwood, database: Path, agents: Sequence[Agent]) -> None:
    engine = ProcessEngine(database)
    try:
        for some in _pages(agents):
            await asyncio.gather(*(engine.wake(db.connection.space, agent.id) for agent in some))
        async with asyncio.timeout(600):
            while (await read_engine_status(str(database))).queued:  # noqa: ASYNC110  # of another process
                await asyncio.sleep(0.2)
    finally:
        await engine.close()
    for agent in agents[:TALKING]:
        if (await agent.state()).open is not None:
            raise RuntimeError(f"the worker left the turn of {agent.id} open")


@asynccontextmanager
async def _worker(database: Path, url: str) -> AsyncGenerator[Process]:
    """Runs a worker on this database, with models at this address."""
    home = database.parent
    config = home / "config.toml"
    config.write_text(f'[base_urls]\nden = "{url}"\n')
    settings = {
        "HOME": str(home),
        "SAPWOOD_CONFIG": str(config),
        "SAPWOOD_DATABASE": str(database),
    }
    command = (sys.executable, "-m", "sapwood.cli", "worker")
    worker = await create_subprocess_exec(*command, env=os.environ | settings, stderr=PIPE)
    assert worker.stderr is not None
    try:
        line = await worker.stderr.readline()
        if not line.startswith(b"Running the agents of"):
            raise RuntimeError(line.decode())
        yield worker
    finally:
        worker.terminate()
        await worker.communicate()


def _pages(agents: Sequence[Agent]) -> list[Sequence[Agent]]:
    return [agents[first : first + _AT_ONCE] for first in range(0, len(agents), _AT_ONCE)]


def _resident_megabytes(process: int) -> float:
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _cpu_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS
