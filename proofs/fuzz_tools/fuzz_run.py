"""Runs turns of hostile calls on a real runner, with a planned model and a folder of odd files."""

import asyncio
import logging
import os
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

from msgspec import Struct, field

from proofs.fuzz_tools.hostile_calls import hostile_call
from sapwood.api.agent import Agent
from sapwood.api.database import Sapwood
from sapwood.app.agent_runner import AgentRunner
from sapwood.app.connection import connect
from sapwood.core.content import Text, ToolCall
from sapwood.core.events import ReplyAdded, ToolFinished
from sapwood.core.view import Request
from sapwood.engine.local_engine import LocalEngine
from sapwood.testing import FakeModel
from sapwood.workspace.permissions.permission_gate import PermissionGate
from sapwood.workspace.permissions.permission_rules import parse_rules
from sapwood.workspace.workspace_toolbox import WorkspaceToolbox

_CALLS_IN_TURN = 50
_TURNS_OF_AGENT = 10
_TURN_SECONDS = 120
_RULES = ("allow read_file", "allow write_file(**)", "allow shell(true)")
_PROMPT = "Call hostile tools."


class FuzzCounts(Struct):
    """What happened. `defects` are exceptions that tools raised, one line each."""

    calls: int = 0
    turns: int = 0
    results: int = 0
    errors: int = 0
    missing: int = 0
    open_turns: int = 0
    by_tool: Counter[str] = field(default_factory=Counter[str])
    defects: list[str] = field(default_factory=list[str])

    @property
    def is_good(self) -> bool:
        return not (self.missing or self.open_turns or self.defects)


class _Defects(logging.Handler):
    def __init__(self, found: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._found = found

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self._found.append(f"{record.getMessage()}: {error!r}"[:300])


async def fuzz(calls: int, seed: int, seconds: float) -> FuzzCounts:
    """Makes at least so many calls, for at most so many seconds, and counts what came of them."""
    counts = FuzzCounts()
    handler = _Defects(counts.defects)
    log = logging.getLogger("sapwood.tools")
    log.addHandler(handler)
    until = time.monotonic() + seconds
    random = Random(seed)
    try:
        with tempfile.TemporaryDirectory() as folder:
            _fill(Path(folder))
            while counts.calls < calls and time.monotonic() < until:
                wanted = min(calls - counts.calls, _CALLS_IN_TURN * _TURNS_OF_AGENT)
                await _one_agent(random, folder, wanted, counts)
    finally:
        log.removeHandler(handler)
    return counts


async def _one_agent(random: Random, folder: str, wanted: int, counts: FuzzCounts) -> None:
    """A new database with one agent, which makes the wanted number of calls."""
    connection = await connect(":memory:")
    planned: list[ToolCall] = []

    def plan(request: Request, heard: str) -> str | Sequence[Text | ToolCall]:
        calls = [*planned]
        planned.clear()
        return calls or "done"

    tools = WorkspaceToolbox(PermissionGate(parse_rules(_RULES)))
    runner = AgentRunner(connection, LocalEngine(), FakeModel(plan), tools)
    await runner.start()
    try:
        agent = await Sapwood(connection).start(model="planned", folder=folder)
        while wanted > 0:
            size = min(wanted, _CALLS_IN_TURN)
            start = counts.calls
            made = [hostile_call(random, start + n, agent.id) for n in range(size)]
            planned.extend(made)
            wanted -= size
            await _one_turn(runner, agent, made, counts)
    finally:
        await runner.close()
        await connection.close()


async def _one_turn(
    runner: AgentRunner, agent: Agent, made: Sequence[ToolCall], counts: FuzzCounts
) -> None:
    before = (await agent.state()).version
    await agent.run_command(_PROMPT)
    try:
        async with asyncio.timeout(_TURN_SECONDS):
            async for _ in runner.watch(agent.id, before):
                if (await agent.state()).open is None:
                    break
    except TimeoutError:
        counts.open_turns += 1
        await agent.interrupt()
    asked: set[str] = set()
    done: dict[str, bool] = {}
    for recorded in await agent.events(before + 1):
        if isinstance(recorded.event, ReplyAdded):
            asked |= {p.id for p in recorded.event.parts if isinstance(p, ToolCall)}
        elif isinstance(recorded.event, ToolFinished):
            done[recorded.event.call] = recorded.event.error
    counts.calls += len(made)
    counts.turns += 1
    counts.by_tool.update(call.name for call in made)
    counts.results += len(done)
    counts.errors += sum(done.values())
    counts.missing += len(made) - len(done) if len(asked) >= len(made) else len(made)


def _fill(folder: Path) -> None:
    """Files of every kind: text, binary, a link to itself, a pipe, folders in folders."""
    (folder / "a.txt").write_text("one\ntwo\n" * 50, encoding="utf-8")
    (folder / "sub").mkdir()
    (folder / "sub" / "b.txt").write_bytes(bytes(range(256)))
    (folder / "link").symlink_to(folder / "link")
    os.mkfifo(folder / "pipe")
    (folder / ".gitignore").write_text("*.log\n[\n", encoding="utf-8")
