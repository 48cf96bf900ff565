"""The long checks, one after the other: `just night`, or `just night attack e2e` for some of them.

Each recipe prints one line: whether it passed, its name, its time, and its last line of output. The
whole output of each is in `dist/night/`. The exit code is 1 if one failed; the others still run.

What passed is kept in `proofs/passed.json`, with the time it took and a hash of all tracked files.
`just night --continue` runs only the recipes that have not passed with these files yet, so a night
can be finished another day, or on another machine if the file is committed. What passed with other
files does not count, and with uncommitted changes nothing is kept.

`just night --at-once 2` runs two recipes at a time, the longest first: most of them wait more than
they compute. The ones that measure time still run alone, after the others.
"""

import argparse
import hashlib
import math
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

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
PASSED = Path("proofs/passed.json")
ALONE = {"bench", "service"}
"""These compare times, which a neighbour would change."""


class Pass(Struct, frozen=True):
    """When a recipe passed last: the hash of the files, the commit, the time, its last line."""

    files: str
    commit: str
    at: str
    seconds: int
    last_line: str


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


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout


def hash_of_files() -> str:
    """Identifies all tracked files but those that nights write; empty if one is not committed."""
    others = ("--", ".", f":!{PASSED}", ":!CHANGELOG.md")
    if _git("status", "--porcelain", "--untracked-files=no", *others):
        return ""
    return hashlib.sha256(_git("ls-files", "--stage", *others).encode()).hexdigest()[:16]


def read_passed() -> dict[str, Pass]:
    """What passed last, by recipe."""
    if not PASSED.exists():
        return {}
    return msgspec.json.decode(PASSED.read_bytes(), type=dict[str, Pass])


def keep(outcome: Outcome, files: str) -> None:
    """Writes a recipe that passed with these files; one that failed with them has not passed."""
    kept = read_passed()
    if outcome.passed:
        commit, now = _git("rev-parse", "--short", "HEAD").strip(), datetime.now(UTC)
        kept[outcome.name] = Pass(
            files, commit, f"{now:%Y-%m-%d %H:%M}", round(outcome.seconds), outcome.last_line
        )
    elif outcome.name in kept and kept[outcome.name].files == files:
        del kept[outcome.name]
    encoded = msgspec.json.encode(dict(sorted(kept.items())))
    PASSED.write_bytes(msgspec.json.format(encoded, indent=2) + b"\n")


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


def _seconds(passed: Pass | None) -> float:
    """How long a recipe takes; one that never passed here may take long."""
    return passed.seconds if passed else math.inf


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
    files, passed = hash_of_files(), read_passed()
    to_run = list[tuple[str, ...]]()
    for each in sorted(chosen, key=lambda each: -_seconds(passed.get(" ".join(each)))):
        name = " ".join(each)
        earlier = passed.get(name) if options.go_on else None
        if earlier is not None and earlier.files == files:
            done = Outcome(name, True, earlier.seconds, earlier.last_line)
            print(f"{done}  ({earlier.at}, {earlier.commit})", flush=True)
        else:
            to_run.append(each)
    failed = 0
    for outcome in outcomes(to_run, options.at_once):
        failed += not outcome.passed
        print(outcome, flush=True)
        if files and files == hash_of_files():
            keep(outcome, files)
    print(f"night: {len(chosen) - failed} passed, {failed} failed; output in {LOGS}/")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
