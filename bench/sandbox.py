"""The time that the sandbox adds to the start of a command.

The same command runs alternately with and without; the difference of the medians counts.
"""

import argparse
import statistics
import subprocess
import tempfile
import time

from bench import QUICK_SLACK
from sapwood.workspace.sandbox import Sandbox, sandbox_problem

LIMIT = 100.0
COMMAND = ["/bin/sh", "-c", "true"]


def milliseconds(command: list[str]) -> float:
    """The time that a command takes."""
    started = time.perf_counter()
    subprocess.run(command, check=True)
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
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(10 if options.quick else 50):
            plain.append(milliseconds(COMMAND))
            confined.append(milliseconds(Sandbox().command(COMMAND, folder, folder)))
    before, after = statistics.median(plain), statistics.median(confined)
    verdict = "ok" if after - before <= limit else "TOO SLOW"
    print(f"  a command takes {before:.1f} ms without and {after:.1f} ms with the sandbox")
    print(f"sandbox: {after - before:.1f} ms added to a command (limit {limit:.0f}) {verdict}")
    return int(after - before > limit)
