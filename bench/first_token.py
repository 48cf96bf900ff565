"""How much later the first token comes through Sapwood than through a bare HTTP client.

Both send the same conversation of 100,000 tokens, alternately and over an open connection, to the
same server, which is a separate process and answers at once. Each call adds a message. The median
of the added delay must stay under 8 ms. `new` is a call with a history that this process has not
sent before: after a start, a switch of models, or a move of `head`; it may take 25 ms. `load` is
the time that a process needs once to import the HTTP client, before its first call and off the
event loop.

The four wire formats are measured from a request to its first token. `agent` is measured from a
prompt to an agent, on SQLite with the durable engine, in one of the wire formats.
"""

import argparse
import asyncio
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx2
from msgspec import Struct

from bench import QUICK_CLOCK_SLACK
from bench.first_token_agent import running_agent
from bench.first_token_server import PLAIN, WIRES, serving
from bench.kept_figures import figure
from bench.machine_speed import python_start_ms, slowness_by
from sapwood.core.content import Text, ToolCall
from sapwood.core.model_calls import ToolSpec
from sapwood.core.view import Block, Message, Request, ToolResult
from sapwood.models import Models
from sapwood.tokens.counters import counter_for

MAX_MS = 8.0
MAX_NEW_MS = 25.0
TOKENS = 100_000
A_MESSAGE = 250
NEW = 5
STARTS = 5
AGENT = "den:oak"
TOOL = ToolSpec("run", "Runs a command.", '{"type":"object","properties":{"it":{"type":"string"}}}')
WORDS = "the quick brown fox jumps over a lazy dog while parsing json output of tests".split()


class Figures(Struct):
    """Milliseconds to the first token."""

    wire: str
    bytes: int
    load: float
    new: list[float]
    bare: list[float]
    ours: list[float]

    @property
    def added(self) -> float:
        """The median of the added delay, over pairs of calls."""
        return statistics.median(b - a for a, b in zip(self.bare, self.ours, strict=True))


# The clients


def conversation(tokens: int, seed: int = 0) -> list[Message]:
    """Prompts, calls, results and answers of about this many tokens."""
    dice = random.Random(seed)

    def text() -> str:
        return " ".join(dice.choices(WORDS, k=A_MESSAGE))

    messages: list[Message] = []
    for turn in range(tokens // A_MESSAGE // 4):
        arguments = json.dumps({"it": text()})
        messages += [
            Message("user", (Text(text()),)),
            Message("assistant", (Text("I run it."), ToolCall(f"c{turn}", "run", arguments))),
            Message("user", (ToolResult(f"c{turn}", "run", text()),)),
            Message("assistant", (Text(text()),)),
        ]
    return [*messages, Message("user", (Text("Go on."),))]


async def measure(models: Models, url: str, wire: str, tokens: int, rounds: int) -> Figures:
    """Measures both clients alternately."""
    name, _ = WIRES[wire]
    messages = conversation(tokens)
    figures = Figures(wire, 0, load(), [], [], [])
    await through_sapwood(models, Request(name, (), tuple(messages[-1:])))
    for seed in range(1, NEW + 1):
        other = Request(name, (), tuple(conversation(tokens, seed)))
        figures.new.append(await through_sapwood(models, other))
    async with httpx2.AsyncClient(timeout=60) as bare:
        for _ in range(rounds):
            request = Request(name, (Block("system", "", "Be brief."),), tuple(messages))
            figures.ours.append(await through_sapwood(models, request))
            sent = (await bare.get(f"{url}/last")).json()
            figures.bytes = len(sent["body"])
            figures.bare.append(await through_http(bare, url + sent["path"], sent["body"]))
            messages += [Message("assistant", (Text("yes"),)), Message("user", (Text("More."),))]
    del figures.ours[0], figures.bare[0]  # that history was new
    return figures


async def measure_agent(models: Models, url: str, tokens: int, rounds: int) -> Figures:
    """Measures a running agent and the bare client alternately."""
    figures = Figures("agent", 0, load(), [], [], [])
    with tempfile.TemporaryDirectory(prefix="sapwood-bench-") as folder:
        for seed in range(1, NEW + 1):
            async with running_agent(Path(folder) / f"{seed}.db", models, AGENT) as agent:
                await agent.remember(conversation(tokens, seed))
                figures.new.append(await agent.first_token("Go on."))
        async with (
            running_agent(Path(folder) / "agent.db", models, AGENT) as agent,
            httpx2.AsyncClient(timeout=60) as bare,
        ):
            await agent.remember(conversation(tokens))
            for _ in range(rounds):
                figures.ours.append(await agent.first_token("More."))
                sent = (await bare.get(f"{url}/last")).json()
                figures.bytes = len(sent["body"])
                figures.bare.append(await through_http(bare, url + sent["path"], sent["body"]))
    del figures.ours[0], figures.bare[0]
    return figures


def load() -> float:
    """Seconds that a new process needs to import what a call needs."""
    code = (
        "import asyncio, time; from sapwood.models import Models; start = time.perf_counter(); "
        "import sapwood.models.calls; print(time.perf_counter() - start)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


async def through_sapwood(models: Models, request: Request) -> float:
    started = time.perf_counter()
    first = 0.0
    async for _ in models.stream(request, [TOOL]):
        first = first or time.perf_counter() - started
    return first * 1e3


async def through_http(client: httpx2.AsyncClient, url: str, body: str) -> float:
    content = json.loads(body)
    started = time.perf_counter()
    first = 0.0
    async with client.stream("POST", url, json=content) as response:
        async for line in response.aiter_lines():
            if "yes" in line:
                first = first or time.perf_counter() - started
    return first * 1e3


async def run(tokens: int, rounds: int) -> tuple[list[Figures], list[float]]:
    """Measures every wire format and an agent, and starts of the bare Python around each."""
    keys = {"anthropic": "none", "openai": "none", "google": "none"}
    with serving() as url:
        urls = {"anthropic": url, "openai": f"{url}/v1", "google": url, "den": url + PLAIN}
        async with Models(keys, urls=urls) as models:
            rows: list[Figures] = []
            starts = [python_start_ms() for _ in range(STARTS)]
            for wire in WIRES:
                rows.append(await measure(models, url, wire, tokens, rounds))
                starts += [python_start_ms() for _ in range(STARTS)]
            rows.append(await measure_agent(models, url, tokens, rounds))
            return rows, [*starts, *(python_start_ms() for _ in range(STARTS))]


def main(argv: list[str]) -> int:
    """Prints the table; returns 1 if the added delay of a format is too long."""
    parser = argparse.ArgumentParser(prog="python -m bench first_token", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    options = parser.parse_args(argv)
    request = Request("gpt-5", (), tuple(conversation(TOKENS)))
    counter = counter_for("gpt-5")
    tokens = sum(counter.count(text).tokens for text in request.texts())
    print(f"{len(request.messages)} messages, {tokens:,} tokens")
    rows, starts = asyncio.run(run(TOKENS, 10 if options.quick else 60))
    print(f"{'wire':<10} {'body':>9} {'bare':>9} {'ours':>9} {'added':>9} {'new':>9} {'load':>8}")
    for row in rows:
        print(
            f"{row.wire:<10} {row.bytes / 1e3:>6.0f} kB {statistics.median(row.bare):>6.1f} ms "
            f"{statistics.median(row.ours):>6.1f} ms {row.added:>6.1f} ms "
            f"{statistics.median(row.new):>6.0f} ms {row.load:>6.1f} s"
        )
    print(
        f"Python alone starts in {statistics.median(starts):.0f} ms,"
        f" {slowness_by(starts):.2f}x the usual; the limit stays"
    )
    worst = max(row.added for row in rows)
    limit = MAX_MS * (QUICK_CLOCK_SLACK if options.quick else 1)
    print(f"first token: {worst:.1f} ms added at most, of {limit:.0f} allowed")
    slack = QUICK_CLOCK_SLACK if options.quick else 1
    newest = max(statistics.median(row.new) for row in rows if row.wire in WIRES)
    print(f"a new history: {newest:.1f} ms at most, of {MAX_NEW_MS * slack:.0f} allowed")
    figure("first_token: added, in starts of Python", worst / statistics.median(starts))
    figure("first_token: a new history, in starts of Python", newest / statistics.median(starts))
    return int(worst > limit or newest > MAX_NEW_MS * slack)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
