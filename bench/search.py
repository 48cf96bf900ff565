"""CPU time of a search in a large space, on SQLite and on PostgreSQL, and of indexing it.

The events are sentences of words whose frequencies follow Zipf's law, with a rare name in some. The
queries are questions: two common words, two of the middle and one rare, in changing order; every
fourth has common words only. The CPU time is that of this process and of the server of the
database, divided by how much slower than usual Python starts at that moment. `indexed` is the time
to index everything, divided by the events. With `--meaning` the extra is used, after all signatures
are made; without it, search looks for words alone.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from unittest.mock import patch

import asyncpg

from bench.database import own_database
from bench.machine_speed import python_start_ms, slowness_by
from sapwood import meaning
from sapwood.core.content import Text
from sapwood.core.events import HUMAN, Recorded, ReplyAdded, TurnStarted
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.log_values import AgentSummary, Append, Commit, Receipt
from sapwood.store.postgres import PostgresLog
from sapwood.store.postgres import meaning_table as postgres_table
from sapwood.store.sqlite import SqliteLog
from sapwood.store.sqlite import meaning_table as sqlite_table
from tools.postgres import dsn_or_throwaway

LIMIT_MS = 50.0
_EVENTS, _QUICK = 1_000_000, 20_000
_PER_AGENT, _AGENTS_PER_COMMIT = 500, 10
_WORDS, _EVENT_WORDS, _QUERIES = 50_000, 60, 60
_SYLLABLES = ("ba", "de", "fi", "go", "lu", "ma", "ne", "pi", "ro", "su")
_SPACE = Space("bench")
_BACKENDS = """
    SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend'
"""
_SHOWN_EVERY = 1.0
_START, _SECOND, _PATIENCE = 1_767_225_600_000_000, 1_000_000, 36_000.0


def main(argv: list[str]) -> int:
    """Prints the times of both databases. Returns 1 if a search takes too much CPU time."""
    parser = argparse.ArgumentParser(prog="bench search")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--events", type=int, default=0)
    parser.add_argument("--only", choices=("sqlite", "postgres"))
    parser.add_argument("--meaning", action="store_true")
    asked = parser.parse_args(argv)
    events = asked.events or (_QUICK if asked.quick else _EVENTS)
    slowest = 0.0
    with patch.object(meaning, "extra_installed", lambda: asked.meaning):
        if asked.only != "postgres":
            with tempfile.TemporaryDirectory(prefix="sapwood-bench-") as folder:
                slowest = asyncio.run(_sqlite(Path(folder) / "log.db", events))
        if asked.only != "sqlite":
            with dsn_or_throwaway() as dsn, own_database(dsn) as own:
                slowest = max(slowest, asyncio.run(_postgres(own, events)))
    limit = "by meaning, no limit" if asked.meaning else f"limit {LIMIT_MS:.0f}"
    print(f"p95 of a search: {slowest:.0f} ms of CPU ({limit}), {events:,} events")
    return int(slowest > LIMIT_MS and not asked.meaning)


async def _sqlite(path: Path, events: int) -> float:
    log = await SqliteLog.open(path)
    try:
        await _fill("SQLite", log, events)
        return await _measure(log, time.process_time)
    finally:
        await log.close()


async def _postgres(dsn: str, events: int) -> float:
    log = await PostgresLog.open(dsn)
    session = await asyncpg.connect(dsn)
    try:
        await _fill("PostgreSQL", log, events)
        rows = await session.fetch(_BACKENDS)
        backends = [Path(f"/proc/{row['pid']}/schedstat") for row in rows]
        return await _measure(log, lambda: time.process_time() + sum(map(_seconds, backends)))
    finally:
        await session.close()
        await log.close()


def _seconds(schedstat: Path) -> float:
    """How long a process of the server was on a CPU; 0 if it has ended."""
    try:
        return int(schedstat.read_text().split()[0]) / 1e9
    except OSError:
        return 0.0


async def _fill(name: str, log: SqliteLog | PostgresLog, events: int) -> None:
    """Writes the events and waits until all are in the index."""
    began = time.perf_counter()
    for done, commit in enumerate(_commits(events), start=1):
        await log.commit(_SPACE, commit)
        _show(f"{name}: {min(done * _PER_AGENT * _AGENTS_PER_COMMIT, events):,} events written")
    written = time.perf_counter() - began
    indexing = asyncio.create_task(_index(log))
    while not (await asyncio.wait([indexing], timeout=_SHOWN_EVERY))[0]:
        seconds = time.perf_counter() - began - written
        _show(f"{name}: {events:,} events written, indexing since {seconds:.0f} s")
    await indexing
    for wanted in ("event0", f"event{events - 1}"):
        if len(await log.search(_SPACE, f'"{wanted}"')) != 1:
            raise RuntimeError(f"{wanted} was not found")
    indexed = time.perf_counter() - began - written
    each = [f"{seconds / events * 1e6:.0f} µs" for seconds in (written, indexed)]
    print(f"{name}: an event was written in {each[0]}, then indexed in {each[1]}", flush=True)


async def _index(log: SqliteLog | PostgresLog) -> None:
    """Indexes everything: a search alone would leave a part to the background."""
    if isinstance(log, PostgresLog):
        await log._indexer.catch_up(_SPACE, _PATIENCE)  # pyright: ignore[reportPrivateUsage]
    else:
        await log._indexer.catch_up()  # pyright: ignore[reportPrivateUsage]


async def _sign(log: SqliteLog | PostgresLog) -> None:
    """Makes all signatures, which searches would do, two seconds each."""
    began, cpu = time.perf_counter(), time.process_time()
    table = sqlite_table if isinstance(log, SqliteLog) else postgres_table
    with patch.object(table, "SIGN_SECONDS", _PATIENCE):
        await log.search(_SPACE, _word(1))
    seconds = time.perf_counter() - began
    print(
        f"    signatures in {seconds:.0f} s, {time.process_time() - cpu:.0f} s of CPU", flush=True
    )


def _show(progress: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{progress}", end="\033[K\r", file=sys.stderr, flush=True)


async def _measure(log: SqliteLog | PostgresLog, cpu: Callable[[], float]) -> float:
    if meaning.extra_installed():
        await _sign(log)
    times: list[float] = []
    starts: list[float] = []
    for query in _queries():
        starts.append(python_start_ms())
        before = cpu()
        await log.search(_SPACE, query)
        times.append((cpu() - before) * 1_000)
    slowness = slowness_by(starts)
    times = sorted(each / slowness for each in times)
    p95 = times[len(times) * 95 // 100]
    print(
        f"    p50 {times[len(times) // 2]:.1f} ms, p95 {p95:.1f} ms of CPU,"
        f" on a machine {slowness:.1f} times slower than usual",
        flush=True,
    )
    return p95


def _word(rank: int) -> str:
    """The word of a rank. No word is the beginning of another one."""
    digits = f"{rank:05}"[::-1]
    return "".join(_SYLLABLES[int(digit)] for digit in digits) + "k"


def _any_words(chance: random.Random, known: Sequence[str]) -> str:
    """Words by Zipf's law: the rank of a word is its frequency turned upside down."""
    return " ".join([known[int(_WORDS ** chance.random())] for _ in range(_EVENT_WORDS)])


def _commits(events: int) -> Iterator[Commit]:
    chance = random.Random(1)
    known = [_word(rank) for rank in range(_WORDS)]
    per_commit = _PER_AGENT * _AGENTS_PER_COMMIT
    for first in range(0, events, per_commit):
        appends: list[Append] = []
        command = CommandId(f"bench-{first}")
        for start in range(first, min(first + per_commit, events), _PER_AGENT):
            agent = AgentId(f"agent-{start // _PER_AGENT}")
            recorded: list[Recorded] = []
            for number in range(start, min(start + _PER_AGENT, events)):
                words = _any_words(chance, known)
                part = (Text(f"{words} event{number}"),)
                event = ReplyAdded(part) if number % 4 else TurnStarted(None, part)
                at = _START + number * _SECOND
                version = number - start + 1
                recorded.append(Recorded(agent, version, event, at, HUMAN, command))
            summary = AgentSummary(agent, len(recorded))
            appends.append(Append(agent, 0, tuple(recorded), summary))
        yield Commit(tuple(appends), Receipt(command, "", ()))


def _queries() -> Iterator[str]:
    chance = random.Random(2)
    for number in range(_QUERIES):
        words = [_word(chance.randint(1, 30)) for _ in range(2)]
        if number % 4 == 0:
            words.append(_word(chance.randint(1, 30)))
        else:
            words += [_word(chance.randint(100, 2_000)) for _ in range(2)]
            words.append(_word(chance.randint(10_000, _WORDS - 1)))
        chance.shuffle(words)
        yield "which of the " + " ".join(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
