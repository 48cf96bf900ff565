"""How much CPU time `sapwood report` takes for 1 GB of transcripts.

The transcripts are generated: some sessions are compacted and some are not, half of the bytes are
of Claude Code and half of Codex. A few different files are linked several times, so that writing
them does not take longer than reading. The processes of the report are counted together, and the
same bytes are decoded with msgspec and with json for comparison.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from bench import QUICK_CPU_SLACK
from bench.kept_figures import figure
from bench.transcripts import write_claude, write_codex

LIMIT = 20.0
"""Seconds of CPU time for 1 GB."""
_FILE = 12_500_000
_COMPACT_EVERY = (0, 15, 40, 0, 25)


def write_home(home: Path, size: int) -> list[Path]:
    """Writes sessions of both programs of about this many bytes in all. Returns all files."""
    distinct = max(1, min(len(_COMPACT_EVERY), size // (2 * _FILE)))
    links = max(1, size // (2 * _FILE * distinct))
    claude = home / ".claude" / "projects" / "-srv-wood"
    codex = home / ".codex" / "sessions" / "2026" / "11" / "14"
    made: list[Path] = []
    for folder in (claude, codex):
        folder.mkdir(parents=True)
    for number in range(distinct):
        every, each = _COMPACT_EVERY[number], min(_FILE, size // 2)
        one = claude / f"{_id(number, 0)}.jsonl"
        write_claude(one, each, seed=number, compact_every=every)
        other = codex / f"rollout-2026-11-14T12-00-00-{_id(number, 0)}.jsonl"
        write_codex(other, each, seed=number, compact_every=every)
        for link in range(links):
            for path in (one, other):
                linked = path.with_name(path.name.replace(_id(number, 0), _id(number, link)))
                if link:
                    os.link(path, linked)
                made.append(linked)
    return made


def _id(number: int, link: int) -> str:
    return f"{number:04x}{link:04x}-0000-7000-8000-{number:06x}{link:06x}"


def cpu_of_decoding(paths: list[Path], decode: Callable[[bytes], object]) -> float:
    """Seconds of CPU time for decoding every row."""
    started = time.process_time()
    for path in paths:
        with path.open("rb") as file:
            for row in file:
                decode(row)
    return time.process_time() - started


def cpu_of_report(home: Path) -> tuple[float, float, dict[str, int]]:
    """Seconds of CPU time of the report with all its processes, by the clock, and its totals."""
    environ = {**os.environ, "HOME": str(home), "CODEX_HOME": str(home / ".codex")}
    environ |= {"CLAUDE_CONFIG_DIR": str(home / ".claude"), "SAPWOOD_HOME": str(home / "data")}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "sapwood.cli", "report", "--json"],
        env=environ,
        cwd=home,
        capture_output=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, time.perf_counter() - started, json.loads(done.stdout)["totals"]


def main(argv: list[str]) -> int:
    """Prints the seconds for 1 GB; returns 1 if they exceed the limit."""
    parser = argparse.ArgumentParser(prog="python -m bench report", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small, with slack, for every check")
    parser.add_argument("--megabytes", type=int, default=1_000)
    args = parser.parse_args(argv)
    size = (50 if args.quick else args.megabytes) * 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        paths = write_home(home, size)
        size = sum(path.stat().st_size for path in paths)
        gigabytes = size / 1e9
        used, clock, totals = cpu_of_report(home)
        typed = cpu_of_decoding(paths, msgspec.json.decode)
        plain = cpu_of_decoding(paths, json.loads)
    print(f"{len(paths)} sessions, {size / 1e6:.0f} MB: {totals}")
    print(f"decoding the same rows: msgspec {typed / gigabytes:.1f} s/GB, ", end="")
    print(f"json {plain / gigabytes:.1f} s/GB; {clock:.1f} s by the clock")
    if not args.quick:
        figure("report CPU / decoding with msgspec", used / typed)
    each = used / gigabytes
    limit = LIMIT * (QUICK_CPU_SLACK if args.quick else 1)
    print(f"report: {each:.1f} s of CPU for 1 GB, {used / typed:.2f} times msgspec ", end="")
    print(f"and {used / plain:.2f} times json (limit {limit:.0f} s)")
    return int(each > limit)
