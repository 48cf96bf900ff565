"""The screen with long conversations: opening, memory, scrolling, streaming, keys.

Everything is CPU time of a separate process on its own terminal, measured beside the usual design
with one widget for each message. Opening is measured from the start of the process, imports
included, until the last rows are painted.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from msgspec import Struct, convert

from bench import QUICK_CLOCK_SLACK, QUICK_CPU_SLACK
from bench.kept_figures import figure
from bench.long_history import grow, start
from bench.tui_child import AGENT
from sapwood.app.connection import connect
from sapwood.tokens.counters import counter_for

EVENTS_A_MESSAGE = 2
"""A generated turn has eight events and four messages."""

OPEN, MEMORY, FRAME, SHARE, ECHO = 1.0, 120.0, 16.0, 0.40, 60.0
OF_WIDGETS = 0.07
"""The CPU time to open a message, beside that of a widget; not judged for short conversations."""
_SECONDS = 600
_SIZE = {"COLUMNS": "150", "LINES": "45", "TERM": "xterm-256color", "COLORTERM": "truecolor"}


class Figures(Struct):
    """The measurements of one program: seconds, megabytes, milliseconds."""

    rows: int
    first: float
    memory: float
    frames: list[float]
    whole: float = 0.0
    share: float = 0.0
    echo: list[float] = []

    @property
    def frame(self) -> float:
        """The CPU time of a frame at the 95th percentile."""
        return statistics.quantiles(self.frames, n=20)[-1]


async def build(address: str, messages: int) -> None:
    """Creates a conversation of this many messages, with its words indexed.

    In practice the words of a conversation are indexed long before a user scrolls through it.
    Without the search here, the screen would index them in a thread, and its time would count as
    frame time.
    """
    connection = await connect(address)
    counter = counter_for("claude-sonnet")
    events = messages * EVENTS_A_MESSAGE
    await grow(connection.log, connection.space, start(AGENT), events, counter)
    await connection.log.search(connection.space, "parser", limit=1)
    await connection.close()


def measure(kind: str, address: str, folder: str) -> Figures:
    """Runs a program on a pseudo-terminal and reads its measurements."""
    out = Path(folder) / f"{kind}.json"
    out.unlink(missing_ok=True)
    master, slave = os.openpty()
    os.set_blocking(master, True)
    subprocess.run(["stty", "rows", "45", "cols", "150"], stdin=slave, check=False)
    child = subprocess.Popen(
        [sys.executable, "-m", "bench.tui_child", kind, address, str(out)],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, **_SIZE},
        start_new_session=True,
    )
    os.close(slave)
    output: list[bytes] = []
    reading = threading.Thread(target=_drain, args=(master, output), daemon=True)
    reading.start()
    try:
        child.wait(_SECONDS)
    finally:
        child.kill()
        child.wait()
    if not out.exists():
        raise RuntimeError(f"{kind} measured nothing: {b''.join(output)[-2000:]!r}")
    return convert(json.loads(out.read_text(encoding="utf-8")), Figures)


def _drain(master: int, output: list[bytes]) -> None:
    try:
        while data := os.read(master, 65536):
            output.append(data)
            del output[:-50]
    except OSError:
        return
    finally:
        os.close(master)


def report(name: str, found: Figures) -> None:
    """Prints one line for each program."""
    print(
        f"  {name}: {found.rows:,} rows, open {found.first:.2f} s of CPU"
        f"{f' ({found.whole:.2f} s until all of it is read)' if found.whole else ''}, "
        f"{found.memory:.0f} MB, frame {found.frame:.1f} ms at the 95th percentile",
        flush=True,
    )


def main(argv: list[str]) -> int:
    """Prints the measurements; returns 1 if the screen misses a limit."""
    parser = argparse.ArgumentParser(prog="python -m bench tui", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2,000 messages, and no long one")
    options = parser.parse_args(argv)
    sizes = (2_000,) if options.quick else (20_000, 200_000)
    beside = 200 if options.quick else 2_000
    slack = QUICK_CPU_SLACK if options.quick else 1.0
    clock_slack = QUICK_CLOCK_SLACK if options.quick else 1.0
    with tempfile.TemporaryDirectory(prefix="sapwood-") as folder:
        found: list[Figures] = []
        for messages in sizes:
            address = str(Path(folder) / f"{messages}.db")
            asyncio.run(build(address, messages))
            found.append(measure("ours", address, folder))
            report(f"the screen, {messages:,} messages", found[-1])
        address = str(Path(folder) / "beside.db")
        asyncio.run(build(address, beside))
        widgets = measure("widgets", address, folder)
        report(f"a widget for each of {beside:,} messages", widgets)
    ours, echo = found[0], statistics.median(found[0].echo)
    print(
        f"  streaming at 200 tokens a second: {ours.share:.0%} of a core, "
        f"a key is seen after {echo:.0f} ms at the median"
    )
    share = ours.first / sizes[0] / (widgets.first / beside)
    figure("tui: share of a widget for each message", share)
    limits = (
        (ours.first, OPEN * slack),
        (ours.memory, MEMORY),
        (max(each.frame for each in found), FRAME * slack),
        (ours.share, SHARE * slack),
        (echo, ECHO * clock_slack),
        (0.0 if options.quick else share, OF_WIDGETS),
    )
    print(
        f"tui: {sizes[0]:,} messages open in {ours.first:.2f} s of CPU and {ours.memory:.0f} MB, "
        f"{share:.3f} of a widget for each message (at most {OF_WIDGETS}), "
        f"frame {ours.frame:.1f} ms, streaming {ours.share:.0%}, key {echo:.0f} ms; "
        f"a widget a message, {beside:,}: {widgets.first:.2f} s, {widgets.memory:.0f} MB, "
        f"{widgets.frame:.1f} ms"
    )
    return 0 if all(value <= limit for value, limit in limits) else 1
