"""The live tail of a space while 16 writers in four processes commit as fast as they can.

Every event must arrive once, and the events of each agent in the order of their versions. The delay
starts when the writer's commit returns and ends when the subscriber has the event. For comparison,
in the same run: a bare writer that commits a row with a NOTIFY, and a bare connection that listens
and reads the row. Both are measured under load and again without load.

`now` and the resumption of a tail must take about the same time in a space with 1,000 events and in
one with 1,000,000.
"""

import argparse
import asyncio
import multiprocessing
import statistics
import time
from collections.abc import AsyncIterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from bench import QUICK_CLOCK_SLACK
from bench.bare_notify import bare_notify
from bench.database import own_database
from bench.kept_figures import figure
from bench.subscribe_resume import measure_resume
from bench.subscribe_writers import PROCESSES, SPACE, WRITERS, Acknowledged, run_writers, write_one
from sapwood.core.ids import AgentId, EventRef
from sapwood.core.log_values import Cursor, TailedEvent
from sapwood.store.postgres import PostgresLog
from tools.postgres import dsn_or_throwaway

FULL, QUICK = 50_000, 8_000
MANY, QUICK_MANY = 1_000_000, 60_000
MAX_TIMES = 1.5
QUIET_COMMITS = 100
STALLED = 60.0


@dataclass
class Seen:
    """The events that the subscriber received, and when."""

    tailed: list[TailedEvent] = field(default_factory=list[TailedEvent])
    when: dict[EventRef, float] = field(default_factory=dict[EventRef, float])

    def add(self, tailed: TailedEvent) -> None:
        """Records a received event."""
        self.when.setdefault(tailed.recorded.ref, time.time())
        self.tailed.append(tailed)

    def delays(self, acknowledged: Acknowledged) -> list[float]:
        """Milliseconds from the end of each commit until the event was received."""
        return [
            1000 * (self.when[ref] - done) for ref, done in acknowledged.items() if ref in self.when
        ]


@dataclass(frozen=True)
class Findings:
    """The errors and the delays."""

    events: int
    missed: int
    repeated: int
    disordered: int
    seconds: float
    rush: float
    rush_bare: float
    quiet: float
    quiet_bare: float

    @property
    def whole(self) -> bool:
        """Whether every event arrived once and in order."""
        return not (self.missed or self.repeated or self.disordered)


def main(argv: list[str]) -> int:
    """Prints the table; returns 1 if an event was missed, or a resumption takes too long."""
    parser = argparse.ArgumentParser(prog="python -m bench subscribe", description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK:,} events")
    quick = parser.parse_args(argv).quick
    events, many = (QUICK, QUICK_MANY) if quick else (FULL, MANY)
    with dsn_or_throwaway() as server:
        with own_database(server) as dsn:
            found = asyncio.run(measure(dsn, events))
        few, lots = measure_resume(server, many)
    times = max(lots.now / few.now, lots.resume / few.resume)
    limit = MAX_TIMES * (QUICK_CLOCK_SLACK if quick else 1)
    print(f"{found.events:,} events in {found.seconds:.1f} s of {WRITERS} writers")
    print(f"{'median delay, commit to in hand':36}{'ours':>12}{'bare NOTIFY':>14}")
    print(f"{'in the rush':36}{found.rush:9.2f} ms{found.rush_bare:11.2f} ms")
    print(f"{'one commit at a time':36}{found.quiet:9.2f} ms{found.quiet_bare:11.2f} ms")
    for each in few, lots:
        print(
            f"{f'with {each.events:,} events':36}now {each.now:.2f} ms, resume {each.resume:.2f} ms"
        )
    print(
        f"subscribe: {found.events:,} events, {found.missed} missed, {found.repeated} repeated, "
        f"{found.disordered} out of order, median delay {found.rush:.2f} ms in the rush and "
        f"{found.quiet:.2f} ms after it (bare {found.rush_bare:.2f} and {found.quiet_bare:.2f} ms)"
        f"; with {lots.events:,} events now and resume take {times:.2f} times as long as with "
        f"{few.events:,} (at most {limit:.1f})"
    )
    figure("subscribe: delay in the rush", found.rush / found.rush_bare)
    figure("subscribe: delay of one commit", found.quiet / found.quiet_bare)
    figure("subscribe: now and resume beside a short log", times)
    return 0 if found.whole and times <= limit else 1


async def measure(dsn: str, events: int) -> Findings:
    """Measures under load and without load, then reads the whole tail again."""
    log = await PostgresLog.open(dsn)
    seen = Seen()
    subscriber = asyncio.create_task(_subscribe(log, seen))
    started = time.monotonic()
    rush, rush_bare = await _rush(dsn, events)
    seconds = time.monotonic() - started
    await _until(seen, len(rush))
    quiet, quiet_bare = await _quiet(dsn, seen)
    subscriber.cancel()
    await asyncio.gather(subscriber, return_exceptions=True)
    again = [tailed async for tailed in _first(log, len(seen.tailed))]
    await log.close()
    refs = [tailed.recorded.ref for tailed in seen.tailed]
    expected = rush.keys() | quiet.keys()
    return Findings(
        len(expected),
        len(expected - set(refs)),
        len(refs) - len(set(refs)),
        _disordered(refs) + (again != seen.tailed),
        seconds,
        statistics.median(seen.delays(rush)),
        statistics.median(rush_bare),
        statistics.median(seen.delays(quiet)),
        statistics.median(quiet_bare),
    )


async def _subscribe(log: PostgresLog, seen: Seen) -> None:
    async for tailed in log.tail(SPACE):
        seen.add(tailed)


async def _rush(dsn: str, events: int) -> tuple[Acknowledged, list[float]]:
    """Runs all writers at once, and measures the bare pair of connections at the same time."""
    enough = asyncio.Event()
    bare = asyncio.create_task(bare_notify(dsn, enough))
    loop = asyncio.get_running_loop()
    with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as pool:
        share = events // WRITERS
        found = await asyncio.gather(
            *(loop.run_in_executor(pool, run_writers, dsn, n, share) for n in range(PROCESSES))
        )
    enough.set()
    return {ref: done for each in found for ref, done in each.items()}, await bare


async def _quiet(dsn: str, seen: Seen) -> tuple[Acknowledged, list[float]]:
    """Makes one commit at a time in another process, with a pause before each."""
    other = await PostgresLog.open(dsn)
    acknowledged: Acknowledged = {}
    for number in range(QUIET_COMMITS):
        ref = await write_one(other, AgentId("quiet"), number)
        acknowledged[ref] = time.time()
        await _until(seen, len(seen.tailed) + 1 if ref not in seen.when else 0)
        await asyncio.sleep(0.01)
    await other.close()
    return acknowledged, await bare_notify(dsn, None, QUIET_COMMITS)


async def _until(seen: Seen, count: int) -> None:
    """Waits until the subscriber has this many events; stops when no more arrive."""
    known, since = -1, time.monotonic()
    while len(seen.tailed) < count and time.monotonic() - since < STALLED:
        if len(seen.tailed) != known:
            known, since = len(seen.tailed), time.monotonic()
        await asyncio.sleep(0.001)


async def _first(log: PostgresLog, count: int) -> AsyncIterator[TailedEvent]:
    """Reads the whole tail again in two parts, the second from a cursor in the middle."""
    place = Cursor()
    for part in (count // 2, count - count // 2):
        left = part
        if not left:
            continue
        async for tailed in log.tail(SPACE, place):
            yield tailed
            place, left = tailed.cursor, left - 1
            if not left:
                break


def _disordered(refs: list[EventRef]) -> int:
    last: dict[AgentId, int] = {}
    wrong = 0
    for ref in refs:
        wrong += ref.version != last.get(ref.agent, 0) + 1
        last[ref.agent] = ref.version
    return wrong
