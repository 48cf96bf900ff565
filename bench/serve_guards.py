"""What identity, limits and the wall between spaces cost a request, with a file and PostgreSQL."""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
from starlette.requests import Request

import sapwood
from bench import QUICK_CLOCK_SLACK
from bench.database import own_database
from sapwood.app.maintenance import grants
from sapwood.config.serve_settings import ServeConfig
from sapwood.config.server_tokens import FileTokens, Tokens, TokenStore
from sapwood.core.ids import AgentId, Space
from sapwood.store.postgres import PostgresLog
from sapwood_server.access.identity import Identities
from sapwood_server.access.rate_limit import RequestLimits, SharedCounts
from sapwood_server.access.request_checks import AllowedHosts, check_origin
from tools.postgres import dsn_or_throwaway

_MAX_GUARD = 0.3
_MAX_WALL = 4.0
"""Times the read without the wall: it takes three round trips instead of one."""
_LARGE = ServeConfig(rate=10**9, burst=10**9, space_rate=10**9, space_burst=10**9)
_SPACE = Space("local")
_READER = "sapwood_bench_reader"


def measure_guards(folder: Path, *, quick: bool) -> bool:
    """Prints the figures; returns true if one misses its limit."""
    count = 2_000 if quick else 20_000
    slack = QUICK_CLOCK_SLACK if quick else 1.0
    files = FileTokens(TokenStore(folder / "tokens.json"))
    cost = asyncio.run(_guard(files, None, count))
    print(f"host, identity, origin, limits and scope: {cost:.3f} ms a request with a token file")
    with dsn_or_throwaway() as server, own_database(server) as database:
        shared, plain, walled = asyncio.run(_on_postgres(database, count, 200 if quick else 1_000))
    print(f"the same with tokens and counts in PostgreSQL: {shared:.3f} ms; limit {_MAX_GUARD} ms")
    print(
        f"a read of one row takes {plain:.3f} ms, under row-level security {walled:.3f} ms: "
        f"{walled / plain:.1f} times as long; limit {_MAX_WALL:g}"
    )
    return max(cost, shared) > _MAX_GUARD * slack or walled > _MAX_WALL * slack * plain


async def _on_postgres(database: str, count: int, reads: int) -> tuple[float, float, float]:
    log = await PostgresLog.open(database)
    cost = await _guard(log.tokens, log.limits, count)
    async with sapwood.open(log) as db:
        agent = AgentId((await db.start("demo")).id)
    owner: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(database)
    await owner.execute(grants())
    await owner.execute(f"CREATE ROLE {_READER} LOGIN PASSWORD 'x' IN ROLE sapwood_reader")
    parts = urlsplit(database)
    place = parts.netloc.rpartition("@")[2]
    try:
        login = parts._replace(netloc=f"{_READER}:x@{place}").geturl()
        walled = await PostgresLog.open(database, reader=login)
        plain = await _median(lambda: log.summary(_SPACE, agent), reads)
        behind = await _median(lambda: walled.summary(_SPACE, agent), reads)
        await walled.close()
    finally:
        await owner.execute(f"DROP OWNED BY {_READER}; DROP ROLE {_READER}")
        await owner.close()
        await log.close()
    return cost, plain, behind


async def _median(read: Callable[[], Awaitable[object]], count: int) -> float:
    times: list[float] = []
    for _ in range(count):
        began = time.perf_counter()
        await read()
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1e3


async def _guard(tokens: Tokens, shared: SharedCounts | None, count: int) -> float:
    """Milliseconds that all checks of a request take, at the mean; background work included."""
    identities, hosts = Identities(tokens, "local"), AllowedHosts(("127.0.0.1",))
    limits = RequestLimits(_LARGE, shared)
    value, _ = await tokens.create("bench", "local", ("read",))
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/v1/agents",
        "query_string": b"",
        "scheme": "http",
        "server": ("127.0.0.1", 8420),
        "headers": [
            (b"host", b"127.0.0.1:8420"),
            (b"authorization", f"Bearer {value}".encode()),
        ],
    }
    began = time.perf_counter()
    for number in range(count):
        request = Request(scope)
        hosts.check(request)
        principal = await identities.of(request)
        check_origin(request, by_cookie=principal.by_cookie)
        limits.check(principal)
        principal.require("read")
        if number % 20 == 0:
            await asyncio.sleep(0)  # what runs in the background is a part of the cost
    took = (time.perf_counter() - began) / count * 1e3
    await limits.close()
    return took
