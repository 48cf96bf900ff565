"""`python -m evals NAME` runs one eval, `python -m evals all` every one."""

import sys
from importlib import import_module

NAMES: tuple[str, ...] = ("ledger", "drift", "resume")


def main(argv: list[str]) -> int:
    """Runs what is named and returns whether one fell short."""
    name, *args = argv or ["--help"]
    if name != "all" and name not in NAMES:
        print(f"usage: python -m evals {'|'.join((*NAMES, 'all'))} [--misses]", file=sys.stderr)
        return 2
    short = 0
    for each in NAMES if name == "all" else (name,):
        print(f"\n== {each}", flush=True)
        short += bool(import_module(f"evals.{each}").main(args))
    return min(short, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
