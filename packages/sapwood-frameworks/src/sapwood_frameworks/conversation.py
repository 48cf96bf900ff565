"""The class `Conversation`: the history of a framework, kept as the turns of one agent.

A framework hands over messages when it likes: the prompt before a run, each reply and its tool
results, or everything at the end. `Conversation.add` puts them into turns: a prompt starts a turn,
and a reply without tool calls completes it. All it needs to know is in the log, so any process can
go on where another one stopped.

The error of an integration whose framework is not installed.

The class `BackgroundLoop`: runs coroutines for a program that has no event loop.

The class `StoredValues`: values of a framework that are no messages, such as its state.

They are kept as the turns of an agent of their own, each with all values as JSON. The newest turn
counts; the older ones stay in the log.
"""

import asyncio
import hashlib
import json
import re
import threading
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Self, TypeVar, cast

from msgspec import Struct, structs

from sapwood.api import Agent, Sapwood
from sapwood.api import open as open_database
from sapwood.core.commands import (
    AddReply,
    CompleteTurn,
    FinishTool,
    Fork,
    InterruptTurn,
    RecordTurn,
    StartAgent,
    StartTurn,
    StreamReply,
)
from sapwood.core.content import (
    Note,
    PromptPart,
    RecordedReply,
    RecordedResult,
    ReplyPart,
    Text,
    Thinking,
    ToolCall,
)
from sapwood.core.errors import RefusedError, SapwoodError
from sapwood.core.events import SYSTEM, Actor, TurnRecorded
from sapwood.core.ids import AgentId
from sapwood.core.lease import MAX_LEASE, Lease
from sapwood.core.turn import Reply, Result, Turn
from sapwood.core.view import Request

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_PAGE = 2
_GOES_ON = "The program continued without a prompt of the user."


class Prompt(Struct, frozen=True):
    """A message of the user, or of the program that runs the framework."""

    parts: tuple[PromptPart, ...]


Item = Prompt | RecordedReply | RecordedResult


def agent_id(session: str) -> str:
    """The id of the agent for a session of a framework: the same text if it can be an id.

    >>> agent_id("chat-42"), agent_id("user/42")
    ('chat-42', 's-332b96de7f247cfd2491')
    """
    if _ID.fullmatch(session):
        return session
    return "s-" + hashlib.blake2b(session.encode("utf-8", "replace"), digest_size=10).hexdigest()


class Database:
    """A space of a database that is opened at its first use.

    `database` is an address as for `sapwood.open`, or a `Sapwood` that the caller opened and
    closes. A program may use it from several event loops, one after the other, if it is not in
    memory: that one ends with its loop.
    """

    def __init__(self, database: str | Path | Sapwood, *, space: str = "local") -> None:
        self._given = database
        self._space = space
        self._opened: Sapwood | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opening = asyncio.Lock()

    async def db(self) -> Sapwood:
        """Returns the open space."""
        if isinstance(self._given, Sapwood):
            return self._given
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            if self._opened is not None and str(self._given) == ":memory:":
                raise SapwoodError(
                    "This history is in memory and ended with the event loop that opened it. Give "
                    "the path of a file to use it from another event loop."
                )
            self._opened, self._loop, self._opening = None, loop, asyncio.Lock()
        async with self._opening:
            if self._opened is None:
                opening = open_database(self._given, space=self._space)
                self._opened = await opening.__aenter__()
                self._closing = opening
        return self._opened

    async def close(self) -> None:
        """Closes the database, if this object opened it."""
        if self._opened is not None and self._loop is asyncio.get_running_loop():
            self._opened = None
            await self._closing.__aexit__(None, None, None)


class Conversation:
    """One conversation of a framework; `owner` is to whom it belongs, for lists."""

    def __init__(self, database: Database, session: str, *, cap: int = 0, owner: str = "") -> None:
        self.database = database
        self.session = session
        self.id = AgentId(agent_id(session))
        self._cap = cap
        self._owner = owner
        self._agent: Agent | None = None
        self._writing: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None

    async def agent(self) -> Agent:
        """Returns the agent of the conversation; it is started if there is none."""
        db = await self.database.db()
        if self._agent is not None and self._agent.connection is db.connection:
            return self._agent
        name = "" if self.session == self.id else self.session[:200]
        self._agent = await db.start(
            name, id=self.id, resume=True, cap=self._cap, owner=self._owner
        )
        return self._agent

    async def request(self) -> Request:
        """Returns what the model would get now."""
        return await (await self.agent()).request()

    async def add(
        self, items: Iterable[Item], *, completes: bool = True, ends: bool = False
    ) -> None:
        """Adds messages in order.

        A reply that says something and calls no tool completes the turn if it is the last of
        `items`, unless `completes` is false because more replies may follow. With `ends`, a turn
        that is open after the last item is ended.
        """
        async with self._alone():
            agent = await self.agent()
            waiting = _joined(items)
            while waiting:
                waiting = await _add_turn(agent, waiting, completes=completes or ends)
            if ends:
                await _end(agent)

    async def stream(self, parts: tuple[ReplyPart, ...]) -> None:
        """Adds to the words of a reply that is arriving; the whole reply replaces them."""
        async with self._alone():
            agent = await self.agent()
            with suppress(RefusedError):  # no turn is open, or its tools run
                await agent.do(StreamReply(agent.id, parts, 0), holder=_holder(agent))

    async def streamed(self) -> tuple[ReplyPart, ...]:
        """Returns the words of the reply that was arriving, in any process."""
        connection = (await self.agent()).connection
        words = await connection.log.words(connection.space, self.id)
        return () if words is None else words.parts

    async def pop(self) -> bool:
        """Takes the newest part of the context out of it; the log keeps it.

        The last turn is rewound and written again without its last part. Returns whether there
        was a turn.
        """
        async with self._alone():
            agent = await self.agent()
            opened = await agent.opened()
            if not opened.live.all_turns:
                return False
            turn = opened.live.all_turns[-1]
            if opened.state.open is not None:
                await agent.do(InterruptTurn(agent.id, "taken back"), SYSTEM, holder=_holder(agent))
            await agent.run_command(f"/rewind {turn.agent}/{turn.number}")
            if turn.items:
                await agent.do(_started(agent, turn.prompt), holder=_holder(agent))
                await _extend(agent, _without_last_part(turn), completes=False)
            return True

    async def clear(self) -> None:
        """Takes the whole history out of the context. `Agent.undo` brings it back."""
        async with self._alone():
            agent = await self.agent()
            await _end(agent)
            await agent.clear()

    async def fork(self, session: str, mark: str | None = None) -> "Conversation":
        """Starts another conversation with the context of this one, and returns it.

        With `mark`, it has only what came after that mark.
        """
        async with self._alone():
            agent = await self.agent()
            child = AgentId(agent_id(session))
            name = "" if session == child else session[:200]
            await agent.do(Fork(agent.id, child, mark, name=name, continues=True))
        return Conversation(self.database, session, cap=self._cap, owner=self._owner)

    @asynccontextmanager
    async def _alone(self) -> AsyncGenerator[Self]:
        """One writer of this object at a time: a turn is added before the next one begins."""
        loop = asyncio.get_running_loop()
        if self._writing is None or self._writing[0] is not loop:
            self._writing = loop, asyncio.Lock()
        async with self._writing[1]:
            yield self


async def _add_turn(agent: Agent, items: list[Item], *, completes: bool) -> list[Item]:
    """Adds the items up to the next prompt, and returns the rest."""
    first = items[0]
    after = 1 if isinstance(first, Prompt) else 0
    rest = next((i for i in range(after, len(items)) if isinstance(items[i], Prompt)), len(items))
    recorded = [each for each in items[after:rest] if not isinstance(each, Prompt)]
    completes = completes or rest < len(items)
    if isinstance(first, Prompt):
        await _end(agent)
        if completes and _is_whole(recorded):
            await agent.do(RecordTurn(agent.id, first.parts, tuple(recorded)))
            return items[rest:]
        await agent.do(_started(agent, first.parts), holder=_holder(agent))
    elif (await agent.state()).open is None:
        return [Prompt((Note("program", _GOES_ON),)), *items]
    await _extend(agent, recorded, completes=completes)
    return items[rest:]


def _started(agent: Agent, prompt: tuple[PromptPart, ...]) -> StartTurn:
    """The start of a turn that the framework runs, and no worker of Sapwood."""
    lease = Lease(_holder(agent), time.time_ns() // 1_000 + MAX_LEASE)
    return StartTurn(agent.id, prompt, lease=lease)


def _holder(agent: Agent) -> str:
    """Who has the lease: the same in every process of the program, so that any can go on."""
    return f"integration-{agent.id}"


def _joined(items: Iterable[Item]) -> list[Item]:
    """The items without empty ones; prompts that follow each other become one."""
    joined: list[Item] = []
    for item in items:
        last = joined[-1] if joined else None
        if isinstance(item, Prompt) and isinstance(last, Prompt):
            joined[-1] = Prompt((*last.parts, *item.parts))
        elif isinstance(item, RecordedResult) or item.parts:
            joined.append(item)
    return joined


def _is_whole(items: Sequence[RecordedReply | RecordedResult]) -> bool:
    """Whether the items complete a turn: every call has a result, and a reply ends it."""
    if not items or not _answers(items[-1]):
        return False
    calls = [call.id for each in items if isinstance(each, RecordedReply) for call in _calls(each)]
    results = [each.call for each in items if isinstance(each, RecordedResult)]
    return len(calls) == len(set(calls)) and sorted(calls) == sorted(results)


def _calls(reply: RecordedReply) -> list[ToolCall]:
    return [part for part in reply.parts if isinstance(part, ToolCall)]


def _answers(item: RecordedReply | RecordedResult) -> bool:
    """Whether this is a reply that says something and calls no tool. Thinking says nothing."""
    return (
        isinstance(item, RecordedReply)
        and not _calls(item)
        and any(not isinstance(part, Thinking) for part in item.parts)
    )


async def _extend(
    agent: Agent, items: Sequence[RecordedReply | RecordedResult], *, completes: bool
) -> None:
    """Adds replies and results to the open turn, and completes it if the last one answers."""
    for item in items:
        if isinstance(item, RecordedReply):
            reply = AddReply(agent.id, item.parts, item.model, item.usage)
            await agent.do(reply, Actor("model", item.model), holder=_holder(agent))
        else:
            finish = FinishTool(agent.id, item.call, item.content, item.error, files=item.files)
            await agent.do(finish, SYSTEM, holder=_holder(agent))
    if completes and items and _answers(items[-1]):
        await _end(agent)


async def _end(agent: Agent) -> None:
    """Ends the open turn, if there is one: it is interrupted if a call has no result."""
    turn = (await agent.state()).open
    if turn is None:
        return
    if turn.calls:
        command = InterruptTurn(agent.id, "the program went on without the results of its tools")
        await agent.do(command, SYSTEM, holder=_holder(agent))
    else:
        await agent.do(CompleteTurn(agent.id), SYSTEM, holder=_holder(agent))


def _without_last_part(turn: Turn) -> list[RecordedReply | RecordedResult]:
    items: list[RecordedReply | RecordedResult] = [
        RecordedReply(each.parts, each.model, each.usage)
        if isinstance(each, Reply)
        else _recorded(each)
        for each in turn.items
    ]
    last = items.pop()
    if isinstance(last, RecordedReply):
        parts = last.parts[:-1]
        if any(not isinstance(part, Thinking) for part in parts):  # thinking alone is never sent
            items.append(structs.replace(last, parts=parts))
    return items


def _recorded(result: Result) -> RecordedResult:
    return RecordedResult(result.call, result.content, result.error, files=result.files)


class FrameworkMissing(SapwoodError, ImportError):
    """The framework of an integration is not installed. The text says how to install it."""


def framework_missing(extra: str, error: ModuleNotFoundError) -> Exception:
    """Returns what an integration raises if it cannot import its framework.

    >>> print(framework_missing("langgraph", ModuleNotFoundError("No module named 'langchain'")))
    No module named 'langchain'. Install it with: pip install 'sapwood[langgraph]'
    """
    return FrameworkMissing(f"{error}. Install it with: pip install 'sapwood[{extra}]'")


_Result = TypeVar("_Result")


class BackgroundLoop:
    """An event loop in a thread of its own, started at its first use.

    >>> async def answer() -> int:
    ...     return 42
    >>> loop = BackgroundLoop()
    >>> loop.run(answer())
    42
    >>> loop.stop()
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting = threading.Lock()

    def run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Runs a coroutine and returns its result."""
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
                self._thread.start()
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def stop(self) -> None:
        """Ends the thread, if it was started."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._loop = None


Values = dict[str, object]


class StoredValues:
    """Named values under one name, in any process."""

    def __init__(self, database: Database, name: str) -> None:
        self._database = database
        self._name = name
        self.id = AgentId(agent_id(f"values/{name}"))

    async def read(self) -> Values:
        """Returns the values; none if nothing was stored."""
        agent, last = await self._agent(), None
        # A turn that does not fit is trimmed after it was stored, so it may not be the last event.
        while found := await agent.events(last=last, limit=_PAGE, backward=True):
            for recorded in found:
                if isinstance(recorded.event, TurnRecorded):
                    values = json.loads(recorded.event.prompt[0].text)
                    return cast("Values", values)
            last = found[-1].version - 1
            if not last:
                break
        return {}

    async def update(self, changes: Values) -> None:
        """Sets the given values; the others stay, also those that others set at the same time."""
        if changes:
            await self._change(lambda values: {**values, **changes})

    async def clear(self) -> None:
        """Removes all values, if there are any. The log keeps them."""
        if await self.read():
            await self._change(lambda _: {})

    async def _change(self, changed: Callable[[Values], Values]) -> None:
        agent = await self._started()
        while True:
            state = await agent.state()
            values = changed(await self.read())
            note = Note("program", json.dumps(values, ensure_ascii=False, default=str))
            record = RecordTurn(self.id, (note,), (RecordedReply((Text("stored"),)),))
            # A command id is used once, so that of two updates of the same values one is refused.
            once = f"{self.id}/{state.created}/{state.version}"
            try:
                await agent.do(record, command_id=once)
            except RefusedError:
                if (await agent.state()).version == state.version:  # no other update came first
                    raise
            else:
                return

    async def _started(self) -> Agent:
        agent = await self._agent()
        with suppress(RefusedError):  # it was started before
            await agent.do(StartAgent(self.id, self._name[:200], script=True))
        return agent

    async def _agent(self) -> Agent:
        return Agent((await self._database.db()).connection, self.id)
