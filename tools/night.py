"""The long checks, one after the other: `just night`, or `just night attack e2e` for some of them.

Each recipe prints one line: whether it passed, its name, its time, and its last line of output. The
whole output of each is in `dist/night/`. The exit code is 1 if one failed; the others still run.

`just night --continue` runs only the recipes that have not passed at this commit yet, so that a
night that was interrupted can be finished later. What passed at another commit does not count, and
with uncommitted changes nothing does.

`just night --at-once 2` runs two recipes at a time: most of them wait more than they compute. The
ones that measure time still run alone, after the others.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
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
    ("web-slow",),
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
ALONE = {"bench", "service"}
"""These compare times, which a neighbour would change."""

OUTCOMES = "outcomes.jsonl"


class Outcome(NamedTuple):
    """The result of one recipe."""

    name: str
    passed: bool
    seconds: float
    last_line: str
    commit: str = ""

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


def _commit() -> str:
    """The commit that is checked out, or an empty string if files differ from it."""
    changes = ["git", "status", "--porcelain", "--untracked-files=no"]
    if subprocess.run(changes, capture_output=True, check=True).stdout:
        return ""
    head = ["git", "rev-parse", "HEAD"]
    return subprocess.run(head, capture_output=True, text=True, check=True).stdout.strip()


def passed_at(commit: str) -> dict[str, Outcome]:
    """The recipes whose last run at a commit passed."""
    kept = LOGS / OUTCOMES
    if not commit or not kept.exists():
        return {}
    outcomes = [Outcome(*json.loads(line)) for line in kept.read_text().splitlines()]
    last = {it.name: it for it in outcomes if it.commit == commit}
    return {name: it for name, it in last.items() if it.passed}


def outcomes(chosen: Sequence[Sequence[str]], at_once: int) -> Iterator[Outcome]:
    """Runs recipes, several at a time, and those that measure time alone after them."""
    together = [each for each in chosen if each[0] not in ALONE]
    alone = [each for each in chosen if each[0] in ALONE]
    for recipes, workers in ((together, at_once), (alone, 1)):
        with ThreadPoolExecutor(workers) as pool:
            try:
                for done in as_completed([pool.submit(run, each) for each in recipes]):
                    yield done.result()
            finally:  # Ctrl-C ends what runs, and starts nothing else
                pool.shutdown(cancel_futures=True)


def main(argv: Sequence[str]) -> int:
    """Runs the named recipes, or all; returns 1 if one failed, 2 for an unknown name."""
    parser = argparse.ArgumentParser(prog="just night")
    parser.add_argument("names", nargs="*", metavar="RECIPE", help="only these")
    parser.add_argument("--continue", dest="go_on", action="store_true", help="without what passed")
    parser.add_argument("--at-once", type=int, default=1, help="how many recipes run at a time")
    options = parser.parse_args(argv)
    names = set(options.names)
    if unknown := names - {each[0] for each in RECIPES}:
        print(f"not in `just night`: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    chosen = [each for each in RECIPES if not names or each[0] in names]
    LOGS.mkdir(parents=True, exist_ok=True)
    commit = _commit()
    passed = passed_at(commit) if options.go_on else {}
    earlier = {name: passed[name] for name in map(" ".join, chosen) if name in passed}
    for outcome in earlier.values():
        print(f"{outcome}  (earlier)", flush=True)
    failed = 0
    for outcome in outcomes(
        [each for each in chosen if " ".join(each) not in earlier], options.at_once
    ):
        failed += not outcome.passed
        print(outcome, flush=True)
        kept = outcome._replace(commit=commit if commit == _commit() else "")
        with (LOGS / OUTCOMES).open("a") as file:
            file.write(f"{json.dumps(kept)}\n")
    print(f"night: {len(chosen) - failed} passed, {failed} failed; output in {LOGS}/")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
