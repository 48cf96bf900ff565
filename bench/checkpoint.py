"""The time of a checkpoint, beside `git status`, in a repository of ten thousand files.

Both check every file. They run alternately; the ratio of the medians counts. The output also shows
the first checkpoint, which reads every file, and a revert.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from bench import QUICK_SLACK
from sapwood.core.checkpoint import Restored, Saved
from sapwood.core.ids import AgentId
from sapwood.core.settings import Workspace
from sapwood.workspace.checkpoints.git_checkpoints import GitCheckpoints

FILES = 10_000
LIMIT = 5.0
AGENT = AgentId("bench")


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


async def checkpoint(top: Path) -> tuple[Saved, float]:
    """Makes a checkpoint; returns it and the milliseconds it took."""
    started = time.perf_counter()
    saved = await GitCheckpoints().save(Workspace(str(top)), AGENT)
    elapsed = (time.perf_counter() - started) * 1000
    assert isinstance(saved, Saved), saved
    return saved, elapsed


def status(top: Path) -> float:
    """The milliseconds that `git status` takes."""
    started = time.perf_counter()
    git(top, "status", "--porcelain")
    return (time.perf_counter() - started) * 1000


async def measure(top: Path, files: int, rounds: int) -> float:
    """Prints the times and returns the ratio."""
    build(top, files)
    first, first_took = await checkpoint(top)
    present = first
    looks: list[float] = []
    unchanged: list[float] = []
    changed: list[float] = []
    for number in range(rounds):
        looks.append(status(top))
        unchanged.append((await checkpoint(top))[1])
        (top / "part0" / "folder0" / f"file{number}.py").write_text(f"changed = {number}\n")
        (top / "part0" / f"new{number}.py").write_text("new = True\n")
        looks.append(status(top))
        present, took = await checkpoint(top)
        changed.append(took)
    started = time.perf_counter()
    restored = await GitCheckpoints().restore(Workspace(str(top)), present, first)
    restoring = (time.perf_counter() - started) * 1000
    assert isinstance(restored, Restored), restored
    base = statistics.median(looks)
    print(f"  {files:,} files, medians of {rounds}: git status {base:.0f} ms,")
    print(f"  a checkpoint {statistics.median(changed):.0f} ms with two files changed,")
    print(f"  {statistics.median(unchanged):.0f} ms with none; the first one {first_took:.0f} ms;")
    print(f"  {restored.written + restored.removed} files restored in {restoring:.0f} ms")
    return statistics.median(changed) / base


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
    verdict = "ok" if ratio <= limit else "TOO DEAR"
    print(f"checkpoint: {ratio:.1f} x git status (limit {limit:.1f}) {verdict}")
    return int(ratio > limit)
