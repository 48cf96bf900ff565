"""The command line of the proof; its last line is the figure."""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from proofs.crash.writer_killer import WriterKiller
from tools.postgres import dsn_or_throwaway

BACKENDS = ("sqlite", "postgres")


def main(arguments: list[str]) -> int:
    """Runs the proof and returns 1 if anything was lost, doubled or otherwise wrong."""
    parser = argparse.ArgumentParser(prog="python -m proofs.crash", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="on each database")
    parser.add_argument("--backend", choices=(*BACKENDS, "both"), default="both")
    parser.add_argument("--seed", type=int, default=time.time_ns(), help="to repeat a run")
    options = parser.parse_args(arguments)
    print(f"seed {options.seed}")
    kills = commits = lost = doubled = gaps = other = 0
    for backend in BACKENDS if options.backend == "both" else (options.backend,):
        with _address(backend) as address, tempfile.TemporaryDirectory() as folder:
            killer = WriterKiller(address, Path(folder, "diary"), random.Random(options.seed))
            findings = killer.run(
                options.kills, 50, lambda line, name=backend: print(f"{name}: {line}", flush=True)
            )
        for sentence in findings.sentences:
            print(f"{backend}: {sentence}", file=sys.stderr)
        kills += killer.kills
        commits += len(killer.acknowledged)
        lost, doubled = lost + findings.lost, doubled + findings.doubled
        gaps, other = gaps + findings.gaps, other + findings.other
    print(
        f"crash: {kills} kills, {commits:,} acknowledged commits,"
        f" {lost} lost, {doubled} doubled, {gaps} gaps" + (f", {other} other" if other else "")
    )
    return int(bool(lost or doubled or gaps or other or not commits))


@contextmanager
def _address(backend: str) -> Generator[str]:
    if backend == "postgres":
        with dsn_or_throwaway() as dsn:
            yield dsn
    else:
        with tempfile.TemporaryDirectory(prefix="sapwood-crash-") as folder:
            yield str(Path(folder, "log.db"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
