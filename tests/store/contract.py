"""Helpers of the contract suite: create events and commits, and wait.

Every store passes the same tests (`test_contract_*.py`) on the real engine. A test gets an open
`log`, an unused `space`, and `open_log` to open the same database again.
"""

import asyncio
import itertools
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, Protocol, TypeVar, cast

import pytest

from sapwood.core.content import Text
from sapwood.core.events import HUMAN, Event, Recorded, ToolFinished, TurnStarted
from sapwood.core.ids import AgentId, CommandId, Space
from sapwood.core.log_values import AgentSummary, Append, Commit, Receipt, VersionConflict
from sapwood.turns.log import Log

T = TypeVar("T")
OpenLog = Callable[[], Awaitable[Log]]

on_databases = pytest.mark.parametrize("backend", ["sqlite", "postgres"], indirect=True)
"""Marks a test that needs a database."""

_SECONDS = 60.0
_NOON = 1_750_000_000_000_000
_numbers = itertools.count(1)


class Backend(Protocol):
    """A kind of database under test, and one database of it."""

    name: str
    address: str

    async def open(self) -> Log:
        """Opens the log in this database; a second call opens it a second time."""
        ...

    async def size(self) -> int:
        """The size of the database in bytes."""
        ...

    async def execute(self, statement: str) -> None:
        """Runs SQL without the log, as the owner of the database; raises the driver's error."""
        ...


def new_command() -> CommandId:
    """An id that no other command has, in any process."""
    return CommandId(f"command-{os.getpid()}-{next(_numbers)}")


def prompt_event(text: str) -> TurnStarted:
    """The smallest event with a text."""
    return TurnStarted(parent=None, prompt=(Text(text),))


def texts(recorded: list[Recorded]) -> list[str]:
    """The texts of events made by `prompt_event` or by a tool."""
    found: list[str] = []
    for each in recorded:
        match each.event:
            case TurnStarted(prompt=prompt):
                found.append("".join(part.text for part in prompt))
            case ToolFinished(content=content):
                found.append(content)
            case other:
                raise AssertionError(f"no text in {other.kind}")
    return found


def append(
    agent: AgentId,
    *events: Event,
    expected: int = 0,
    command: CommandId | None = None,
    **summary: Any,
) -> Append:
    """Events for one agent; named arguments become fields of its summary."""
    command = command or new_command()
    return Append(
        agent,
        expected,
        tuple(
            Recorded(agent, expected + place, event, _NOON + expected + place, HUMAN, command)
            for place, event in enumerate(events, start=1)
        ),
        AgentSummary(agent, expected + len(events), **summary),
    )


def commit_of(
    *appends: Append, command: CommandId | None = None, message: str = "", digest: str = ""
) -> Commit:
    """Appends with a receipt that names their events."""
    refs = tuple(recorded.ref for each in appends for recorded in each.events)
    return Commit(appends, Receipt(command or new_command(), message, refs, digest))


async def start(log: Log, space: Space, agent: AgentId, *prompts: str, **summary: Any) -> None:
    """A new agent with an event for each text, or with one event when there is none."""
    events = [prompt_event(text) for text in prompts or ("hello",)]
    assert await log.commit(space, commit_of(append(agent, *events, **summary))) is None


async def grow(log: Log, space: Space, agent: AgentId, *prompts: str) -> None:
    """Appends events to an agent that others write to as well; tries again after a conflict."""
    events = [prompt_event(text) for text in prompts]
    while True:
        summary = await log.summary(space, agent)
        expected = summary.version if summary else 0
        try:
            await log.commit(space, commit_of(append(agent, *events, expected=expected)))
        except VersionConflict:
            continue
        return


async def take(iterator: AsyncIterator[T], count: int) -> list[T]:
    """Takes the next `count` items and closes the iterator. Fails if they do not arrive."""
    found: list[T] = []
    async with asyncio.timeout(_SECONDS), aclosing(cast("AsyncGenerator[T]", iterator)):
        while len(found) < count:
            found.append(await anext(iterator))
    return found
