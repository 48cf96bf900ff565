"""What it costs to store the words of a reply before they are shown.

Stores the words of replies of 10 seconds in an SQLite file, in as many steps as a driver does, and
then each reply. The last line says what the words of one reply cost: CPU time of the driver, events
in the log, and bytes on disk. `just bench sizing` has the WAL of PostgreSQL.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from bench import QUICK_SLACK
from bench.fork import settled_bytes
from bench.kept_figures import figure
from sapwood.api import Sapwood
from sapwood.app.connection import connect
from sapwood.core.commands import AddReply, CompleteTurn, StreamReply
from sapwood.core.content import Text
from sapwood.core.events import SYSTEM, Actor
from sapwood.core.view import view
from sapwood.turns.clock_and_ids import command_meta
from sapwood.turns.dispatch import Done
from sapwood.turns.model_access import manifest_of
from sapwood.turns.reply_stream import INTERVAL

SECONDS = 10
PIECES = round(SECONDS / INTERVAL)
MAX_CPU = 0.15
MAX_BYTES = 4_000
PIECE = Text("about twenty letters ")


class Figures(NamedTuple):
    """What the words of one reply cost, without the reply itself."""

    milliseconds: float
    cpu: float
    events: float
    bytes: float


async def measure(replies: int) -> Figures:
    """Stores the words of this many replies, and then the replies; then as many without words."""
    model = Actor("model", "oak")
    with tempfile.TemporaryDirectory(prefix="sapwood-bench-") as folder:
        file = Path(folder) / "stream.db"
        connection = await connect(file)
        dispatch = connection.dispatcher.dispatch
        reply = (Text(PIECE.text * PIECES),)
        cost: dict[bool, tuple[float, float, int, int]] = {}
        try:
            for with_words in (False, True):
                agent = await Sapwood(connection).start(f"tale-{with_words}", model="oak")
                await agent.run_command("Tell me a tale.")
                before, spent, worked = settled_bytes(file), 0.0, 0.0
                for number in range(replies):
                    if number:
                        await agent.run_command("Another one.")
                    opened = await connection.dispatcher.open(agent.id)
                    request = view(opened.state, opened.live)
                    call = manifest_of(opened, request, (), connection.counter_for("oak"))
                    called = await dispatch(call, command_meta())
                    assert isinstance(called, Done)
                    asked = called.events[-1].version
                    started, cpu = time.perf_counter(), time.process_time()
                    for _ in range(PIECES if with_words else 0):
                        done = await dispatch(
                            StreamReply(agent.id, (PIECE,), asked), command_meta(model)
                        )
                        assert isinstance(done, Done)
                    done = await dispatch(
                        AddReply(agent.id, reply, "oak", asked=asked), command_meta(model)
                    )
                    assert isinstance(done, Done)
                    spent += time.perf_counter() - started
                    worked += time.process_time() - cpu
                    await dispatch(CompleteTurn(agent.id), command_meta(SYSTEM))
                events = (await agent.state()).version
                cost[with_words] = (spent, worked, events, settled_bytes(file) - before)
        finally:
            await connection.close()
    spent, worked, events, grown = (
        (with_words - without) / replies
        for with_words, without in zip(cost[True], cost[False], strict=True)
    )
    return Figures(spent * 1e3, worked, events, grown)


def main(argv: list[str]) -> int:
    """Prints the figures; returns 1 if they miss their limits."""
    parser = argparse.ArgumentParser(prog="python -m bench stream", description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args(argv).quick
    found = asyncio.run(measure(8 if quick else 40))
    print(
        f"the words of one reply are stored {PIECES} times, in {found.milliseconds:.1f} ms in all"
    )
    slack = QUICK_SLACK if quick else 1
    print(
        f"stream: the words of an answer of {SECONDS} s cost {found.cpu:.3f} s of CPU "
        f"(at most {MAX_CPU}), {found.events:.0f} events (at most 0) and "
        f"{found.bytes / 1e3:.1f} kB (at most {MAX_BYTES / 1e3:.0f})"
    )
    figure("stream: events", found.events)
    return int(found.cpu > MAX_CPU * slack or found.events > 0 or found.bytes > MAX_BYTES * slack)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
