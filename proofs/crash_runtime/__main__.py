"""The command line of the proof; its last line has the figures."""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from proofs.crash_runtime.check import Findings
from proofs.crash_runtime.engines import engine_setup
from proofs.crash_runtime.proof import Plan, prove
from tools.postgres import dsn_or_throwaway

RUNS = (
    ("worker", "postgres", 3, 5.0),
    ("worker", "sqlite", 1, 2.0),
    ("temporal", "postgres", 3, 8.0),
    ("local", "sqlite", 3, 5.0),
    ("local", "postgres", 3, 5.0),
    ("mixed", "sqlite", 3, 5.0),
    ("mixed", "postgres", 3, 5.0),
)
"""The engine, the database of the log, how many workers, and the longest life of one in seconds."""


def main(arguments: list[str]) -> int:
    """Runs the proof and returns 1 if anything was lost, repeated, doubled or left open."""
    options = _options(arguments)
    print(f"seed {options.seed}")
    results: list[str] = []
    faults = 0
    for engine, database, workers, longest in RUNS:
        if options.engine not in (engine, "all") or options.database not in (database, "both"):
            continue
        name = f"{engine} on {database}"
        workers = options.workers if options.workers and workers > 1 else workers
        plan = Plan(options.agents, workers, options.kills, longest, options.seed)
        began = time.monotonic()
        findings = _proved(engine, database, plan)
        for sentence in findings.sentences:
            print(f"{name}: {sentence}", file=sys.stderr)
        took = time.monotonic() - began
        faults += findings.faults
        results.append(
            f"{name}: {options.kills} kills of {workers} workers,"
            f" {options.agents} agents, {findings}, {took:.0f} s"
        )
        print(results[-1], flush=True)
    print(f"crash-runtime: {'; '.join(results)}")
    return int(bool(faults))


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m proofs.crash_runtime", description=__doc__)
    parser.add_argument(
        "--engine", choices=("worker", "temporal", "local", "mixed", "all"), default="all"
    )
    parser.add_argument("--kills", type=int, default=50, help="in each run")
    parser.add_argument("--agents", type=int, default=20)
    parser.add_argument("--workers", type=int, help="at once, where there are several")
    parser.add_argument("--database", choices=("postgres", "sqlite", "both"), default="both")
    parser.add_argument("--seed", type=int, default=time.time_ns(), help="to repeat the chances")
    return parser.parse_args(arguments)


def _proved(engine: str, database: str, plan: Plan) -> Findings:
    with (
        tempfile.TemporaryDirectory(prefix="sapwood-crash-") as name,
        _address(database, Path(name)) as address,
        engine_setup(engine) as setup,
    ):

        def report(line: str) -> None:
            print(f"{engine} on {database}: {line}", flush=True)

        return asyncio.run(prove(address, plan, Path(name), report, setup))


@contextmanager
def _address(database: str, folder: Path) -> Generator[str]:
    if database == "postgres":
        with dsn_or_throwaway() as dsn:
            yield dsn
    else:
        yield str(folder / "log.db")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
