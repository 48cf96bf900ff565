"""How often a request extends the one before it, byte for byte as it was sent: law 7 on the wire.

An agent of the complete product talks for 200 turns with a scripted model over HTTP, in each wire
format: several tool calls in a turn, a window that clips, summaries, rewinds, undo, pins, another
agent in between, and a restart of the process in the middle. A provider caches the part that a
request shares with the request before. Without a context event in between, this must be the whole
earlier request. Such a request is an opportunity; if it extends the one before, it is a hit.
"""

import argparse
import asyncio
import random
import tempfile
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from proofs.e2e.checks import Checks
from proofs.e2e.system_under_test import SystemUnderTest, open_system
from proofs.e2e.wires import WIRES
from sapwood.api.agent import Agent
from sapwood.core.events import (
    ContextEvent,
    ContextSummarized,
    Event,
    MarkSet,
    ModelCalled,
    PinAdded,
    PinRemoved,
    SettingsChanged,
)
from scripted_model import LoggedRequest, ModelRequest, ReplyLike, ScriptedModel, call, think

TURNS = 200
QUICK = 16
CAP = 6_000
HISTORIES = ("messages", "input", "contents")
NOT_CACHED = frozenset({"diagnostics", "prompt_cache_options"})
"""Fields after the history, which name the reply before and are no part of the prompt."""
WORDS = "heron stork pine roof nest water reed wing feather patience".split()


class Sent(Struct, frozen=True):
    """A sent request: every field, and each item of the history, as raw bytes."""

    fields: dict[str, bytes]
    items: list[bytes]

    @classmethod
    def of(cls, body: bytes) -> "Sent":
        """Splits a body without changing a byte."""
        fields = msgspec.json.decode(body, type=dict[str, Raw])
        (name,) = [name for name in HISTORIES if name in fields]
        items = msgspec.json.decode(fields.pop(name), type=list[Raw])
        return cls(
            {name: bytes(value) for name, value in fields.items() if name not in NOT_CACHED},
            [bytes(each) for each in items],
        )

    def extends(self, earlier: "Sent") -> bool:
        """Whether it starts with all bytes of the earlier request."""
        same = self.items[: len(earlier.items)] == earlier.items
        return self.fields == earlier.fields and same


class Tally:
    """Compares the requests of one agent with its log."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.requests = 0
        self.context_events = 0
        self.opportunities = 0
        self.hits = 0
        self._seen = 0
        self._last: Sent | None = None

    async def take(self, requests: list[LoggedRequest]) -> None:
        """Adds the requests that the agent has sent since the last call."""
        waiting = iter(requests)
        for recorded in await self.agent.events(self._seen + 1):
            self._seen = recorded.version
            if isinstance(recorded.event, ModelCalled):
                self._sent(Sent.of(next(waiting).raw), recorded.event)
            elif _moves_context(recorded.event):
                self.context_events += 1
                self._last = None
        assert next(waiting, None) is None, "the log knows nothing of a request"

    def _sent(self, sent: Sent, called: ModelCalled) -> None:
        self.requests += 1
        if self._last is not None:
            self.opportunities += 1
            self.hits += sent.extends(self._last)
        if not called.instruction:  # what is asked after an instruction does not follow it
            self._last = sent


def _moves_context(event: Event) -> bool:
    if isinstance(event, MarkSet | ContextSummarized):
        return False
    return isinstance(event, ContextEvent | PinAdded | PinRemoved | SettingsChanged)


def model(asked: ModelRequest) -> ReplyLike:
    """Two rounds of tools, then a long answer; or a summary if the request asks for one."""
    last = asked.messages[-1].text
    if "Summarise this conversation" in last:
        return f"They talked of birds: {last[-60:]}"
    replies = 0
    for message in reversed(asked.messages):
        if message.role == "user" and message.text:
            break
        replies += message.role == "assistant"
    if replies == 0:
        looks = [call("read_file", path="notes.txt"), call("search_files", pattern="heron")]
        return [think(f"Where to look for {last[:20]}?"), "I look twice.", *looks]
    if replies == 1:
        return call("list_files")
    return " ".join(random.Random(last).choices(WORDS, k=150))


class Talk:
    """The conversation, and what happens at which turn."""

    def __init__(self, system: SystemUnderTest, main: Tally, other: Tally, turns: int) -> None:
        self._system = system
        self._main = main
        self._other = other
        self._turns = turns
        self._taken = 0

    async def run(self, first: int, last: int) -> None:
        """Runs some of the turns."""
        for number in range(first, last):
            await self._before(number)
            await self._ask(self._main, f"Turn {number}: tell me of {WORDS[number % 10]}.")
            if number % 9 == 4:
                await self._ask(self._other, f"And you, at {number}?")
        await self._take(self._main)

    async def _before(self, number: int) -> None:
        """Changes the context before some turns."""
        agent, part = self._main.agent, number % max(self._turns // 5, 8)
        if part == 3:
            await agent.mark("HERE")
        elif part == 5:
            await agent.rewind("HERE", note="that led nowhere")
        elif part == 6:
            await agent.undo()
        elif part == 7:
            await agent.pin("style", f"Since turn {number}: be brief.")
            await self._system.running.compact(agent.id, keep=1)

    async def _ask(self, tally: Tally, text: str) -> None:
        await self._system.ask(tally.agent, text)
        await self._take(tally)

    async def _take(self, tally: Tally) -> None:
        new = [each for each in self._system.server.requests if each.number > self._taken]
        self._taken += len(new)
        await tally.take([each for each in new if not each.counts])


async def converse(wire: str, turns: int) -> list[Tally]:
    """Runs the whole conversation in one wire format."""
    tallies: list[Tally] = []
    with tempfile.TemporaryDirectory(prefix="sapwood-prefix-") as folder:
        for part in range(2):
            with ScriptedModel(keep=50, piece=400) as server:
                async with open_system(wire, Path(folder), server, Checks()) as system:
                    system.script(model)
                    if not tallies:
                        tallies = [await new_agent(system, name) for name in ("main", "other")]
                    for tally in tallies:  # the log is the same, the process is another
                        tally.agent = await system.db.find(tally.agent.id)
                    talk = Talk(system, *tallies, turns)
                    await talk.run(turns * part // 2, turns * (part + 1) // 2)
                rejected = server.rejections
            assert rejected == [], rejected
    return tallies


async def new_agent(system: SystemUnderTest, name: str) -> Tally:
    """A new agent with a small window, so that it clips often."""
    agent = await system.start(name)
    await agent.configure(cap=CAP, mask_over=1_000)
    return Tally(agent)


def main(argv: list[str]) -> int:
    """Prints a line for each wire format; returns 1 if a request did not extend the last."""
    parser = argparse.ArgumentParser(prog="python -m bench prefix", description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} turns instead of {TURNS}")
    turns = QUICK if parser.parse_args(argv).quick else TURNS
    print(f"{turns} turns, window of {CAP:,} tokens")
    print(f"{'wire':<10} {'requests':>8} {'context events':>15} {'opportunities':>14} {'hits':>6}")
    opportunities = hits = 0
    for wire in WIRES:
        tallies = asyncio.run(converse(wire, turns))
        row = [
            sum(getattr(tally, name) for tally in tallies)
            for name in ("requests", "context_events", "opportunities", "hits")
        ]
        print(f"{wire:<10} {row[0]:>8,} {row[1]:>15,} {row[2]:>14,} {row[3]:>6,}", flush=True)
        opportunities, hits = opportunities + row[2], hits + row[3]
    share = hits / opportunities if opportunities else 0.0
    print(f"prefix: {hits:,} hits of {opportunities:,} opportunities, {share:.1%} (limit 100 %)")
    return int(hits < opportunities or not opportunities)
