"""The command line of the proof; its last line has the figures.

    just service --turns 1200 --conversations 200 --tenants 20
    just service --fault failover --fault full-disk --turns 400
    just service --fault kills --engine temporal

For each fault there is a quiet round, then the same load while it lasts. Turns that the fault hit
are those whose model call was sent again, those that waited for a worker when one was killed, and
those that waited while the database was away. The p95 of all others may be at most twice as long
as in the quiet round before.

Before each quiet round, all workers are ready and have run some turns. Every half minute a line
shows how far it is. If the CPU of the machine is the limit, a higher `--rate` only makes tenants
wait: the last line has the CPU for each turn, and the least time that so many turns take here.
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
from proofs.service.app import LIMITS
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

_PROGRESS = 30.0
"""Seconds between two lines of progress."""

_WARM = 10
"""Turns before each quiet round, at least."""

_FULL = 0.8
"""The share of what the limits of the service let through that tenants may ask for."""

_CALLS = 1.25
"""Model calls of a turn: one in four uses the tool."""

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
        return asyncio.run(_run(options, server, parts))


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m proofs.service", description=__doc__)
    parser.add_argument(
        "--fault", action="append", choices=list(FAULTS), help="one of them; by default all"
    )
    parser.add_argument("--turns", type=int, default=20_000, help="of quiet tenants, in all rounds")
    parser.add_argument("--conversations", type=int, default=2000)
    parser.add_argument("--tenants", type=int, default=100)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument(
        "--rate", type=float, default=10.0, help="prompts of quiet tenants a second"
    )
    parser.add_argument("--reply-seconds", type=float, default=5.0, help="how long a reply takes")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long a fault lasts")
    parser.add_argument(
        "--older", default=newest_tag() or OLDER, help="the version before a deploy"
    )
    parser.add_argument("--engine", choices=("auto", "temporal"), default="auto")
    parser.add_argument("--pooled", action="store_true", help="processes go through PgBouncer")
    parser.add_argument("--minutes", type=float, default=90.0, help="the longest it may take")
    parser.add_argument("--times", help="a file for the stages of each turn of quiet tenants")
    parser.add_argument("--seed", type=int, default=time.time_ns(), help="to repeat the chances")
    options = parser.parse_args(arguments)
    seconds = options.reply_seconds * _CALLS
    at_once = min(
        (options.tenants - 1) * (LIMITS.per_space or LIMITS.per_worker),
        options.workers * LIMITS.per_worker,
    )
    if options.rate > _FULL * at_once / max(seconds, 0.1):
        parser.error(
            f"Prompts would wait for the limits of the service: {at_once} turns of {seconds:g} s "
            f"at once. Use a --rate of at most {_FULL * at_once / seconds:.1f}, or more --tenants."
        )
    return options


class _Round(Struct):
    """The answers to quiet tenants in a round, and what they cost."""

    answers: list[Answer]
    stages: Stages
    spent: Costs
    connections: int

    @property
    def costs(self) -> str:
        """What each turn cost."""
        each = self.spent.of_turns(max(1, len(self.answers)))
        return f"{each}, at most {self.connections} connections"


async def _run(options: argparse.Namespace, server: Cluster, parts: CellOptions) -> int:
    async with opened_cell(server, parts) as cell:
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
        self._spent, self._counted = Costs(), 0
        self._began = time.monotonic()
        self._doing = "start"

    async def run(self) -> int:
        """Runs all faults, then reads all logs. Returns the exit code."""
        options, cell = self._options, self._cell
        tenants, chance = cell.tenants, cell.options.chance
        faults = [FAULTS[name] for name in dict.fromkeys(options.fault or FAULTS)]
        await _step("workers", cell.workers.start())
        await _step("conversations", tenants.start(options.tenants, options.conversations))
        turns = max(10, options.turns // len(faults) // 2)
        watching = [
            asyncio.ensure_future(watch_connections(lambda: cell.server.dsn, self._connections)),
            asyncio.ensure_future(self._show_progress()),
        ]
        try:
            async with asyncio.timeout(options.minutes * 60):
                for fault in faults:
                    await self._stage_if_possible(fault, turns)
        except TimeoutError:
            self._findings.sentences.append(
                f"Not done after {time.monotonic() - self._began:.0f} s, in: {self._doing}. "
                f"{len(tenants.waiting)} turns were not answered, and are not checked."
            )
        self._doing = "check"
        findings = self._findings
        findings.sentences += cell.failures + await cell.workers.stop()
        answered = [each for each in tenants.all if tenants.waiting.isdisjoint(each.tokens)]
        await _step("log", check_log(answered, findings))
        await _step("walls", try_other_tenants(cell.db, tenants.all, chance, findings))
        for each in watching:
            each.cancel()
        await asyncio.wait(watching)
        return self._report(faults)

    async def _show_progress(self) -> None:
        while True:
            await asyncio.sleep(_PROGRESS)
            tenants = self._cell.tenants
            print(
                f"{time.monotonic() - self._began:.0f} s: {self._doing}; {tenants.turns} turns, "
                f"{len(tenants.waiting)} waiting; load of the machine {os.getloadavg()[0]:.1f}",
                flush=True,
            )

    async def _stage_if_possible(self, fault: Fault, turns: int) -> None:
        try:
            await self._stage(fault, turns)
        except Impossible as reason:
            self._skipped.append(fault.name)
            print(f"{fault.name}: not staged: {reason}", flush=True)
        except RuntimeError as problem:  # what the other faults do is still worth an answer
            self._findings.sentences.append(f"{fault.name}: {problem}")
            print(self._findings.sentences[-1], flush=True)
            await self._cell.workers.replace()

    async def _stage(self, fault: Fault, turns: int) -> None:
        cell = self._cell
        self._doing = f"before {fault.name}"
        await fault.prepare(cell)
        await cell.workers.until_ready()
        await cell.tenants.steady(max(_WARM, turns // 10), self._options.rate)
        quiet = await self._round(f"quiet, before {fault.name}", turns)
        cell.outages.clear()
        cell.notes.clear()
        striking = asyncio.create_task(_later(fault.strike(cell)))
        try:
            hit = await self._round(fault.name, turns, striking.done)
        finally:  # without an outage the logs can be read
            await asyncio.wait([striking], timeout=_STUCK)
            striking.cancel()
        await striking
        self._report_fault(fault, quiet, hit)

    async def _round(
        self, name: str, turns: int, enough: Callable[[], bool] = lambda: True
    ) -> _Round:
        tenants, rate = self._cell.tenants, self._options.rate
        self._doing, looks = name, len(self._connections)
        before = await costs(self._cell.server.dsn)
        answers = await self._unless_stuck(name, tenants.steady(turns, rate, enough))
        spent = (await costs(self._cell.server.dsn)).since(before)
        self._spent, self._counted = self._spent.and_of(spent), self._counted + len(answers)
        stages = await stages_of(tenants.quiet, answers)
        if self._options.times:
            stages.append_to(Path(self._options.times), name)
        return _Round(answers, stages, spent, max(self._connections[looks:], default=0))

    async def _unless_stuck(self, name: str, load: Awaitable[T]) -> T:
        """Waits for a load. Raises `TimeoutError` with what is known if a turn is not answered."""
        tenants, work = self._cell.tenants, asyncio.ensure_future(load)
        waiting, since = tenants.turns, time.monotonic()
        try:
            while not (await asyncio.wait([work], timeout=1.0))[0]:
                if tenants.turns != waiting:
                    waiting, since = tenants.turns, time.monotonic()
                elif time.monotonic() - since > _STUCK:
                    lost = sorted(tenants.waiting)
                    print(f"{name}: no answer for {_STUCK:.0f} s: {lost[:20]}", file=sys.stderr)
                    raise TimeoutError
            return await work
        finally:
            work.cancel()

    def _report_fault(self, fault: Fault, quiet: _Round, hit: _Round) -> None:
        outages, slow = self._cell.outages, 4 * self._options.reply_seconds + 2
        struck = [
            each
            for each in hit.answers
            if each.token in hit.stages.again
            or hit.stages.waited_at(each.token, self._cell.workers.killed)
            or any(each.meets(*outage) for outage in outages)
        ]
        tokens = {each.token for each in struck}
        others = [each for each in hit.answers if each.token not in tokens]
        before, now = _p95(quiet.answers), _p95(others)
        ratio = now / before
        self._slowest = max(self._slowest, ratio)
        longest = max((each.seconds for each in struck), default=0.0)
        said = [*self._cell.notes, *(f"{until - since:.1f} s away" for since, until in outages)]
        if before > slow:
            said.append("the machine is too busy for this rate")
        notes = "".join(f"; {each}" for each in said)
        print(
            f"{fault.name}: {len(quiet.answers)} quiet turns, {len(hit.answers)} with the fault, "
            f"{len(struck)} hit (longest {longest:.1f} s){notes}\n"
            f"  p95 {before:.2f} s quiet, {now:.2f} s of the others ({ratio:.2f} times), "
            f"{_p95(hit.answers):.2f} s of all; load of the machine {os.getloadavg()[0]:.1f}\n"
            f"  stages, p95: quiet {quiet.stages}; fault {hit.stages}\n"
            f"  quiet: {quiet.costs}; with the fault: {hit.costs}",
            flush=True,
        )

    def _report(self, faults: list[Fault]) -> int:
        findings, options, cell = self._findings, self._options, self._cell
        turns, cores, took = (
            max(1, self._counted),
            os.cpu_count() or 1,
            time.monotonic() - self._began,
        )
        least = (self._spent.cpu + self._spent.own) / turns / cores * options.turns / 60
        print(
            f"all rounds: {self._spent.of_turns(turns)}; {options.turns} turns take at least "
            f"{least:.1f} minutes of {cores} cores"
        )
        name = faults[0].name if len(faults) == 1 else f"{len(faults) - len(self._skipped)} faults"
        for sentence in findings.sentences[:20]:
            print(sentence, file=sys.stderr)
        skipped = f" ({', '.join(self._skipped)} not staged)" if self._skipped else ""
        print(
            f"service: {name}{skipped}, {options.engine}{', pooled' if options.pooled else ''}, "
            f"{options.workers} workers, {options.tenants} tenants, "
            f"{options.conversations} conversations, {cell.tenants.turns} turns of "
            f"{options.reply_seconds:g} s, {len(cell.workers.killed)} kills: "
            f"{findings.lost} lost, {findings.doubled} doubled, "
            f"{findings.seen} seen by another tenant in {findings.attempts} attempts, "
            f"{findings.repeated_calls} model calls sent again, "
            f"{len(findings.sentences)} faults in logs and output, p95 of the others at most "
            f"{self._slowest:.2f} times as long (limit {_SLOWER:g}), at most "
            f"{max(self._connections, default=0)} connections, load of the machine "
            f"{os.getloadavg()[0]:.1f}, {took:.0f} s"
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
