"""Processor time of one letter after an `@`, in a repository of 100,000 files.

`just bench files` writes the files, lists them as the screen does, and types several searches
letter by letter. It prints the time of the first list, and of the slowest letter of each search,
the best of three. On a slow machine the limit is higher by the factor that it prints.
"""

import asyncio
import random
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import QUICK_CPU_SLACK
from bench.machine_speed import python_start_ms, slowness_by
from sapwood.conversation.completion import KnownNames
from sapwood.conversation.mentions import WorkspaceFiles, mention_choices

_LIMIT = 0.050
"""Seconds of CPU for one letter."""
_FILES = 100_000
_PER_FOLDER = 100
_ROUNDS = 3
_WORDS = (
    "account archive billing bridge cache client codec config context cursor dialog export filter "
    "handler import index invoice layout ledger loader market merge model notice order parser "
    "policy queue refund render report router schema search session shipment signal stream token "
    "upload vendor widget window worker"
).split()
_TYPED = ("refund_parser", "rfndprs", "src/order/", "srcordinv", "aeiou", "wdgt", "zzz", "9.py")


def main(argv: list[str]) -> int:
    """Prints the figures. Returns 1 if a letter takes too long."""
    quick = "--quick" in argv
    count = _FILES // 10 if quick else _FILES
    slowness = slowness_by([python_start_ms() for _ in range(_ROUNDS)])
    print(f"machine: {slowness:.2f} times slower than the one that the limits were set for")
    with TemporaryDirectory() as folder:
        _write_files(Path(folder), count)
        listed = WorkspaceFiles()
        began = time.process_time()
        asyncio.run(listed.refresh(folder))
        took = time.process_time() - began
        print(f"first list of {len(listed.files.paths):,} files: {took:.2f} s of CPU")
        assert len(listed.files.paths) == count
    slowest = 0.0
    for typed in _TYPED:
        worst = max(_best(typed[:end], listed) for end in range(len(typed) + 1))
        slowest = max(slowest, worst)
        print(f"@{typed:14} {worst * 1000:5.1f} ms of CPU for its slowest letter")
    limit = _LIMIT * slowness * (QUICK_CPU_SLACK * count / _FILES if quick else 1)
    print(f"files: {slowest * 1000:.1f} ms of CPU for a letter, at most {limit * 1000:.0f} ms")
    return int(slowest > limit)


def _write_files(folder: Path, count: int) -> None:
    chance = random.Random(7)
    written = 0
    while written < count:
        names = [chance.choice(_WORDS) for _ in range(chance.randint(1, 5))]
        below = folder.joinpath("src", *names, str(written))
        below.mkdir(parents=True)
        for number in range(min(_PER_FOLDER, count - written)):
            name = f"{chance.choice(_WORDS)}_{chance.choice(_WORDS)}_{number}.py"
            (below / name).touch()
        written += _PER_FOLDER


def _best(typed: str, listed: WorkspaceFiles) -> float:
    times: list[float] = []
    for _ in range(_ROUNDS):
        began = time.process_time()
        mention_choices(f"@{typed}", KnownNames(), listed)
        times.append(time.process_time() - began)
    return min(times)
