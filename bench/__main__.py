"""`python -m bench NAME [--quick]` runs one benchmark, `python -m bench all` every one."""

import sys
from importlib import import_module

NAMES: tuple[str, ...] = (
    "window",
    "tokens",
    "append",
    "open",
    "fork",
    "subscribe",
    "first_token",
    "prefix",
    "runtime",
    "hooks",
    "checkpoint",
    "import",
    "looking",
    "tui",
)
# Where a benchmark has a name that no module can have.
MODULES = {"import": "importing"}


def main(argv: list[str]) -> int:
    """Runs what is named and returns how many fell short."""
    name, *args = argv or ["--help"]
    if name != "all" and name not in NAMES:
        print(f"usage: python -m bench {'|'.join((*NAMES, 'all'))} [--quick]", file=sys.stderr)
        return 2
    short = 0
    for each in NAMES if name == "all" else (name,):
        print(f"\n== {each}", flush=True)
        short += bool(import_module(f"bench.{MODULES.get(each, each)}").main(args))
    return min(short, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
