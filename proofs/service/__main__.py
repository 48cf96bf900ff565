"""The command line of the proof; its last line has the figures.

    just service --turns 1200 --conversations 200 --tenants 20
    just service --fault failover --fault full-disk --turns 400
    just service --fault kills --engine temporal

For each fault there is a quiet round, then the same load while it lasts. Turns that the fault hit
are those whose model call was sent again, and those that waited while the database was away. The
p95 of all others may be at most twice as long as in the quiet round before.
"""

import argparse
import asyncio
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from proofs.rolling_upgrade.released_wheel import newest_tag
from proofs.service.cell import Cell, CellOptions, opened_cell
from proofs.service.checks import Findings, check_log, try_other_tenants
from proofs.service.costs import Costs, costs, watch_connections
from proofs.service.faults import FAULTS, OLDER, Fault, Impossible
from proofs.service.load import Answer, percentile
from proofs.service.model import PIECE, answer, delay
from proofs.service.stages import Stages, stages_of
from scripted_model import ScriptedModel
from tools.postgres import Cluster, cluster
from tools.temporal_server import address_or_throwaway

_SLOWER = 2.0
"""The p95 of those that a fault does not hit may be at most this many times as long."""

_BEFORE = 2.0
"""Seconds of load before a fault."""

_STUCK = 120.0
"""Seconds after which a turn that is not answered is lost."""

_VOLUME = "8G"
"""The size of the file system of the database. Its file takes only what is written."""

T = TypeVar("T")


def main(arguments: list[str]) -> int:
    """Runs the proof and returns 1 if anything was lost, doubled, seen by others, or too slow."""
    options = _options(arguments)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))  # so that workers are stopped
    print(f"seed {options.seed}", flush=True)
    with (
        tempfile.TemporaryDirectory(prefix="sapwood-service-") as folder,
        _volume(Path(folder)) as volume,
        cluster(within=volume) as server,
        ScriptedModel(piece=PIECE, delay=delay(options.reply_seconds), keep=100) as model,
        _config(options.engine) as config,
    ):
        model.script(answer)
        file = Path(folder) / "config.toml"
        file.write_text(config)
        os.environ["SAPWOOD_CONFIG"] = str(file)  # this process wakes agents for the workers
        os.environ["SAPWOOD_DATA"] = str(Path(folder) / "data")
        os.environ["SAPWOOD_SERVICE_MODEL"] = model.openai_url
        parts = CellOptions(
            folder=Path(folder),
            workers=options.workers,
            seconds=options.seconds,
            older=options.older,
            volume=volume,
            chance=random.Random(options.seed),
            pooled=options.pooled,
        )
        try:
            return asyncio.run(_run(options, server, parts))
        except TimeoutError:
            print(f"service: not done after {options.minutes} minutes", file=sys.stderr)
            return 1


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m proofs.service", description=__doc__)
    parser.add_argument(
        "--fault", action="append", choices=list(FAULTS), help="one of them; by default all"
    )
    parser.add_argument("--turns", type=int, default=5000, help="of quiet tenants, in all rounds")
    parser.add_argument("--conversations", type=int, default=1000)
    parser.add_argument("--tenants", type=int, default=50)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--rate", type=float, default=4.0, help="prompts of quiet tenants a second")
    parser.add_argument("--reply-seconds", type=float, default=5.0, help="how long a reply takes")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long a fault lasts")
    parser.add_argument(
        "--older", default=newest_tag() or OLDER, help="the version before a deploy"
    )
    parser.add_argument("--engine", choices=("auto", "temporal"), default="auto")
    parser.add_argument("--pooled", action="store_true", help="processes go through PgBouncer")
    parser.add_argument("--minutes", type=float, default=60.0, help="the longest it may take")
    parser.add_argument("--times", help="a file for the stages of each turn of quiet tenants")
    parser.add_argument("--seed", type=int, default=time.time_ns(), help="to repeat the chances")
    return parser.parse_args(arguments)


class _Round(Struct):
    """The answers to quiet tenants in a round, and what they cost."""

    answers: list[Answer]
    stages: Stages
    before: Costs
    after: Costs

    @property
    def costs(self) -> str:
        """What each turn cost."""
        return self.after.of_turns(self.before, max(1, len(self.answers)))


async def _run(options: argparse.Namespace, server: Cluster, parts: CellOptions) -> int:
    async with asyncio.timeout(options.minutes * 60), opened_cell(server, parts) as cell:
        return await _Service(options, cell).run()


class _Service:
    """One run."""

    def __init__(self, options: argparse.Namespace, cell: Cell) -> None:
        self._options = options
        self._cell = cell
        self._findings = Findings(sentences=[])
        self._connections: list[int] = []
        self._slowest = 0.0
        self._skipped: list[str] = []

    async def run(self) -> int:
        """Runs all faults, then reads all logs. Returns the exit code."""
        options, cell, began = self._options, self._cell, time.monotonic()
        tenants, chance = cell.tenants, cell.options.chance
        faults = [FAULTS[name] for name in dict.fromkeys(options.fault or FAULTS)]
        await _step("workers", cell.workers.start())
        await _step("conversations", tenants.start(options.tenants, options.conversations))
        turns = max(10, options.turns // len(faults) // 2)
        watching = asyncio.create_task(
            watch_connections(lambda: cell.server.dsn, self._connections)
        )
        await _step("warm up", tenants.steady(max(10, turns // 10), options.rate))
        for fault in faults:
            try:
                await self._stage(fault, turns)
            except Impossible as reason:
                self._skipped.append(fault.name)
                print(f"{fault.name}: not staged: {reason}", flush=True)
        watching.cancel()
        await asyncio.wait([watching])
        findings = self._findings
        findings.sentences += cell.failures + await cell.workers.stop()
        await _step("log", check_log(tenants.all, findings))
        await _step("walls", try_other_tenants(cell.db, tenants.all, chance, findings))
        return self._report(len(faults), time.monotonic() - began)

    async def _stage(self, fault: Fault, turns: int) -> None:
        cell = self._cell
        await fault.prepare(cell)
        quiet = await self._round(f"quiet, before {fault.name}", turns)
        cell.outages.clear()
        cell.notes.clear()
        striking = asyncio.create_task(_later(fault.strike(cell)))
        hit = await self._round(fault.name, turns, striking.done)
        await striking
        self._report_fault(fault, quiet, hit)

    async def _round(
        self, name: str, turns: int, enough: Callable[[], bool] = lambda: True
    ) -> _Round:
        tenants, rate = self._cell.tenants, self._options.rate
        before = await costs(self._cell.server.dsn)
        answers = await self._unless_stuck(name, tenants.steady(turns, rate, enough))
        after = await costs(self._cell.server.dsn)
        stages = await stages_of(tenants.quiet, answers)
        if self._options.times:
            stages.append_to(Path(self._options.times), name)
        return _Round(answers, stages, before, after)

    async def _unless_stuck(self, name: str, load: Awaitable[T]) -> T:
        """Waits for a load. Raises `TimeoutError` with what is known if a turn is not answered."""
        tenants, work = self._cell.tenants, asyncio.ensure_future(load)
        waiting, since = tenants.turns, time.monotonic()
        while not (await asyncio.wait([work], timeout=1.0))[0]:
            if tenants.turns != waiting:
                waiting, since = tenants.turns, time.monotonic()
            elif time.monotonic() - since > _STUCK:
                work.cancel()
                lost = sorted(tenants.waiting)
                print(f"{name}: no answer for {_STUCK:.0f} s: {lost[:20]}", file=sys.stderr)
                raise TimeoutError
        return await work

    def _report_fault(self, fault: Fault, quiet: _Round, hit: _Round) -> None:
        outages = self._cell.outages
        struck = [
            each
            for each in hit.answers
            if each.token in hit.stages.again or any(each.meets(*outage) for outage in outages)
        ]
        tokens = {each.token for each in struck}
        others = [each for each in hit.answers if each.token not in tokens]
        before, now = _p95(quiet.answers), _p95(others)
        ratio = now / before
        self._slowest = max(self._slowest, ratio)
        longest = max((each.seconds for each in struck), default=0.0)
        away = ", ".join(f"{until - since:.1f} s away" for since, until in outages)
        notes = "".join(f"; {note}" for note in (*self._cell.notes, *([away] if away else [])))
        print(
            f"{fault.name}: {len(quiet.answers)} quiet turns, {len(hit.answers)} with the fault, "
            f"{len(struck)} hit (longest {longest:.1f} s){notes}\n"
            f"  p95 {before:.2f} s quiet, {now:.2f} s of the others ({ratio:.2f} times), "
            f"{_p95(hit.answers):.2f} s of all; load of the machine {os.getloadavg()[0]:.1f}\n"
            f"  stages, p95: quiet {quiet.stages}; fault {hit.stages}\n"
            f"  quiet: {quiet.costs}; with the fault: {hit.costs}",
            flush=True,
        )

    def _report(self, faults: int, took: float) -> int:
        findings, options, cell = self._findings, self._options, self._cell
        for sentence in findings.sentences[:20]:
            print(sentence, file=sys.stderr)
        skipped = f" ({', '.join(self._skipped)} not staged)" if self._skipped else ""
        print(
            f"service: {options.engine}{', pooled' if options.pooled else ''}, "
            f"{options.workers} workers, {options.tenants} tenants, "
            f"{options.conversations} conversations, {cell.tenants.turns} turns of "
            f"{options.reply_seconds:g} s, {faults - len(self._skipped)} faults{skipped}, "
            f"{cell.workers.kills} kills: {findings.lost} lost, {findings.doubled} doubled, "
            f"{findings.seen} seen by another tenant in {findings.attempts} attempts, "
            f"{findings.repeated_calls} model calls sent again, "
            f"{len(findings.sentences)} faults in logs and output, p95 of the others at most "
            f"{self._slowest:.2f} times as long (limit {_SLOWER:g}), at most "
            f"{max(self._connections, default=0)} connections, {took:.0f} s"
        )
        return int(bool(findings.faults) or self._slowest > _SLOWER)


async def _later(strike: Awaitable[None]) -> None:
    await asyncio.sleep(_BEFORE)
    await strike


async def _step(name: str, work: Awaitable[T]) -> T:
    began = time.monotonic()
    result = await work
    print(f"{name}: {time.monotonic() - began:.1f} s", flush=True)
    return result


def _p95(answers: list[Answer]) -> float:
    return percentile([answer.seconds for answer in answers], 0.95)


@contextmanager
def _volume(folder: Path) -> Generator[Path | None]:
    """A file system of its own in a file; None where that is not possible."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("mkfs.ext4", "mount"))):
        yield None
        return
    image, place = folder / "volume", folder / "mounted"
    place.mkdir()
    subprocess.run(["truncate", "--size", _VOLUME, image], check=True)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", image], check=True)
    if subprocess.run(["mount", "-o", "loop", image, place], stderr=subprocess.PIPE).returncode:
        yield None
        return
    folder.chmod(0o755)  # PostgreSQL runs under another account
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


@contextmanager
def _config(engine: str) -> Generator[str]:
    """The configuration of the engine, with a server if it needs one."""
    if engine == "auto":
        yield ""
        return
    with address_or_throwaway() as address:
        queue = f"service-{secrets.token_hex(6)}"
        table = f'[temporal]\naddress = "{address}"\ntask_queue = "{queue}"\n'
        yield f'engine = "{engine}"\n{table}'


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
