"""Fork, append and load of a 10,000-message conversation, beside the stores of other frameworks.

All store the same messages in an SQLite file on the same disk. Loading starts with a closed
database and ends with every message in memory. A fork must cost at most three appends and
`MAX_BYTES`. Where another framework is better, its row is named, and the cost of an append is shown
part by part: docs/benchmarks/peers.md says what for. Bytes on disk are shown too; ours include a
full-text index.
"""

import argparse
import asyncio
import sqlite3
import statistics
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import sapwood
from bench import QUICK_CLOCK_SLACK
from bench.append_parts import measure_parts
from bench.kept_figures import figure
from bench.peers import PEERS, PeerFigures, measure_peers
from bench.peers.conversation import Message, conversation, turns

FORKS = 500
"""So many that whole pages of the database do not blur the bytes of one."""
LOADS = 3
LAST_TURNS = 100
MAX_APPENDS = 3.0
MAX_BYTES = 850


async def measure_sapwood(messages: int) -> PeerFigures:
    """Measures Sapwood."""
    stored = conversation(messages)
    with tempfile.TemporaryDirectory(prefix="sapwood-") as folder:
        file = Path(folder) / "conversation.db"
        appends = await _append(file, stored)
        before = settled_bytes(file)
        loads = [await _load(file, stored) for _ in range(LOADS)]
        forks = await _fork(file, stored)
        grown = settled_bytes(file) - before
    return PeerFigures(
        name="Sapwood",
        version="",
        messages=messages,
        append_p50_ms=statistics.median(appends),
        append_last_p50_ms=statistics.median(appends[-LAST_TURNS:]),
        load_ms=statistics.median(loads),
        fork_ms=statistics.median(forks),
        fork_bytes=grown // FORKS,
        disk_bytes=before,
        durability="WAL, FULL",
        remark="a fork refers to its parent's turns",
    )


def settled_bytes(file: Path) -> int:
    """The size of the database after a checkpoint of its write-ahead log."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return sum(part.stat().st_size for part in file.parent.glob(f"{file.name}*"))


async def _append(file: Path, stored: list[Message]) -> list[float]:
    times: list[float] = []
    async with sapwood.open(file) as db:
        agent = await db.start("main", cap=0)
        for prompt, reply in turns(stored):
            started = time.perf_counter_ns()
            await agent.record(prompt.text, reply.text)
            times.append((time.perf_counter_ns() - started) / 1e6)
    return times


async def _load(file: Path, stored: list[Message]) -> float:
    started = time.perf_counter_ns()
    async with sapwood.open(file) as db:
        agent = await db.find("main")
        live = (await agent.opened()).live
        elapsed = (time.perf_counter_ns() - started) / 1e6
    if [text for turn in live.turns for text in turn.texts()] != [each.text for each in stored]:
        raise RuntimeError("the loaded messages differ from the stored ones")
    return elapsed


async def _fork(file: Path, stored: list[Message]) -> list[float]:
    times: list[float] = []
    async with sapwood.open(file) as db:
        agent = await db.find("main")
        child = await agent.fork()
        for _ in range(FORKS - 1):
            started = time.perf_counter_ns()
            child = await agent.fork()
            times.append((time.perf_counter_ns() - started) / 1e6)
        if len((await child.request()).messages) != len(stored):
            raise RuntimeError("the fork does not hold the conversation")
    return times


ROWS = ("append_p50_ms", "append_last_p50_ms", "load_ms", "fork_ms", "fork_bytes")


def _print(rows: list[PeerFigures]) -> None:
    print(
        f"{'store':<44} {'messages':>8} {'append':>9} {'at the end':>10} {'load':>9} "
        f"{'fork':>9} {'fork grows':>11} {'on disk':>9}"
    )
    for row in rows:
        print(
            f"{f'{row.name} {row.version}':<44} {row.messages:>8,} {row.append_p50_ms:>6.2f} ms "
            f"{row.append_last_p50_ms:>7.2f} ms {row.load_ms:>6.0f} ms {row.fork_ms:>6.2f} ms "
            f"{row.fork_bytes / 1e3:>8.1f} kB {row.disk_bytes / 1e6:>6.1f} MB"
        )
    for row in rows:
        print(f"  {row.name}: {row.durability}; {row.remark}")


def main(argv: list[str]) -> int:
    """Prints the table; returns 1 if a fork costs too much."""
    parser = argparse.ArgumentParser(prog="python -m bench fork", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1,000 messages, without the peers")
    parser.add_argument("--peer", choices=PEERS, action="append", help="compare with this one only")
    options = parser.parse_args(argv)
    messages = 1_000 if options.quick else 10_000
    max_appends = MAX_APPENDS * QUICK_CLOCK_SLACK if options.quick else MAX_APPENDS
    ours = asyncio.run(measure_sapwood(messages))
    peers = [] if options.quick else measure_peers(messages, options.peer or PEERS)
    _print([ours, *peers])
    behind = [
        f"{row} ({peer.name})"
        for row in ROWS
        for peer in peers
        if getattr(ours, row) > getattr(peer, row)
    ]
    appends = ours.fork_ms / ours.append_last_p50_ms
    figure("fork: appends", appends)
    figure("fork: bytes", ours.fork_bytes)
    fits = appends <= max_appends and ours.fork_bytes <= MAX_BYTES
    for row in behind:
        print(f"behind on {row}", file=sys.stderr)
    pairs = len(ROWS) * len(peers)
    compared = f"better in {pairs - len(behind)} of {pairs} figures" if peers else "not compared"
    print(asyncio.run(measure_parts(list(turns(conversation(messages))))))
    print(
        f"fork: {appends:.2f} appends (limit {max_appends}), {ours.fork_bytes:,} bytes "
        f"(limit {MAX_BYTES:,}); peers: {compared}"
    )
    return 0 if fits else 1
