"""What conversations need: disk, WAL, connections and CPU, on PostgreSQL and on SQLite.

A web server asks, a worker answers, and a scripted model takes 10 seconds for a reply, or what
`--reply-seconds` says. All are processes of their own, so that the CPU of each can be read. Prompts
have 400 characters and replies 1,200, in 75 pieces. A third as many conversations come before those
that are measured, because the first ones need more. Figures are for each thousand conversations or
turns. A busy machine needs more CPU for the same work. PostgreSQL compresses pages in its WAL, as
the guide of PostgreSQL says.

`--events 10000000` measures a second time on PostgreSQL, when copies have filled the database up to
so many events. No figure may be more than 1.3 times that of the empty database then.
"""

import argparse
import asyncio
import json
import os
import random
import sqlite3
import sys
import tempfile
from asyncio.subprocess import PIPE, create_subprocess_exec
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path

import asyncpg
from msgspec import Struct

from bench.kept_figures import figure
from bench.sizing_client import words
from bench.sizing_rows import fill
from sapwood.core.ids import Space
from scripted_model import ModelRequest, ScriptedModel
from tools.postgres import Cluster, cluster

_REPLY, _PIECES = 1_200, 75
_IDLE_SECONDS = 5.0
_TICKS = os.sysconf("SC_CLK_TCK")
_MAX_BYTES, _MAX_CPU, _MAX_CONNECTIONS = 60_000, 0.2, 45
"""Limits: bytes of a turn on disk, seconds of CPU of a turn in all processes, connections."""
_MAX_EVENTS, _MAX_WAL = 9, 20_000
"""Limits: events of a turn, and bytes of a turn in the WAL of PostgreSQL."""
_MAX_GROWTH = 1.3
"""Limit: a figure of a full database beside that of an empty one."""
_FEW = 50
"""Below so many conversations, empty pages and the first turns count for too much to be judged."""


class Sizing(Struct):
    """What was measured at one database, in bytes and seconds.

    `wal` is what PostgreSQL wrote into its WAL, and what both processes wrote to the disk for
    SQLite. `pages` are the pages in it that were written whole, because it was the first change of
    the page since a checkpoint.
    """

    database: str
    conversations: int
    turns: int
    stored: int = 0
    log: int = 0
    events: int = 0
    engine: int = 0
    wal: int = 0
    pages: int = 0
    connections: int = 0
    worker: float = 0.0
    server: float = 0.0
    web: float = 0.0
    idle: float = 0.0
    worker_megabytes: float = 0.0
    web_megabytes: float = 0.0
    grown: dict[str, int] = {}

    @property
    def cpu(self) -> float:
        """Seconds of CPU of a turn, in all processes."""
        return (self.worker + self.web + self.server) / (self.conversations * self.turns)

    def __str__(self) -> str:
        chats, turns = self.conversations / 1_000, self.conversations * self.turns / 1_000
        place = f"{self.database}, {self.stored:,} events" if self.stored else self.database
        each = f"{place}, {self.conversations:,} conversations of {self.turns} turns"
        return "\n".join(
            (
                f"{each}, for each thousand conversations:",
                f"  disk          {self.log / chats / 1e6:8.1f} MB"
                f"   ({self.log / turns / 1e6:.1f} kB for each turn)",
                f"  engine        {self.engine / 1e6:8.1f} MB   in all; it does not grow with them",
                f"  written       {self.wal / chats / 1e6:8.1f} MB   WAL, or files of SQLite"
                f" ({self.wal / turns / 1e6:.1f} kB and {self.pages / turns / 1e3:.2f} whole pages"
                " for each turn)",
                f"  events        {self.events / turns / 1e3:8.1f}      for each turn",
                f"{each}, for each thousand turns:",
                f"  CPU, worker   {self.worker / turns:8.1f} s",
                f"  CPU, web      {self.web / turns:8.1f} s",
                f"  CPU, server   {self.server / turns:8.1f} s   (in all {1_000 * self.cpu:.1f} s)",
                *(
                    f"  disk, {table:12}{size / turns / 1e6:6.2f} MB"
                    for table, size in sorted(self.grown.items(), key=lambda each: -each[1])
                    if size
                ),
                f"at most {self.connections} connections of one worker and one web server; "
                f"memory {self.worker_megabytes:.0f} MB and {self.web_megabytes:.0f} MB; an idle "
                f"worker takes {100 * self.idle / _IDLE_SECONDS:.1f} % of a core",
            )
        )

    def growth(self, before: "Sizing") -> dict[str, float]:
        """How many times as much each figure is as with fewer events stored."""
        figures = ("log", "wal", "worker", "web", "server", "connections", "worker_megabytes")
        return {each: getattr(self, each) / max(getattr(before, each), 0.01) for each in figures}

    @property
    def is_short(self) -> bool:
        """Whether a limit is missed."""
        turns = self.conversations * self.turns
        is_large = self.log / turns > _MAX_BYTES or self.cpu > _MAX_CPU
        is_large = is_large or self.events / turns > _MAX_EVENTS
        if self.database == "PostgreSQL":
            is_large = is_large or self.wal / turns > _MAX_WAL
        is_judged = self.conversations >= _FEW
        return self.connections > _MAX_CONNECTIONS or (is_judged and is_large)


def main(arguments: list[str]) -> int:
    """Measures both databases. Returns 1 if one needs more than the limits."""
    parser = argparse.ArgumentParser(prog="python -m bench sizing", description=__doc__)
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--at-once", type=int, default=50, help="conversations that are asked")
    parser.add_argument("--reply-seconds", type=float, default=10.0, help="how long a reply takes")
    parser.add_argument("--watched", action="store_true", help="show the words of each reply")
    parser.add_argument("--only", choices=("postgres", "sqlite"))
    parser.add_argument("--events", type=int, default=0, help="measure again with so many stored")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args(arguments)
    if given.events and given.only == "sqlite":
        parser.error("--events is for PostgreSQL.")
    if given.quick:
        given.conversations, given.turns = 8, 2
        given.reply_seconds = min(given.reply_seconds, 2.0)
    found = [] if given.only == "sqlite" else asyncio.run(_on_postgres(given))
    if given.only != "postgres":
        found.append(asyncio.run(_on_sqlite(given)))
    short = [sizing.database for sizing in found if sizing.is_short]
    turn = (
        f"{_MAX_EVENTS} events, {_MAX_BYTES / 1e3:g} kB, {_MAX_WAL / 1e3:g} kB of WAL and "
        f"{_MAX_CPU:g} s of CPU for each turn"
    )
    print(
        f"sizing: {len(found)} databases, {', '.join(short) or 'none'} above {turn}, or "
        f"{_MAX_CONNECTIONS} connections"
    )
    grown = _told_growth(found) if given.events else []
    return int(bool(short or grown))


async def _on_postgres(given: argparse.Namespace) -> list[Sizing]:
    """Measures an empty database and, if that is wished, a full one."""
    found: list[Sizing] = []
    with cluster() as server:
        for events in dict.fromkeys((0, given.events)):
            stored = await fill(server.dsn, Space("local"), events) if events else 0
            sizing = Sizing("PostgreSQL", given.conversations, given.turns, stored)
            await _measure_postgres(sizing, server, given)
            found.append(sizing)
            _show(sizing)
    return found


async def _on_sqlite(given: argparse.Namespace) -> Sizing:
    with tempfile.TemporaryDirectory(prefix="sapwood-sizing-") as folder:
        sizing = Sizing("SQLite", given.conversations, given.turns)
        await _measure_sqlite(sizing, Path(folder) / "log.db", given)
    _show(sizing)
    return sizing


def _show(sizing: Sizing) -> None:
    """Prints the figures, and keeps those of an empty database."""
    print(f"{sizing}\n", flush=True)
    turns = sizing.conversations * sizing.turns
    if sizing.conversations >= _FEW and not sizing.stored:
        figure(f"sizing: events of a turn, {sizing.database}", sizing.events / turns)
        if sizing.database == "PostgreSQL":
            figure("sizing: bytes of WAL of a turn", sizing.wal / turns)
            figure("sizing: bytes of disk of a turn", sizing.log / turns)


def _told_growth(found: Sequence[Sizing]) -> list[str]:
    """Prints how much each figure grew on PostgreSQL; returns those that grew too much."""
    empty, full = found[:2]
    growth = full.growth(empty)
    shown = ", ".join(f"{name} {times:.2f}" for name, times in growth.items())
    print(f"sizing: with {full.stored:,} events stored, times as much: {shown}")
    return [name for name, times in growth.items() if times > _MAX_GROWTH]


async def _measure_postgres(sizing: Sizing, server: Cluster, given: argparse.Namespace) -> None:
    session = await asyncpg.connect(server.dsn)

    async def connections() -> None:
        others = await session.fetchval(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        sizing.connections = max(sizing.connections, others)

    async def log_position() -> int:
        position = await session.fetchval("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn")
        return int(position)

    async def sizes_of(schema: str) -> Counter[str]:
        """The bytes of each table, with its indexes and partitions."""
        rows = await session.fetch(
            "SELECT coalesce(parent.relname, class.relname) AS name,"
            " sum(pg_total_relation_size(class.oid))::bigint AS bytes FROM pg_class AS class"
            " JOIN pg_namespace AS namespace ON namespace.oid = class.relnamespace"
            " LEFT JOIN pg_inherits ON inhrelid = class.oid"
            " LEFT JOIN pg_class AS parent ON parent.oid = inhparent"
            " WHERE nspname = $1 AND class.relkind IN ('r', 'm') GROUP BY 1",
            schema,
        )
        return Counter({row["name"]: row["bytes"] for row in rows})

    async def whole_pages() -> int:
        return int(await session.fetchval("SELECT wal_fpi FROM pg_stat_wal"))

    async def events() -> int:
        return int(await session.fetchval("SELECT count(*) FROM sapwood.events"))

    await session.execute("ALTER SYSTEM SET wal_compression = lz4")
    await session.execute("SELECT pg_reload_conf()")
    async with _worker(server.dsn, given.reply_seconds) as (worker, environment):
        await _ask(server.dsn, environment, given, _warm_up(given), connections)
        await session.execute("CHECKPOINT")
        empty, stored = await sizes_of("sapwood"), await events()
        pages, before, cpu = await whole_pages(), await log_position(), cpu_of_family(server.pid)
        await _converse(sizing, server.dsn, worker, environment, given, connections)
        sizing.server = cpu_of_family(server.pid) - cpu  # before all events are counted again
        sizing.wal = await log_position() - before
        sizing.pages = await whole_pages() - pages
        sizing.events = await events() - stored
    await session.execute("CHECKPOINT")
    grown = await sizes_of("sapwood")
    grown.subtract(empty)
    sizing.log, sizing.grown = grown.total(), dict(grown)
    sizing.engine = (await sizes_of("sapwood_engine")).total()
    await session.close()


async def _measure_sqlite(sizing: Sizing, file: Path, given: argparse.Namespace) -> None:
    async def nothing() -> None:
        """SQLite has no connections that a server must bear."""

    async with _worker(str(file), given.reply_seconds) as (worker, environment):
        await _ask(str(file), environment, given, _warm_up(given), nothing)
        empty, before, stored = _size(file), _written(worker), _events(file)
        await _converse(sizing, str(file), worker, environment, given, nothing)
        sizing.wal += _written(worker) - before
        sizing.events = _events(file) - stored
    sizing.log = _size(file) - empty
    sizing.engine = _size(file.with_name("log.engine.db"))


async def _converse(
    sizing: Sizing,
    address: str,
    worker: int,
    environment: dict[str, str],
    given: argparse.Namespace,
    look: Callable[[], Awaitable[None]],
) -> None:
    """Runs all conversations, and then looks at the idle worker."""
    before = _cpu(worker)
    told = await _ask(address, environment, given, sizing.conversations, look)
    sizing.web, sizing.web_megabytes = told["cpu"], told["megabytes"]
    sizing.wal = int(told["written"])
    sizing.worker = _cpu(worker) - before
    sizing.worker_megabytes = _megabytes(worker)
    before = _cpu(worker)
    await asyncio.sleep(_IDLE_SECONDS)
    sizing.idle = _cpu(worker) - before


async def _ask(
    address: str,
    environment: dict[str, str],
    given: argparse.Namespace,
    conversations: int,
    look: Callable[[], Awaitable[None]],
) -> dict[str, float]:
    """Runs so many conversations; returns what the web server tells about itself."""
    arguments = [
        address,
        *map(str, (conversations, given.turns, given.at_once, int(given.watched))),
    ]
    client = await create_subprocess_exec(
        *(sys.executable, "-m", "bench.sizing_client", *arguments), env=environment, stdout=PIPE
    )
    ended = asyncio.ensure_future(client.communicate())
    while not ended.done():
        await asyncio.wait([ended], timeout=0.5)
        await look()
    return json.loads((await ended)[0])


def _warm_up(given: argparse.Namespace) -> int:
    return max(4, given.conversations // 3)


@asynccontextmanager
async def _worker(address: str, seconds: float) -> AsyncGenerator[tuple[int, dict[str, str]]]:
    """Runs a worker; yields its process number and the environment for the web server."""
    chance, delay = random.Random(2), seconds / _PIECES

    def answer(request: ModelRequest) -> str:
        return words(chance, _REPLY)

    with (
        tempfile.TemporaryDirectory(prefix="sapwood-sizing-") as home,
        ScriptedModel(delay=delay) as model,
    ):
        model.script(answer)
        config = Path(home) / "config.toml"
        config.write_text(f'[base_urls]\nden = "{model.openai_url}"\n')
        environment = {
            **os.environ,
            "HOME": home,
            "SAPWOOD_CONFIG": str(config),
            "SAPWOOD_DATABASE": address,
        }
        command = (sys.executable, "-m", "sapwood.cli", "worker", "--spaces", "*")
        worker = await create_subprocess_exec(*command, env=environment, stderr=PIPE)
        assert worker.stderr is not None
        try:
            line = await worker.stderr.readline()
            if not line.startswith(b"Running the agents of"):
                raise RuntimeError(line.decode())
            yield worker.pid, environment
        finally:
            worker.terminate()
            await worker.communicate()


def _cpu(process: int, *, with_ended: bool = False) -> float:
    """Seconds of CPU of a process, with those of its children that have ended if wished."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11 : 15 if with_ended else 13])) / _TICKS


def cpu_of_family(process: int) -> float:
    """Seconds of CPU of a process and all its children."""
    total = _cpu(process, with_ended=True)
    for child in Path(f"/proc/{process}/task/{process}/children").read_text().split():
        try:
            total += _cpu(int(child))
        except FileNotFoundError:  # it ended a moment ago
            continue
    return total


def _written(process: int) -> int:
    """The bytes that a process has written to the disk."""
    lines = Path(f"/proc/{process}/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("write_bytes"))


def _events(file: Path) -> int:
    with closing(sqlite3.connect(file)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM events").fetchone()
    return count


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _megabytes(process: int) -> float:
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
