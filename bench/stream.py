"""What it costs to store the words of a reply before they are shown.

Stores pieces of one reply in an SQLite file, one commit each. The last line says what an answer of
30 seconds costs: CPU time of the driver, and bytes on disk. It must cost at most 0.5 seconds and
100 kB.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from bench import QUICK_SLACK
from bench.fork import settled_bytes
from bench.kept_figures import figure
from sapwood.api import Sapwood
from sapwood.app.connection import connect
from sapwood.core.commands import StreamReply
from sapwood.core.content import Text
from sapwood.core.events import Actor
from sapwood.core.view import view
from sapwood.runtime.clock_and_ids import command_meta
from sapwood.runtime.dispatch import Done
from sapwood.runtime.model_access import manifest_of
from sapwood.runtime.reply_stream import INTERVAL

SECONDS = 30
MOST_CPU = 0.5
MOST_BYTES = 100_000
PIECE = (Text("about twenty letters "),)


async def measure(pieces: int) -> tuple[float, float, float]:
    """Milliseconds and milliseconds of CPU for one piece, and its bytes on disk."""
    with tempfile.TemporaryDirectory(prefix="sapwood-bench-") as folder:
        file = Path(folder) / "stream.db"
        connection = await connect(file)
        try:
            agent = await Sapwood(connection).start("tale", model="oak")
            await agent.run_command("Tell me a tale.")
            opened = await connection.dispatcher.open(agent.id)
            request = view(opened.state, opened.live)
            call = manifest_of(opened, request, (), connection.counter_for("oak"))
            called = await connection.dispatcher.dispatch(call, command_meta())
            assert isinstance(called, Done)
            asked, before = called.events[-1].version, settled_bytes(file)
            started, cpu = time.perf_counter(), time.process_time()
            for _ in range(pieces):
                piece = StreamReply(agent.id, PIECE, asked)
                await connection.dispatcher.dispatch(piece, command_meta(Actor("model", "oak")))
            elapsed, worked = time.perf_counter() - started, time.process_time() - cpu
            grown = settled_bytes(file) - before
        finally:
            await connection.close()
    return elapsed / pieces * 1e3, worked / pieces * 1e3, grown / pieces


def main(argv: list[str]) -> int:
    """Prints the figures; returns 1 if they miss their limits."""
    parser = argparse.ArgumentParser(prog="python -m bench stream")
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args(argv).quick
    elapsed, cpu, grown = asyncio.run(measure(300 if quick else 2_000))
    print(f"one piece: {elapsed:.2f} ms, {cpu:.2f} ms of CPU, {grown:.0f} bytes on disk")
    pieces = SECONDS / INTERVAL
    slack = QUICK_SLACK if quick else 1
    print(
        f"stream: an answer of {SECONDS} s is stored in {pieces:.0f} pieces, which cost "
        f"{cpu * pieces / 1e3:.2f} s of CPU (at most {MOST_CPU}) and "
        f"{grown * pieces / 1e3:.0f} kB (at most {MOST_BYTES / 1e3:.0f})"
    )
    figure("stream: bytes", grown * pieces)
    return int(cpu * pieces / 1e3 > MOST_CPU * slack or grown * pieces > MOST_BYTES * slack)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
