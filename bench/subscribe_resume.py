"""How long `now` and the resumption of a tail take, in a space with few events and with many."""

import asyncio
import statistics
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import NamedTuple, cast

from bench.database import own_database
from bench.scale_rows import SPACE, copy_agents
from sapwood.core.ids import Space
from sapwood.core.log_values import Cursor, TailedEvent
from sapwood.store.postgres import PostgresLog

FEW = 1_000
_EVENTS_OF_AGENT = 3
_ROUNDS, _LEFT = 40, 500
"""So many events come after the cursor from which a tail goes on, in both spaces."""
_COUNTED_WITHIN = 120.0


class Resume(NamedTuple):
    """Medians in milliseconds, in a space with this number of events."""

    events: int
    now: float
    resume: float


def measure_resume(server: str, many: int) -> tuple[Resume, Resume]:
    """Measures a space with few events and one with many."""
    with own_database(server) as small, own_database(server) as large:
        return asyncio.run(_measure_both(small, large, many))


async def _measure_both(small: str, large: str, many: int) -> tuple[Resume, Resume]:
    """Alternates between both, so that a busy machine slows both."""
    few, lots = await _filled(small, FEW), await _filled(large, many)
    times: dict[str, list[float]] = {}
    for number in range(_ROUNDS):
        for name, (log, events) in (("few", few), ("many", lots)):
            cursor = Cursor(events - _LEFT + number)
            now = await _timed(lambda log=log: log.end(Space(SPACE)))
            again = await _timed(lambda log=log, cursor=cursor: _first(log, cursor))
            times.setdefault(f"{name} now", []).append(now)
            times.setdefault(f"{name} resume", []).append(again)
    await asyncio.gather(few[0].close(), lots[0].close())
    median = {name: statistics.median(each) for name, each in times.items()}
    return (
        Resume(few[1], median["few now"], median["few resume"]),
        Resume(lots[1], median["many now"], median["many resume"]),
    )


async def _filled(dsn: str, events: int) -> tuple[PostgresLog, int]:
    """A log with so many events, which were counted once."""
    log = await PostgresLog.open(dsn)
    agents = -(-events // _EVENTS_OF_AGENT)
    await copy_agents(dsn, 1, agents)
    async with asyncio.timeout(_COUNTED_WITHIN):
        # A cursor counts no event while an older transaction of the server runs.
        while (await log.end(Space(SPACE))).events < agents * _EVENTS_OF_AGENT:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    return log, agents * _EVENTS_OF_AGENT


async def _first(log: PostgresLog, cursor: Cursor) -> None:
    tail = cast("AsyncGenerator[TailedEvent]", log.tail(Space(SPACE), cursor))
    async with aclosing(tail):
        await anext(tail)


async def _timed(work: Callable[[], Awaitable[object]]) -> float:
    started = time.perf_counter()
    await work()
    return 1000 * (time.perf_counter() - started)
