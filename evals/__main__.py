"""`python -m evals NAME` runs one eval, `python -m evals all` runs all of them."""

import sys
from importlib import import_module

NAMES: tuple[str, ...] = ("ledger", "chapters", "recap", "needs", "search", "offers")


def main(argv: list[str]) -> int:
    """Runs the named eval, or all. Returns 0 if all pass, 1 if one fails, 2 for a wrong name."""
    name, *args = argv or ["--help"]
    if name != "all" and name not in NAMES:
        print(f"usage: python -m evals {'|'.join((*NAMES, 'all'))} [--misses]", file=sys.stderr)
        return 2
    failed = 0
    for each in NAMES if name == "all" else (name,):
        print(f"\n== {each}", flush=True)
        failed += bool(import_module(f"evals.{each}").main(args))
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
