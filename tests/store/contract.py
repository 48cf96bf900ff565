"""What the contract suite is written in: short ways to make events and commits, and to wait.

Every store passes the same tests (`test_contract_*.py`) on the real engine. A test gets an open
`log`, a `space` of its own, and `open_log` to open the same database once more.
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
from sapwood.core.log import Append, Commit, Facts, Receipt, VersionConflict
from sapwood.runtime.log import Log

__all__ = [
    "Backend",
    "OpenLog",
    "append",
    "commit_of",
    "grow",
    "new_command",
    "on_databases",
    "said",
    "start",
    "take",
    "texts",
]

T = TypeVar("T")
OpenLog = Callable[[], Awaitable[Log]]

on_databases = pytest.mark.parametrize("backend", ["sqlite", "postgres"], indirect=True)
"""Marks a test that needs a database behind the log."""

_SECONDS = 60.0
_NOON = 1_750_000_000_000_000
_numbers = itertools.count(1)


class Backend(Protocol):
    """A kind of database under test, and one database of it."""

    name: str
    address: str

    async def open(self) -> Log:
        """The log in this database; a second call opens it a second time."""
        ...

    async def size(self) -> int:
        """The bytes that the database takes."""
        ...

    async def execute(self, statement: str) -> None:
        """Runs SQL behind the log's back, as the database's owner would; raises what it raises."""
        ...


def new_command() -> CommandId:
    """An id that no other command has, of this process or another."""
    return CommandId(f"command-{os.getpid()}-{next(_numbers)}")


def said(text: str) -> TurnStarted:
    """The smallest event that holds a text."""
    return TurnStarted(parent=None, prompt=(Text(text),))


def texts(recorded: list[Recorded]) -> list[str]:
    """The texts of events that `said` or a tool made."""
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
    **facts: Any,
) -> Append:
    """Events for one log; named arguments become its facts."""
    command = command or new_command()
    return Append(
        agent,
        expected,
        tuple(
            Recorded(agent, expected + place, event, _NOON + expected + place, HUMAN, command)
            for place, event in enumerate(events, start=1)
        ),
        Facts(agent, expected + len(events), **facts),
    )


def commit_of(*appends: Append, command: CommandId | None = None, says: str = "") -> Commit:
    """Appends with a receipt that names their events."""
    refs = tuple(recorded.ref for each in appends for recorded in each.events)
    return Commit(appends, Receipt(command or new_command(), says, refs))


async def start(log: Log, space: Space, agent: AgentId, *said_texts: str, **facts: Any) -> None:
    """A new agent with an event for each text, or with one event when there is none."""
    events = [said(text) for text in said_texts or ("hello",)]
    assert await log.commit(space, commit_of(append(agent, *events, **facts))) is None


async def grow(log: Log, space: Space, agent: AgentId, *said_texts: str) -> None:
    """More events for an agent, whoever else writes to it: on a conflict load and try again."""
    events = [said(text) for text in said_texts]
    while True:
        facts = await log.facts(space, agent)
        expected = facts.version if facts else 0
        try:
            await log.commit(space, commit_of(append(agent, *events, expected=expected)))
        except VersionConflict:
            continue
        return


async def take(iterator: AsyncIterator[T], count: int) -> list[T]:
    """The next `count` things, then the iterator is closed. Fails when they do not come."""
    found: list[T] = []
    async with asyncio.timeout(_SECONDS), aclosing(cast("AsyncGenerator[T]", iterator)):
        while len(found) < count:
            found.append(await anext(iterator))
    return found
