"""The time that the sandbox adds to the start of a command.

The same command runs alternately with and without; the difference of the medians counts.
"""

import argparse
import statistics
import subprocess
import tempfile
import time

from bench import QUICK_SLACK
from bench.kept_figures import figure
from sapwood.workspace.confinement import Confinement
from sapwood.workspace.permissions.guarded_paths import PathGuards
from sapwood.workspace.safe_paths import ResolvedPath
from sapwood.workspace.sandbox import Sandbox, sandbox_problem

LIMIT = 100.0
COMMAND = ["/bin/sh", "-c", "true"]


def milliseconds(command: list[str]) -> float:
    """The time that a command takes."""
    started = time.perf_counter()
    subprocess.run(command, check=True)
    return (time.perf_counter() - started) * 1000


def milliseconds_in(sandbox: Confinement, folder: str) -> float:
    """The time that the same command takes in the sandbox, with all that is done around it."""
    started = time.perf_counter()
    with sandbox.confined(COMMAND, ResolvedPath(folder, folder, ".")) as confined:
        command = confined.command
        subprocess.run(command.arguments, pass_fds=command.handles, check=True)
    return (time.perf_counter() - started) * 1000


def main(argv: list[str]) -> int:
    """Prints the added time last; returns 1 if it is too long."""
    parser = argparse.ArgumentParser(prog="bench sandbox", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    options = parser.parse_args(argv)
    if problem := sandbox_problem():
        print(f"sandbox: not measured, because {problem}")
        return 0
    limit = LIMIT * QUICK_SLACK if options.quick else LIMIT
    plain: list[float] = []
    confined: list[float] = []
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as state:
        subprocess.run(["git", "init", "--quiet", folder], check=True)
        sandbox = Confinement(Sandbox(state=state), PathGuards())
        for _ in range(10 if options.quick else 50):
            plain.append(milliseconds(COMMAND))
            confined.append(milliseconds_in(sandbox, folder))
    before, after = statistics.median(plain), statistics.median(confined)
    verdict = "ok" if after - before <= limit else "TOO SLOW"
    print(f"  a command takes {before:.1f} ms without and {after:.1f} ms with the sandbox")
    figure("sandbox: times the command alone", after / before)
    print(f"sandbox: {after - before:.1f} ms added to a command (limit {limit:.0f}) {verdict}")
    return int(after - before > limit)
