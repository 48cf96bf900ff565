"""The command line of the proof; its last line has the figures.

    just service --turns 100 --conversations 40 --tenants 5

Three phases: a steady load, the same load while one tenant floods, and a restart of PostgreSQL. In
all of them a worker is killed every few seconds.
"""

import argparse
import asyncio
import os
import random
import secrets
import sys
import tempfile
import time
from collections.abc import Awaitable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from proofs.service.checks import Findings, check_log, try_other_tenants
from proofs.service.load import Tenants, percentile
from proofs.service.model import answer
from proofs.service.workers import Workers
from sapwood import Sapwood, open
from scripted_model import ScriptedModel
from tools.postgres import Cluster, cluster
from tools.temporal_server import address_or_throwaway

__all__ = ["main"]

_SLOWER = 2.0
"""The p95 of quiet tenants may be at most this many times as long while one tenant floods."""

T = TypeVar("T")


def main(arguments: list[str]) -> int:
    """Runs the proof and returns 1 if anything was lost, doubled, seen by others, or too slow."""
    options = _options(arguments)
    print(f"seed {options.seed}", flush=True)
    with (
        tempfile.TemporaryDirectory(prefix="sapwood-service-") as folder,
        cluster() as server,
        ScriptedModel() as model,
        _config(options.engine) as config,
    ):
        model.script(answer)
        file = Path(folder) / "config.toml"
        file.write_text(config)
        os.environ["SAPWOOD_CONFIG"] = str(file)  # this process wakes agents for the workers
        service = _Service(options, server, Path(folder), model.openai_url)
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
    parser.add_argument("--kill-every", type=float, default=10.0, help="seconds")
    parser.add_argument("--engine", choices=("dbos", "temporal"), default="dbos")
    parser.add_argument("--minutes", type=float, default=40.0, help="the longest it may take")
    parser.add_argument("--seed", type=int, default=time.time_ns(), help="to repeat the chances")
    return parser.parse_args(arguments)


class _Service:
    """One run."""

    def __init__(
        self, options: argparse.Namespace, server: Cluster, folder: Path, model: str
    ) -> None:
        self._options = options
        self._server = server
        self._chance = random.Random(options.seed)
        environment = {
            **os.environ,
            "SAPWOOD_DATABASE": server.dsn,
            "SAPWOOD_DATA": str(folder / "data"),
            "SAPWOOD_SERVICE_MODEL": model,
        }
        os.environ.update(environment)  # this process wakes the workers by the same engine
        self._workers = Workers(environment, folder, options.workers, self._chance)
        self._connections: list[int] = []

    async def run(self) -> int:
        options = self._options
        began = time.monotonic()
        async with asyncio.timeout(options.minutes * 60), open(self._server.dsn) as wood:
            tenants = Tenants(wood, self._chance)
            await self._step("workers", self._workers.start())
            await self._step("conversations", tenants.start(options.tenants, options.conversations))
            killing = asyncio.create_task(self._workers.kill_every(options.kill_every))
            watching = asyncio.create_task(self._watch(wood))
            calm, flooded, floods, restarted = await self._phases(tenants)
            for task in (killing, watching):
                task.cancel()
            await asyncio.wait([killing, watching])
            findings = Findings(sentences=await self._workers.stop())
            await self._step("log", check_log(tenants.all, findings))
            await self._step("walls", try_other_tenants(wood, tenants.all, self._chance, findings))
        took = time.monotonic() - began
        return self._report(tenants, calm, flooded, floods, restarted, findings, took)

    async def _phases(self, tenants: Tenants) -> tuple[list[float], list[float], int, list[float]]:
        turns, rate = self._options.turns, self._options.rate
        share = max(10, turns * 9 // 25)  # 36 % each, 8 % in the restart, the rest floods
        await self._step("warm up", tenants.steady(max(10, turns // 50), rate))
        calm = await self._step("calm", tenants.steady(share, rate))
        done = asyncio.Event()
        before = tenants.turns
        enough_floods = turns // 5
        flood = asyncio.create_task(
            tenants.flooding(
                lambda: done.is_set() and tenants.turns - before >= share + enough_floods
            )
        )
        flooded = await self._step("flood", tenants.steady(share, rate))
        done.set()
        floods = await self._step("end of the flood", flood)
        restarting = asyncio.create_task(self._restart())
        left = max(10, turns - 2 * share - floods)
        restarted = await self._step("restart", tenants.steady(min(left, turns // 10), rate))
        await restarting
        return calm, flooded, floods, restarted

    async def _restart(self) -> None:
        await asyncio.sleep(2.0)
        await asyncio.to_thread(self._server.stop)
        await asyncio.sleep(2.0)
        self._server.start()  # in this thread: Linux stops it when its parent thread ends

    async def _watch(self, wood: Sapwood) -> None:
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

    def _report(
        self,
        tenants: Tenants,
        calm: list[float],
        flooded: list[float],
        floods: int,
        restarted: list[float],
        findings: Findings,
        took: float,
    ) -> int:
        for sentence in findings.sentences[:20]:
            print(sentence, file=sys.stderr)
        quiet, loud = percentile(calm, 0.95), percentile(flooded, 0.95)
        ratio = loud / quiet if quiet else 0.0
        options = self._options
        print(
            f"p50/p95 of quiet tenants: {percentile(calm, 0.5):.2f}/{quiet:.2f} s, "
            f"with the flood {percentile(flooded, 0.5):.2f}/{loud:.2f} s, "
            f"with the restart {percentile(restarted, 0.5):.2f}/{percentile(restarted, 0.95):.2f} s"
        )
        print(
            f"service: {options.engine}, {options.workers} workers, {options.tenants} tenants, "
            f"{options.conversations} conversations, {tenants.turns} turns ({floods} of the "
            f"flood), {self._workers.kills} kills, 1 restart: {findings.lost} lost, "
            f"{findings.doubled} doubled, {findings.seen} seen by another tenant in "
            f"{findings.attempts} attempts, {findings.repeated_calls} model calls sent again, "
            f"p95 with the flood {ratio:.2f} times as long (at most {_SLOWER:g}), at most "
            f"{max(self._connections, default=0)} connections, {took:.0f} s"
        )
        return int(bool(findings.faults) or ratio > _SLOWER)


@contextmanager
def _config(engine: str) -> Generator[str]:
    """The configuration of the engine, with a server if it needs one."""
    if engine == "dbos":
        yield ""
        return
    with address_or_throwaway() as address:
        queue = f"service-{secrets.token_hex(6)}"
        table = f'[temporal]\naddress = "{address}"\ntask_queue = "{queue}"\n'
        yield f'engine = "{engine}"\n{table}'


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
