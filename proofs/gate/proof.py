"""One run on one store: makes the calls, then checks everything that must work afterwards."""

import asyncio
import json
import tempfile
import traceback
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from random import Random
from typing import cast

import msgspec

import sapwood
from proofs.gate.calls import Caller
from proofs.gate.values import SECRET
from sapwood import LogError, Sapwood, SapwoodError, TailedEvent
from sapwood.cli.output.event_text import event_line, event_value, json_line
from sapwood.context_actions.session_input import turns_of
from sapwood.conversation.timeline_reader import read_conversation
from sapwood.core.events import Event, ModelCalled, UnreadableEvent
from sapwood.core.events.codec import decode, encode
from sapwood.core.ids import AgentId
from sapwood.display.timeline_text import conversation_lines, conversation_markdown
from sapwood.turns.open_agent import open_agent

_EXACT = frozenset(
    {
        *("hash", "tools", "signature", "commit", "tree", "folder", "worktree", "branch"),
        *("origin", "passage", "agent", "child", "target", "by", "to", "sender"),
        *("tip", "head", "summary", "request", "mask", "context", "successor", "parent"),
    }
)
"""Fields that are not masked, because they are compared, opened or sent back unchanged."""


@dataclass
class Findings:
    """The results of the calls, and the faults."""

    calls: int = 0
    refused: int = 0
    events: int = 0
    agents: int = 0
    replayed: int = 0
    problems: list[str] = field(default_factory=list[str])
    methods: Counter[str] = field(default_factory=Counter[str])

    def __add__(self, other: "Findings") -> "Findings":
        return Findings(
            self.calls + other.calls,
            self.refused + other.refused,
            self.events + other.events,
            self.agents + other.agents,
            self.replayed + other.replayed,
            self.problems + other.problems,
            self.methods + other.methods,
        )

    @property
    def accepted(self) -> int:
        """The number of accepted calls."""
        return self.calls - self.refused


async def prove(address: str, calls: int, seed: int, lanes: int = 1) -> Findings:
    """Makes this many calls on a store and checks everything that was stored.

    Several tasks make the calls at once, each in its own space.
    """
    share = -(-calls // lanes)
    numbers = [seed + lane for lane in range(lanes)]
    async with sapwood.open(address) as db:
        found = await asyncio.gather(*(_lane(db, share, number) for number in numbers))
    if address != ":memory:":
        async with sapwood.open(address) as db:  # by another process, as it were
            for number, findings in zip(numbers, found, strict=True):
                again = Findings()
                await _check(db.space(f"gate-{number}"), again)
                findings.problems += [f"opened again: {problem}" for problem in again.problems]
    return sum(found[1:], found[0])


async def _lane(db: Sapwood, calls: int, seed: int) -> Findings:
    findings = Findings()
    with tempfile.TemporaryDirectory() as folder:
        space = db.space(f"gate-{seed}")
        await _play(space, Random(seed), calls, folder, findings)
        await _check(space, findings)
    return findings


async def _play(db: Sapwood, random: Random, calls: int, folder: str, findings: Findings) -> None:
    caller = Caller(db, random, folder)
    await caller.begin()
    for number in range(calls):
        findings.calls += 1
        try:
            findings.methods[await caller.call()] += 1
        except SapwoodError:
            findings.refused += 1
        except Exception as error:  # whatever else it is, it is a defect
            trace = "".join(traceback.format_exception(error)[-6:])
            findings.problems.append(
                f"call {number}: {type(error).__name__}: {error!r:.200}\n{trace}"
            )


async def _check(db: Sapwood, findings: Findings) -> None:
    """Opens every agent, and runs request, search, tail, export and replay."""
    connection = db.connection
    agents = [summary.agent for summary in await db.agents(limit=100_000)]
    findings.agents = len(agents)
    for agent in agents:
        try:
            await _check_agent(db, agent, findings)
        except Exception as error:  # whatever it is, it is a defect
            trace = "".join(traceback.format_exception(error)[-6:])
            findings.problems.append(f"{agent}: {type(error).__name__}: {error!r:.200}\n{trace}")
    try:
        tailed = await _tail(db, findings.events)
        for each in tailed:
            if isinstance(each.recorded.event, UnreadableEvent):
                event = each.recorded.event
                findings.problems.append(f"{each.recorded.ref} cannot be read: {event.reason}")
        await db.search("oslo", limit=1_000)
        await db.search('"cold in" u6578', limit=1_000)
        await connection.log.conversations(connection.space, "/nowhere")
    except Exception as error:  # whatever it is, it is a defect
        findings.problems.append(f"the space: {''.join(traceback.format_exception(error)[-6:])}")


async def _tail(db: Sapwood, count: int) -> list[TailedEvent]:
    """Every event of the space."""
    found: list[TailedEvent] = []
    async with aclosing(cast("AsyncGenerator[TailedEvent]", db.tail())) as events:
        with suppress(TimeoutError):
            while len(found) < count:
                found.append(await asyncio.wait_for(anext(events), 30))
    if len(found) != count:
        raise AssertionError(f"the tail has {len(found)} of {count} events")
    return found


async def _check_agent(db: Sapwood, agent: AgentId, findings: Findings) -> None:
    connection = db.connection
    handle = await db.find(agent)
    state, request = await handle.state(), await handle.request()
    await handle.budget()
    events = await handle.events()
    findings.events += len(events)
    folded = await open_agent(connection.log, connection.space, agent)
    if folded.state != state:
        findings.problems.append(f"{agent}: the log folds to another state")
    for recorded in events:
        stored = encode(recorded.event)
        if decode(stored.kind, stored.data, stored.contents) != recorded.event:
            findings.problems.append(f"{recorded.ref}: is not read back as it was stored")
        if SECRET in _masked_parts(recorded.event):
            findings.problems.append(f"{recorded.ref}: holds a secret: {stored.data[:300]}")
        json_line(event_value(recorded)).encode()
        event_line(recorded, 80).encode()
        if isinstance(recorded.event, ModelCalled):
            findings.replayed += 1
            if not (await handle.replay(recorded.version)).matches:
                findings.problems.append(f"{recorded.ref}: the call is replayed differently")
    list(turns_of(events))
    for everything in (False, True):
        rows = await read_conversation(
            connection.log, connection.space, agent, everything=everything
        )
        conversation_markdown(state, rows).encode()
        "\n".join(conversation_lines(rows, 80, whole=True)).encode()
    with suppress(LogError):  # there was no call
        await handle.replay()
    if request.messages and request.messages[0].role != "user":
        findings.problems.append(f"{agent}: the request begins with the assistant")


def _masked_parts(event: Event) -> str:
    """The event as JSON, without the fields that are never masked: hashes, folders, places."""

    def without(value: object) -> object:
        match value:
            case dict():
                fields = cast("dict[str, object]", value).items()
                return {name: without(item) for name, item in fields if name not in _EXACT}
            case list() | tuple():
                return [without(item) for item in cast("list[object]", value)]
            case _:
                return value

    return json.dumps(without(msgspec.to_builtins(event)))
