"""The server: what HTTP adds to a command, followers of events across a restart, cost of guards.

Followers and writer are processes of their own. Fails when a figure is short.
"""

import asyncio
import multiprocessing
import os
import re
import resource
import statistics
import sys
import tempfile
import time
from datetime import datetime
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import NamedTuple

import msgspec

import sapwood
from bench import QUICK_CLOCK_SLACK
from bench.serve_guards import measure_guards
from bench.served import ServedProcess

_MAX_OVERHEAD = 3.0
_MAX_LAG = 0.5
_RATE = 200
_AGENTS = 20


class Outcome(NamedTuple):
    """What the followers saw: when each message was written and its lag, when each piece came."""

    lags: list[tuple[float, float]]
    pieces: list[float]
    lacking: int
    doubled: int
    processor_seconds: float


_MESSAGE = re.compile(rb'id: (\d+)\nevent: [^\n]+\ndata: [^\n]{0,120}?"at":"([^"]+)"[^\n]*\n')


def main(args: list[str]) -> int:
    """Prints the figures; returns 1 if one is short."""
    quick = "--quick" in args
    _allow_files()
    missed = False
    with tempfile.TemporaryDirectory(prefix="sapwood-bench-") as place:
        folder = Path(place)
        with ServedProcess(folder) as served:
            missed |= asyncio.run(_overhead(served, 100 if quick else 500, quick=quick))
            followers = 100 if quick else 2_000
            missed |= _followers(served, followers, 4.0 if quick else 12.0, quick=quick)
        missed |= measure_guards(folder, quick=quick)
    return int(missed)


def _allow_files() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65_536), hard))


# What HTTP adds.


async def _overhead(served: ServedProcess, count: int, *, quick: bool) -> bool:
    """Marks by the library and by HTTP in turn, each on an agent of its own."""
    token = served.token()
    direct, empty, by_http = list[float](), list[float](), list[float]()
    async with sapwood.open(served.database) as db:
        agent, other = await db.start("library"), await db.start("http")
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        health = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n\r\n".encode()
        for number in range(count):
            began = time.perf_counter()
            await agent.mark(f"M{number % 20}")
            direct.append(time.perf_counter() - began)
            body = msgspec.json.encode({"args": f"M{number % 20}"})
            sent = _post(f"/v1/agents/{other.id}/commands/mark", token, served.port, body)
            for request, times in ((health, empty), (sent, by_http)):
                began = time.perf_counter()
                writer.write(request)
                status = await _answer(reader)
                times.append(time.perf_counter() - began)
                assert status == 200, status
        writer.close()
    library, http = statistics.median(direct) * 1e3, statistics.median(by_http) * 1e3
    limit = _MAX_OVERHEAD * (QUICK_CLOCK_SLACK if quick else 1)
    print(f"an empty request: {statistics.median(empty) * 1e3:.2f} ms at the median")
    print(f"a mark by the library: {library:.2f} ms at the median; by HTTP: {http:.2f} ms")
    print(f"HTTP adds {http - library:.2f} ms; limit {limit:g} ms")
    return http - library > limit


def _post(path: str, token: str, port: int, body: bytes) -> bytes:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _answer(reader: asyncio.StreamReader) -> int:
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    await reader.readexactly(length)
    return int(head.split(b" ", 2)[1])


# Followers.


def _followers(served: ServedProcess, count: int, seconds: float, *, quick: bool) -> bool:
    with sapwood.open_sync(served.database) as db:
        agents = [db.start(f"agent {n}").id for n in range(_AGENTS)]
    outcome: multiprocessing.Queue[Outcome] = multiprocessing.Queue()
    ready = multiprocessing.Event()
    tokens = [served.token() for _ in range(1 + count // 50)]
    each = round(_RATE * seconds / _AGENTS)
    following = multiprocessing.Process(
        target=_follow_all,
        args=(served.port, tokens, agents, count, each, ready, outcome),
    )
    following.start()
    if not ready.wait(120):
        raise TimeoutError("the followers did not connect")
    writing = multiprocessing.Process(target=_write, args=(served.database, agents, each))
    writing.start()
    began, used = time.time(), served.processor_seconds()
    time.sleep(seconds / 2)
    used = served.processor_seconds() - used
    stopped = time.time()
    served.stop()
    served.start()
    away = time.time() - stopped
    writing.join(240)
    lags, pieces, lacking, doubled, followers_used = outcome.get(timeout=240)
    following.join(30)
    limit = _MAX_LAG * (QUICK_CLOCK_SLACK if quick else 1)
    steady = sorted(lag for written, lag in lags if written < stopped - 1.0)
    p50, p99 = steady[len(steady) // 2], steady[int(len(steady) * 0.99)]
    late = [written + lag for written, lag in lags if written > stopped and lag > limit]
    caught_up = max(late, default=stopped) - stopped
    print(
        f"{count:,} followers of {_AGENTS} agents, {_RATE} events/s: {len(steady):,} messages "
        "before the restart"
    )
    print(f"lag {p50 * 1e3:.0f} ms at the median, p99 {p99 * 1e3:.0f} ms; limit {limit * 1e3:g} ms")
    print(
        f"the server was away for {away:.1f} s; all had caught up {caught_up:.1f} s after its stop"
    )
    print(f"{lacking} missed, {doubled} doubled across the restart; limit 0")
    window = stopped - began
    messages = sum(began < written + lag < stopped for written, lag in lags)
    sent = sum(began < at < stopped for at in pieces)
    print(
        f"processor time of the server: {used / window:.0%} of one processor, "
        f"{used / max(1, messages) * 1e6:.0f} µs a message and {used / max(1, sent) * 1e6:.0f} µs "
        f"for each sending of {messages / max(1, sent):.1f} messages"
    )
    print(f"processor time of all followers: {followers_used / len(lags) * 1e6:.0f} µs a message")
    busy, cores = os.getloadavg()[0], os.cpu_count() or 1
    bound = (
        f"other programs: {busy:.0f} want to run on {cores} processors"
        if busy > cores + 2
        else "the processor time of one process, for each message and each follower"
        if used / window > 0.7
        else "the time for which events are collected before they are sent together"
    )
    print(f"what limits it: {bound}")
    return p99 > limit or lacking > 0 or doubled > 0


def _write(database: str | Path, agents: list[str], each: int) -> None:
    """Adds events at a steady rate, in turn to each agent."""
    with sapwood.open_sync(database) as db:
        opened = [db.get(agent) for agent in agents]
        began = time.monotonic()
        for number in range(each * len(agents)):
            opened[number % len(agents)].mark(f"M{number}")
            wait = began + (number + 1) / _RATE - time.monotonic()
            if wait > 0:
                time.sleep(wait)


def _follow_all(
    port: int,
    tokens: list[str],
    agents: list[str],
    count: int,
    each: int,
    ready: Event,
    outcome: "multiprocessing.Queue[Outcome]",
) -> None:
    _allow_files()
    lags: list[tuple[float, float]] = []
    pieces: list[float] = []
    doubled = [0]
    connected = [0]

    async def follow(agent: str, token: str) -> int:
        last, first_time = 1, True
        while last < each + 1:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
                writer.write(
                    f"GET /v1/agents/{agent}/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
                    f"Authorization: Bearer {token}\r\nLast-Event-ID: {last}\r\n\r\n".encode()
                )
                head = await reader.readuntil(b"\r\n\r\n")
                assert b" 200 " in head.split(b"\r\n")[0], head
                if first_time:
                    connected[0] += 1
                    first_time = False
                    if connected[0] == count:
                        ready.set()
                rest = b""
                while last < each + 1:
                    piece = await reader.read(2**18)
                    if not piece:
                        break
                    whole, _, rest = (rest + piece).rpartition(b"\n\n")
                    found = _MESSAGE.findall(whole + b"\n\n")
                    for version in map(int, (number for number, _ in found)):
                        doubled[0] += version <= last
                        assert version <= last + 1, (version, last)
                        last = max(last, version)
                    now = time.time()
                    pieces.append(now)
                    for _, at in found:
                        written = datetime.fromisoformat(at.decode()).timestamp()
                        lags.append((written, now - written))
                writer.close()
            except (ConnectionError, asyncio.IncompleteReadError):
                pass
            if last < each + 1:
                await asyncio.sleep(0.2)
        return last

    async def run() -> int:
        async with asyncio.timeout(200):
            tasks = [follow(agents[n % len(agents)], tokens[n % len(tokens)]) for n in range(count)]
            return sum(each + 1 - last for last in await asyncio.gather(*tasks))

    lacking = asyncio.run(run())
    outcome.put(Outcome(lags, pieces, lacking, doubled[0], time.process_time()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
