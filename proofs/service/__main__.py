"""The command line of the proof; its last line has the figures.

    just service --turns 100 --conversations 40 --tenants 5

Several rounds: a steady load, then the same load while one tenant floods. Rounds alternate, so that
other work on the machine slows both down alike. Last comes a restart of PostgreSQL under the steady
load. All the time a worker is killed every few seconds.
"""

import argparse
import asyncio
import os
import random
import secrets
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from proofs.service.checks import Findings, check_log, try_other_tenants
from proofs.service.load import Answer, Tenants, percentile
from proofs.service.model import answer
from proofs.service.stages import stages_of
from proofs.service.workers import Workers
from sapwood import Sapwood, open
from scripted_model import ScriptedModel
from tools.postgres import Cluster, cluster
from tools.temporal_server import address_or_throwaway

_SLOWER = 2.0
"""The p95 of quiet tenants may be at most this many times as long while one tenant floods."""

T = TypeVar("T")


def main(arguments: list[str]) -> int:
    """Runs the proof and returns 1 if anything was lost, doubled, seen by others, or too slow."""
    options = _options(arguments)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))  # so that workers are stopped
    print(f"seed {options.seed}", flush=True)
    with (
        tempfile.TemporaryDirectory(prefix="sapwood-service-") as folder,
        cluster() as server,
        _address(server, options.pooled) as address,
        ScriptedModel() as model,
        _config(options.engine) as config,
    ):
        model.script(answer)
        file = Path(folder) / "config.toml"
        file.write_text(config)
        os.environ["SAPWOOD_CONFIG"] = str(file)  # this process wakes agents for the workers
        service = _Service(options, server, address, Path(folder), model.openai_url)
        try:
            return asyncio.run(service.run())
        except TimeoutError:
            print(f"service: not done after {options.minutes} minutes", file=sys.stderr)
            return 1


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m proofs.service", description=__doc__)
    parser.add_argument("--turns", type=int, default=5000)
    parser.add_argument("--conversations", type=int, default=1000)
    parser.add_argument("--tenants", type=int, default=50)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--rate", type=float, default=4.0, help="prompts of quiet tenants a second")
    parser.add_argument("--rounds", type=int, default=4, help="of calm and flood")
    parser.add_argument("--kill-every", type=float, default=10.0, help="seconds")
    parser.add_argument("--engine", choices=("auto", "temporal"), default="auto")
    parser.add_argument("--pooled", action="store_true", help="workers go through PgBouncer")
    parser.add_argument("--minutes", type=float, default=40.0, help="the longest it may take")
    parser.add_argument("--times", help="a file for the stages of each turn of quiet tenants")
    parser.add_argument("--seed", type=int, default=time.time_ns(), help="to repeat the chances")
    return parser.parse_args(arguments)


class _Phases(Struct):
    """The answers to quiet tenants in each phase, and what happened beside them."""

    calm: list[Answer] = []
    flooded: list[Answer] = []
    restarted: list[Answer] = []
    floods: int = 0
    calm_kills: int = 0
    flood_kills: int = 0


class _Service:
    """One run."""

    def __init__(
        self,
        options: argparse.Namespace,
        server: Cluster,
        address: str,
        folder: Path,
        model: str,
    ) -> None:
        self._options = options
        self._server = server
        self._address = address
        self._chance = random.Random(options.seed)
        environment = {
            **os.environ,
            "SAPWOOD_DATABASE": address,
            "SAPWOOD_DATA": str(folder / "data"),
            "SAPWOOD_SERVICE_MODEL": model,
        }
        os.environ.update(environment)  # this process wakes the workers by the same engine
        self._workers = Workers(environment, folder, options.workers, self._chance)
        self._connections: list[int] = []

    async def run(self) -> int:
        try:
            async with asyncio.timeout(self._options.minutes * 60), open(self._address) as db:
                return await self._run(db)
        finally:
            await self._workers.stop()

    async def _run(self, db: Sapwood) -> int:
        options, began = self._options, time.monotonic()
        tenants = Tenants(db, self._chance)
        await self._step("workers", self._workers.start())
        await self._step("conversations", tenants.start(options.tenants, options.conversations))
        killing = asyncio.create_task(self._workers.kill_every(options.kill_every))
        watching = asyncio.create_task(self._watch(db))
        phases = await self._phases(tenants)
        for task in (killing, watching):
            task.cancel()
        await asyncio.wait([killing, watching])
        findings = Findings(sentences=await self._workers.stop())
        await self._step("log", check_log(tenants.all, findings))
        await self._step("walls", try_other_tenants(db, tenants.all, self._chance, findings))
        for name, answers in (("calm", phases.calm), ("flood", phases.flooded)):
            stages = await stages_of(tenants.quiet, answers)
            print(f"p95, {name}: {stages}")
            if options.times:
                stages.append_to(Path(options.times), name)
        return self._report(tenants, phases, findings, time.monotonic() - began)

    async def _phases(self, tenants: Tenants) -> _Phases:
        turns, rate, rounds = self._options.turns, self._options.rate, self._options.rounds
        share = max(10, turns * 9 // 25 // rounds)  # 36 % each, 8 % in the restart, the rest floods
        phases = _Phases()
        await self._step("warm up", tenants.steady(max(10, turns // 50), rate))
        for number in range(1, rounds + 1):
            before = self._workers.kills
            phases.calm += await self._step(f"calm {number}", tenants.steady(share, rate))
            phases.calm_kills += self._workers.kills - before
            await self._flood(tenants, phases, share, turns // 5 // rounds, number)
        restarting = asyncio.create_task(self._restart())
        left = max(10, turns - 2 * share * rounds - phases.floods)
        phases.restarted = await self._step("restart", tenants.steady(min(left, turns // 10), rate))
        await restarting
        return phases

    async def _flood(
        self, tenants: Tenants, phases: _Phases, share: int, floods: int, number: int
    ) -> None:
        """A steady load while one tenant floods, with at least so many turns of the flood."""
        done = asyncio.Event()
        before, kills = tenants.turns, self._workers.kills
        flood = asyncio.create_task(
            tenants.flooding(lambda: done.is_set() and tenants.turns - before >= share + floods)
        )
        phases.flooded += await self._step(
            f"flood {number}", tenants.steady(share, self._options.rate)
        )
        phases.flood_kills += self._workers.kills - kills
        done.set()
        phases.floods += await self._step(f"end of flood {number}", flood)

    async def _restart(self) -> None:
        await asyncio.sleep(2.0)
        await asyncio.to_thread(self._server.stop)
        await asyncio.sleep(2.0)
        self._server.start()  # in this thread: Linux stops it when its parent thread ends

    async def _watch(self, db: Sapwood) -> None:
        """Counts the connections of the workers, now and then."""
        import asyncpg

        while True:
            try:
                connection = await asyncpg.connect(self._server.dsn)
                found = await connection.fetchval(
                    "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
                )
                self._connections.append(found - 1)
                await connection.close()
            except (OSError, asyncpg.PostgresError):
                pass
            await asyncio.sleep(2.0)

    async def _step(self, name: str, work: Awaitable[T]) -> T:
        began = time.monotonic()
        result = await work
        print(f"{name}: {time.monotonic() - began:.1f} s", flush=True)
        return result

    def _report(self, tenants: Tenants, phases: _Phases, findings: Findings, took: float) -> int:
        for sentence in findings.sentences[:20]:
            print(sentence, file=sys.stderr)
        quiet, loud = _p95(phases.calm), _p95(phases.flooded)
        ratio = loud / quiet if quiet else 0.0
        options = self._options
        print(
            f"p50/p95 of quiet tenants: {_p50(phases.calm):.2f}/{quiet:.2f} s "
            f"({phases.calm_kills} kills), with the flood {_p50(phases.flooded):.2f}/{loud:.2f} s "
            f"({phases.flood_kills} kills), with the restart "
            f"{_p50(phases.restarted):.2f}/{_p95(phases.restarted):.2f} s; "
            f"load of the machine {os.getloadavg()[2]:.1f}"
        )
        print(
            f"service: {options.engine}{', pooled' if options.pooled else ''}, "
            f"{options.workers} workers, {options.tenants} tenants, "
            f"{options.conversations} conversations, {tenants.turns} turns ({phases.floods} of the "
            f"flood), {self._workers.kills} kills, 1 restart: {findings.lost} lost, "
            f"{findings.doubled} doubled, {findings.seen} seen by another tenant in "
            f"{findings.attempts} attempts, {findings.repeated_calls} model calls sent again, "
            f"p95 with the flood {ratio:.2f} times as long (at most {_SLOWER:g}), at most "
            f"{max(self._connections, default=0)} connections, {took:.0f} s"
        )
        return int(bool(findings.faults) or ratio > _SLOWER)


def _p50(answers: list[Answer]) -> float:
    return percentile([answer.seconds for answer in answers], 0.5)


def _p95(answers: list[Answer]) -> float:
    return percentile([answer.seconds for answer in answers], 0.95)


@contextmanager
def _address(server: Cluster, pooled: bool) -> Generator[str]:
    """The address of the server, through PgBouncer if wished."""
    if not pooled:
        yield server.dsn
        return
    from tools.pgbouncer import pooler

    with pooler(server.dsn) as address:
        yield address


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
