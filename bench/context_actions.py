"""The cost of `sapwood context estimate`, `breakdown` and `drift` on a long session, twice.

The figure is the processor time of the whole command, reading included. The first call finds the
features of every turn and stores them. A later call reads the transcript and finds only those of
new turns. Both are compared in one run.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Literal

from bench import QUICK_CPU_SLACK, QUICK_SLACK
from bench.kept_figures import figure
from bench.transcripts import write_claude
from sapwood.app.connection import connect
from sapwood.config.config_file import Config
from sapwood.context_actions.actions import ContextActions
from sapwood.context_actions.context_request import ContextRequest

LIMIT = 1.8
FIRST_SECONDS, AGAIN_SECONDS = 6.0, 1.0
"""The most processor time of `context`, which is the breakdown, at 40 MB."""
Action = Literal["estimate", "breakdown", "drift"]
ACTIONS: tuple[Action, ...] = ("estimate", "breakdown", "drift")
_ROUNDS = 3


def cost(folder: Path, action: Action, path: Path) -> float:
    """Seconds of processor time for one action."""
    actions = ContextActions(folder, Config(database=str(folder / "none.db")), connect)
    used = time.process_time()
    asyncio.run(actions.do(ContextRequest(action, session=path.stem)))
    return time.process_time() - used


def measure(folder: Path, path: Path, rounds: int) -> dict[str, tuple[float, float]]:
    """The cost of each action without and with stored features: the best of some rounds."""
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
    """Prints the costs; returns 1 if stored features save too little."""
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
    print(f"context_actions: drift again is {ratio:.1f} times cheaper (at least {limit:.1f})")
    slack = QUICK_CPU_SLACK if args.quick else 1.0
    first, again = costs["breakdown"]
    figure("looking: times cheaper again", ratio, "more")
    is_slow = first > FIRST_SECONDS * slack or again > AGAIN_SECONDS * slack
    print(
        f"context_actions: context takes {first:.2f} s at first (at most {FIRST_SECONDS * slack}), "
        f"{again:.2f} s again (at most {AGAIN_SECONDS * slack})"
    )
    return int(ratio < limit or is_slow)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
