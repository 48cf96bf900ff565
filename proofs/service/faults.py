"""The faults, each with a name. A steady load runs from before its first moment until its last.

`prepare` sets up what the fault needs, before the quiet load that it is compared with.
"""

import asyncio
import shutil
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
from msgspec import Struct

from proofs.rolling_upgrade.released_wheel import WheelError, installed_wheel
from proofs.service.app import DEADLY, DEFECT, MODEL
from proofs.service.cell import Cell
from proofs.service.workers import can_be_apart
from sapwood import Agent, LogError
from sapwood.core.events import TurnFailed
from tools.postgres import replica

OLDER = "9ac08a2cc7b26a76cc774abf247356b136469a23"
"""The version before a deploy while the repository has no tags; the first ones know no pooler."""

_LOSS = 0.05
_FLUSH_MICROSECONDS = 100_000
_HOUR = 3600
_KILLS = 3
_MAX_DEATHS = 4
"""How many processes one conversation may end before it is left alone."""


class Impossible(Exception):
    """The fault cannot be staged on this machine. The text says why."""


async def _nothing(cell: Cell) -> None:
    """Nothing is to be prepared."""


class Fault(Struct, frozen=True):
    """What happens, and what is needed before."""

    strike: Callable[[Cell], Awaitable[None]]
    prepare: Callable[[Cell], Awaitable[None]] = _nothing

    @property
    def name(self) -> str:
        """Its name on the command line."""
        return self.strike.__name__.replace("_", "-")


async def kills(cell: Cell) -> None:
    """Workers are killed, one after the other."""
    for _ in range(_KILLS):
        await cell.workers.kill_one()
        await cell.lasts(1 / _KILLS)


async def restart(cell: Cell) -> None:
    """PostgreSQL is stopped and started."""
    async with _outage(cell):
        await asyncio.to_thread(cell.server.stop)
        await cell.lasts(0.2)
        cell.server.start()  # in this thread: Linux stops it when its parent thread ends


async def crash(cell: Cell) -> None:
    """PostgreSQL ends without a clean shutdown, and recovers."""
    async with _outage(cell):
        await asyncio.to_thread(lambda: cell.server.stop(at_once=True))
        cell.server.start()


async def _synchronous_replica(cell: Cell) -> None:
    standby = cell.until_closed.enter_context(replica(cell.server))
    await _set(cell, "synchronous_standby_names", "'*'")
    cell.standby = standby
    connection = await asyncpg.connect(cell.server.dsn)
    await connection.execute("CREATE TABLE replicated ()")  # returns when the replica has it
    await connection.close()


async def failover(cell: Cell) -> None:
    """The database ends without a word; its synchronous replica is promoted and takes its place."""
    standby = cell.standby
    assert standby is not None
    async with _outage(cell):
        await asyncio.to_thread(lambda: cell.server.stop(at_once=True))
        await asyncio.to_thread(standby.promote)
        for way in cell.ways:
            way.lead_to(standby.dsn)
    cell.server, cell.standby = standby, None


async def _volume_of_its_own(cell: Cell) -> None:
    if cell.options.volume is None:
        raise Impossible("it needs root, mkfs.ext4 and a loop device for a volume of its own")
    if not cell.server.folder.is_relative_to(cell.options.volume):
        raise Impossible("after a failover the database is on another volume; name it before")


async def full_disk(cell: Cell) -> None:
    """The volume of the database, with its WAL, has no room; then it has."""
    assert cell.options.volume is not None
    ballast = cell.options.volume / "ballast"
    async with _outage(cell):
        free = shutil.disk_usage(cell.options.volume).free
        await _run("fallocate", "--length", str(free), str(ballast), succeeds=False)
        await _run("dd", "if=/dev/zero", f"of={ballast}.rest", "bs=4096", succeeds=False)
        await cell.lasts()
        await _require_full(cell)
        for each in (ballast, ballast.with_suffix(".rest")):
            each.unlink()
        if cell.server.has_ended:
            cell.notes.append("PostgreSQL had stopped by itself")
            cell.server.stop()
            cell.server.start()


async def _require_full(cell: Cell) -> None:
    """Notes a failure if the database still has room for 20 MB: then the fault was none."""
    try:
        connection = await asyncpg.connect(cell.server.dsn, timeout=10)
        rows = "SELECT repeat('x', 1000) AS text FROM generate_series(1, 20000)"
        await connection.execute(f"CREATE TABLE too_large AS {rows}")
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as refused:
        cell.notes.append(f"refused: {str(refused).partition(chr(10))[0]}")
    else:
        cell.failures.append("the disk was not full")


async def slow_disk(cell: Cell) -> None:
    """Each flush of the WAL takes 100 ms longer (PostgreSQL's own `commit_delay`)."""
    await _set(cell, "commit_siblings", "0")
    await _set(cell, "commit_delay", str(_FLUSH_MICROSECONDS))
    await cell.lasts()
    await _set(cell, "commit_delay", "0")


async def packet_loss(cell: Cell) -> None:
    """One in twenty packets between workers and database is lost and sent again."""
    for way in cell.ways[:-1]:
        way.loss = _LOSS
    await cell.lasts()
    for way in cell.ways:
        way.loss = 0.0


async def _machines_of_their_own(cell: Cell) -> None:
    if not can_be_apart():
        raise Impossible(
            "it needs root, unshare and setpriv, so that workers cannot see each other"
        )
    cell.workers.are_apart = True
    await cell.workers.replace()
    cell.workers.are_apart = False


async def partition(cell: Cell) -> None:
    """One worker and the database do not reach each other, but the worker reaches the model."""
    cell.ways[0].cut()
    await cell.lasts()
    cell.ways[0].heal()


def _false_clock() -> Path | None:
    return next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)


async def _false_clocks(cell: Cell) -> None:
    library = _false_clock()
    if library is None:
        raise Impossible("it needs libfaketime. On Debian: apt-get install libfaketime")
    cell.options.clock.write_text("+0\n")
    cell.workers.extra = {
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(cell.options.clock),
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",
    }
    await cell.workers.replace()
    cell.workers.extra = {}


async def clock_steps(cell: Cell) -> None:
    """The clocks of the workers step an hour forwards, then an hour back, then they are right."""
    for offset in (_HOUR, -_HOUR, 0):
        cell.options.clock.write_text(f"{offset:+}\n")
        await cell.lasts(1 / 3)


async def poison(cell: Cell) -> None:
    """One conversation meets a defect in every run, and one ends every process that runs it."""
    space, before = cell.db.space("tenant-poisoned"), cell.workers.restarts
    defect, deadly = [await space.start(model=MODEL) for _ in (DEFECT, DEADLY)]
    supervising = asyncio.create_task(cell.workers.restart_ended())
    await defect.prompt(DEFECT)
    await deadly.prompt(DEADLY)
    await cell.lasts()
    async for recorded in deadly.follow():
        if isinstance(recorded.event, TurnFailed):
            break
    deaths = cell.workers.restarts - before
    cell.notes.append(f"the deadly conversation ended {deaths} processes (at most {_MAX_DEATHS})")
    if deaths > _MAX_DEATHS:
        cell.failures.append(cell.notes[-1])
    for agent in (defect, deadly):
        await _cured(agent)
    supervising.cancel()
    await asyncio.wait([supervising])


async def _cured(agent: Agent) -> None:
    """Does what the runbook says, and sees that the conversation works again."""
    if (await agent.state()).open is not None:
        await agent.interrupt("poisoned")
    await agent.run_command("/clear")
    await agent.ask("a/0/1")


async def flood(cell: Cell) -> None:
    """One tenant asks in all its conversations at once, again and again."""
    until = time.monotonic() + cell.options.seconds
    turns = await cell.tenants.flooding(lambda: time.monotonic() > until)
    cell.notes.append(f"{turns} turns of the flood")


async def _older_version(cell: Cell) -> None:
    try:
        cell.workers.python = str(await asyncio.to_thread(installed_wheel, cell.options.older))
    except WheelError as problem:
        raise Impossible(str(problem)) from problem
    try:
        await cell.workers.replace()
    finally:
        cell.workers.python = sys.executable


async def deploy(cell: Cell) -> None:
    """Workers of an older version are replaced by those of this one, one after the other."""
    await cell.workers.replace()


FAULTS = {
    fault.name: fault
    for fault in (
        Fault(kills),
        Fault(flood),
        Fault(poison),
        Fault(packet_loss),
        Fault(partition, _machines_of_their_own),
        Fault(slow_disk),
        Fault(clock_steps, _false_clocks),
        Fault(deploy, _older_version),
        Fault(restart),
        Fault(crash),
        Fault(full_disk, _volume_of_its_own),
        Fault(failover, _synchronous_replica),
    )
}


@asynccontextmanager
async def _outage(cell: Cell) -> AsyncGenerator[None]:
    """Notes from when until when the database does not work for anybody."""
    began = time.time()
    yield
    await _until_it_works(cell)
    cell.outages.append((began, time.time()))


async def _until_it_works(cell: Cell) -> None:
    """Waits until the tenants' way to the database leads to one that writes."""
    while True:
        try:
            await cell.db.space("probe").start()
        except LogError:
            await asyncio.sleep(0.1)
        else:
            return


async def _set(cell: Cell, setting: str, value: str) -> None:
    connection = await asyncpg.connect(cell.server.dsn)
    await connection.execute(f"ALTER SYSTEM SET {setting} = {value}")
    await connection.execute("SELECT pg_reload_conf()")
    await connection.close()


async def _run(*command: str, succeeds: bool = True) -> None:
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await process.communicate()
    if succeeds and process.returncode:
        raise RuntimeError(f"{command[0]}: {said.decode()}")
