"""What `context estimate`, `breakdown` and `drift` cost on a long session: at first, and again.

Processor time of the whole errand, reading included. The first look finds the features of every
turn and keeps them; a later one reads the transcript and finds those of new turns. What is
compared are the two, in one run.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Literal

from bench import QUICK_SLACK
from bench.transcripts import write_claude
from sapwood.app.config import Config
from sapwood.app.gardening.errand import Errand
from sapwood.app.gardening.gardener import Gardener

LIMIT = 1.8
Action = Literal["estimate", "breakdown", "drift"]
ACTIONS: tuple[Action, ...] = ("estimate", "breakdown", "drift")
_ROUNDS = 3


def cost(folder: Path, action: Action, path: Path) -> float:
    """Seconds of processor time for one errand."""
    gardener = Gardener(folder, Config(database=str(folder / "none.db")))
    used = time.process_time()
    asyncio.run(gardener.do(Errand(action, session=path.stem)))
    return time.process_time() - used


def measure(folder: Path, path: Path, rounds: int) -> dict[str, tuple[float, float]]:
    """What each errand costs with nothing known and with all known: the best of some rounds."""
    for action in ACTIONS:
        cost(folder, action, path)  # so that imports are not counted
    found: dict[str, tuple[float, float]] = {}
    for action in ACTIONS:
        first: list[float] = []
        again: list[float] = []
        for _ in range(rounds):
            for kept in (folder / "data" / "known").glob("*"):
                kept.unlink()
            first.append(cost(folder, action, path))
            again.append(cost(folder, action, path))
        found[action] = min(first), min(again)
    return found


def main(argv: list[str]) -> int:
    """Prints what each errand costs; 1 if knowing the turns does not pay."""
    parser = argparse.ArgumentParser(prog="python -m bench looking", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small, with slack, for every check")
    parser.add_argument("--megabytes", type=int, default=40)
    args = parser.parse_args(argv)
    size = (8 if args.quick else args.megabytes) * 1_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["CLAUDE_CONFIG_DIR"] = str(folder / "claude")
        os.environ["SAPWOOD_DATA"] = str(folder / "data")
        path = folder / "claude" / "projects" / "-srv-wood" / "0a1b2c3d.jsonl"
        path.parent.mkdir(parents=True)
        turns = write_claude(path, size)
        print(f"a session of {path.stat().st_size / 1e6:.0f} MB and {turns} turns", flush=True)
        costs = measure(folder, path, 2 if args.quick else _ROUNDS)
    for action, (first, again) in costs.items():
        print(f"  {action:<10} {first:.2f} s of CPU at first, {again:.2f} s again")
    ratio = costs["drift"][0] / costs["drift"][1]
    limit = LIMIT / QUICK_SLACK if args.quick else LIMIT
    print(f"looking: drift again is {ratio:.1f} times cheaper (at least {limit:.1f})")
    return int(ratio < limit)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
