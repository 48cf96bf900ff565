"""The long checks, one after the other: `just night`, or `just night attack e2e` for some of them.

Each recipe prints one line: whether it passed, its name, its time, and its last line of output. The
whole output of each is in `dist/night/`. The exit code is 1 if one failed; the others still run.
"""

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

RECIPES: tuple[tuple[str, ...], ...] = (
    ("test-night",),
    ("attack",),
    ("attack-commands",),
    ("attack-web",),
    ("tui-tmux",),
    ("first-minute",),
    ("agents-e2e",),
    ("providers-e2e",),
    ("versions",),
    ("beside-e2e",),
    ("codex-traps",),
    ("opencode-e2e",),
    ("claude-traps",),
    ("web-scene",),
    ("integrations",),
    ("protocols",),
    ("contract",),
    ("deploy-check",),
    ("sizes",),
    ("rolling-restart",),
    ("incidents",),
    ("e2e",),
    ("prove",),
    ("prove-gate",),
    ("prove-revert",),
    ("prove-erase",),
    ("crash",),
    ("crash-runtime", "--engine", "all"),
    ("crash-stream",),
    ("crash-screen",),
    ("crash-providers",),
    ("service",),
    ("cells",),
    ("fuzz-tools",),
    ("fuzz-sources",),
    ("eval", "ledger"),
    ("eval", "chapters"),
    ("eval", "recap"),
    ("eval", "needs"),
    ("eval", "search"),
    ("bench", "all"),
)
LOGS = Path("dist/night")


class Outcome(NamedTuple):
    """The result of one recipe."""

    name: str
    passed: bool
    seconds: float
    last_line: str

    def __str__(self) -> str:
        verdict = "ok    " if self.passed else "FAILED"
        minutes, seconds = divmod(round(self.seconds), 60)
        return f"{verdict} {self.name:24} {minutes:3}:{seconds:02}  {self.last_line}"


def run(recipe: Sequence[str]) -> Outcome:
    """Runs one recipe of the justfile and keeps its output."""
    name = " ".join(recipe)
    log = LOGS / f"{'-'.join(recipe).replace('--', '')}.log"
    start = time.monotonic()
    with log.open("wb") as output:
        code = subprocess.run(
            ["just", *recipe], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        ).returncode
    lines = log.read_text(errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "(no output)")
    return Outcome(name, code == 0, time.monotonic() - start, last[:120])


def main(argv: Sequence[str]) -> int:
    """Runs the named recipes, or all; returns 1 if one failed, 2 for an unknown name."""
    chosen = [each for each in RECIPES if not argv or each[0] in argv]
    if unknown := set(argv) - {each[0] for each in RECIPES}:
        print(f"not in `just night`: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    LOGS.mkdir(parents=True, exist_ok=True)
    failed = 0
    for recipe in chosen:
        outcome = run(recipe)
        failed += not outcome.passed
        print(outcome, flush=True)
    print(f"night: {len(chosen) - failed} passed, {failed} failed; output in {LOGS}/")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
