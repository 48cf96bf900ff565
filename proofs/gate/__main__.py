"""The command line of the proof; its last line is the verdict."""

import argparse
import asyncio
import math
import os
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from proofs.gate.every_argument import give
from proofs.gate.proof import Findings, prove
from proofs.gate.values import VALUES
from tools.postgres import dsn_or_throwaway

STORES = {"memory": 0.45, "sqlite": 0.35, "postgres": 0.2}
"""The stores, each with its share of the calls: calls on a server take longest."""
_SHOWN = 20
_LANES = 8


def main(arguments: list[str]) -> int:
    """Runs the proof; returns 1 if a call raised a wrong error or something cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m proofs.gate", description=__doc__)
    parser.add_argument("--calls", type=int, default=20_000, help="in all, on the three stores")
    parser.add_argument("--store", choices=(*STORES, "all"), default="all")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10**9, help="to repeat a run")
    options = parser.parse_args(arguments)
    print(f"seed {options.seed}")
    stores = STORES if options.store == "all" else {options.store: 1.0}
    calls = problems = 0
    with tempfile.TemporaryDirectory() as home:
        os.environ["SAPWOOD_DATA"] = home
        os.environ["SAPWOOD_CONFIG"] = str(Path(home, "config.toml"))
        if "memory" in stores:
            calls, found = asyncio.run(give(VALUES))
            problems = len(found)
            for problem in found[:_SHOWN]:
                print(problem, file=sys.stderr)
            print(f"every argument: {calls:,} calls", flush=True)
        for store, share in stores.items():
            with _address(store) as address:
                began = time.monotonic()
                findings = asyncio.run(
                    prove(address, _some(options.calls, share), options.seed, _LANES)
                )
            _show(store, findings, time.monotonic() - began)
            calls += findings.calls
            problems += len(findings.problems)
    verdict = "holds" if not problems else "FAILS"
    print(f"gate: {calls:,} calls on {', '.join(stores)}, {problems} problems: {verdict}")
    return 1 if problems else 0


def _some(calls: int, share: float) -> int:
    return math.ceil(calls * share)


def _show(store: str, findings: Findings, seconds: float) -> None:
    # One of each sort: many calls may stumble over the same stone.
    sorts = {problem.partition("\n")[2] or problem: problem for problem in findings.problems}
    for problem in list(sorts.values())[:_SHOWN]:
        print(f"{store}: {problem}", file=sys.stderr)
    print(
        f"{store}: {findings.accepted:,} calls done, {findings.refused:,} refused; "
        f"{findings.events:,} events of {findings.agents:,} agents read back, "
        f"{findings.replayed:,} calls replayed; {seconds:.0f} s",
        flush=True,
    )


@contextmanager
def _address(store: str) -> Generator[str]:
    if store == "memory":
        yield ":memory:"
    elif store == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            yield str(Path(folder, "log.db"))
    else:
        with dsn_or_throwaway() as dsn:
            yield dsn


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
