"""The time of a checkpoint, beside `git status`, in a repository of ten thousand files.

Both check every file. They run alternately; the ratio of the medians of their processor time
counts: a slow disk delays what a checkpoint writes, and `git status` writes nothing. The output
also shows the times by the clock, the first checkpoint, which reads every file, and a revert.
"""

import argparse
import asyncio
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench import QUICK_SLACK
from bench.kept_figures import figure
from sapwood.core.checkpoint import Restored, Saved
from sapwood.core.ids import AgentId
from sapwood.core.settings import Workspace
from sapwood.workspace.checkpoints.git_checkpoints import GitCheckpoints

FILES = 10_000
LIMIT = 5.0
AGENT = AgentId("bench")


class Took(NamedTuple):
    """The milliseconds that something took, by the clock and of processors."""

    clock: float
    cpu: float


@contextmanager
def timed(times: list[Took]) -> Generator[None]:
    """Appends the time that the block takes, with that of the processes it runs."""
    clock, cpu = time.perf_counter(), _processor_time()
    yield
    times.append(Took((time.perf_counter() - clock) * 1000, (_processor_time() - cpu) * 1000))


def _processor_time() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in usages)


def words(times: list[Took]) -> str:
    """The medians of these times."""
    return f"{median(each.clock for each in times):.0f} ms ({median_cpu(times):.0f} ms of CPU)"


def median_cpu(times: list[Took]) -> float:
    """The median of the processor time."""
    return median(each.cpu for each in times)


def git(top: Path, *arguments: str) -> None:
    """Runs git."""
    quiet = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "gc.auto=0")
    subprocess.run(["git", *quiet, *arguments], cwd=top, check=True, capture_output=True)


def build(top: Path, files: int) -> None:
    """Creates a repository with a hundred files in each folder, all committed."""
    for number in range(files):
        path = top / f"part{number // 1000}" / f"folder{number // 100}" / f"file{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {number}\n" + f"value_{number} = {number}\n" * 80)
    git(top, "init", "--quiet")
    git(top, "add", "--all")
    git(top, "commit", "--quiet", "--message=First")
    git(top, "status")


async def checkpoint(top: Path, times: list[Took]) -> Saved:
    """Makes a checkpoint and notes the time it took."""
    with timed(times):
        saved = await GitCheckpoints().save(Workspace(str(top)), AGENT)
    assert isinstance(saved, Saved), saved
    return saved


async def measure(top: Path, files: int, rounds: int) -> float:
    """Prints the times and returns the ratio."""
    build(top, files)
    firsts: list[Took] = []
    present = first = await checkpoint(top, firsts)
    looks: list[Took] = []
    unchanged: list[Took] = []
    changed: list[Took] = []
    for number in range(rounds):
        with timed(looks):
            git(top, "status", "--porcelain")
        await checkpoint(top, unchanged)
        (top / "part0" / "folder0" / f"file{number}.py").write_text(f"changed = {number}\n")
        (top / "part0" / f"new{number}.py").write_text("new = True\n")
        with timed(looks):
            git(top, "status", "--porcelain")
        present = await checkpoint(top, changed)
    reverts: list[Took] = []
    with timed(reverts):
        restored = await GitCheckpoints().restore(Workspace(str(top)), present, first)
    assert isinstance(restored, Restored), restored
    print(f"  {files:,} files, medians of {rounds}: git status {words(looks)},")
    print(f"  a checkpoint {words(changed)} with two files changed,")
    print(f"  {words(unchanged)} with none; the first one {words(firsts)};")
    print(f"  {restored.written + restored.removed} files restored in {words(reverts)}")
    return median_cpu(changed) / median_cpu(looks)


def main(argv: list[str]) -> int:
    """Prints the ratio last; returns 1 if it is too large."""
    parser = argparse.ArgumentParser(prog="bench checkpoint", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    options = parser.parse_args(argv)
    rounds = 5 if options.quick else 25
    limit = LIMIT * QUICK_SLACK if options.quick else LIMIT
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SAPWOOD_DATA"] = str(Path(folder, "data"))
        top = Path(folder, "project")
        top.mkdir()
        ratio = asyncio.run(measure(top, FILES, rounds))
    figure("checkpoint: times git status", ratio)
    verdict = "ok" if ratio <= limit else "TOO DEAR"
    print(f"checkpoint: {ratio:.1f} x the CPU time of git status (limit {limit:.1f}) {verdict}")
    return int(ratio > limit)
