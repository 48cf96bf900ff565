"""`python -m bench NAME [--quick]` runs one benchmark, `python -m bench all` runs most.

Full runs also compare their figures with those in bench/kept.json; `--keep` writes them there.
"""

import os
import sys
from importlib import import_module

from bench.kept_figures import keep, read_kept, taken, worse

NAMES: tuple[str, ...] = (
    "window",
    "tokens",
    "append",
    "open",
    "fork",
    "drops",
    "subscribe",
    "first_token",
    "door",
    "prefix",
    "stream",
    "runtime",
    "wake",
    "hooks",
    "checkpoint",
    "sandbox",
    "questions",
    "import",
    "report",
    "looking",
    "files",
    "tui",
    "mask",
    "serve",
    "web",
)
ALONE: tuple[str, ...] = (
    "sync_session",
    "probe",
    "scale",
    "search",
    "sizing",
    "bus",
    "partitions",
    "move",
)
"""Benchmarks that `all` leaves out, because they fetch programs or take long."""

MODULES = {"import": "transcript_import", "looking": "context_actions"}
"""Modules that have another name than their benchmark."""


def main(argv: list[str]) -> int:
    """Runs the named benchmark, or all. Returns 1 if one misses its limit, 2 for a wrong name."""
    name, *args = argv or ["--help"]
    if name not in (*NAMES, *ALONE, "all"):
        print(
            f"usage: python -m bench {'|'.join((*NAMES, *ALONE, 'all'))} [--quick | --keep]",
            file=sys.stderr,
        )
        return 2
    _compile_modules()
    keeps = "--keep" in args
    args = [each for each in args if each != "--keep"]
    missed: list[str] = []
    for each in NAMES if name == "all" else (name,):
        print(f"\n== {each}", flush=True)
        if import_module(f"bench.{MODULES.get(each, each)}").main(args):
            missed.append(each)
    if name == "all":
        print(f"\nbench: missed its limit: {', '.join(missed) or 'none'}", flush=True)
    if keeps:
        keep(taken())
    too_bad = [] if "--quick" in args else list(worse(taken(), read_kept()))
    for sentence in too_bad:
        print(f"bench: {sentence}", flush=True)
    return int(bool(missed or too_bad))


def _compile_modules() -> None:
    """Lets this process and those it starts write and use compiled modules, as a user's do.

    Without this, a benchmark of start-up times measures the compiler: a second for Textual.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
