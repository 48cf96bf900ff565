"""The same API without `await`, for scripts and notebooks.

Each method runs the asynchronous one on an event loop in a thread, and has its signature and its
docstring.
"""

import asyncio
import threading
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Coroutine,
    Generator,
    Iterator,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, Generic, Literal, ParamSpec, TypeVar, overload

from sapwood.api.agent import Agent
from sapwood.api.database import Sapwood
from sapwood.api.database import open as open_async
from sapwood.api.results import Result
from sapwood.api.turn_recorder import TurnRecorder
from sapwood.api.turn_stream import TurnResult, TurnStream
from sapwood.core.content import PromptPart
from sapwood.core.errors import LogError
from sapwood.core.events import Actor, Recorded
from sapwood.core.ids import AgentId
from sapwood.core.log_values import Cursor, TailedEvent
from sapwood.core.model_calls import Delta
from sapwood.core.turn_params import TurnParams

P = ParamSpec("P")
R = TypeVar("R")
Inner = TypeVar("Inner")


class _Loop:
    """An event loop in its own thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._started: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="sapwood", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        if self._loop.is_closed():
            work.close()
            raise LogError("The database is closed. Open it again to continue.")
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result()
        except Exception:
            raise
        except BaseException:  # Ctrl-C: without this the work would continue
            self.run(_cancelled(work))
            raise

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs the work and does not wait for it. Nothing happens after the loop was closed.

        The garbage collector may call this in any thread, also in that of the loop, which cannot
        wait for its own work.
        """
        try:
            self._loop.call_soon_threadsafe(self._start, work)
        except RuntimeError:  # the loop is closed
            work.close()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._started.add(task)
        task.add_done_callback(self._started.discard)

    async def _end(self) -> None:
        await asyncio.gather(*self._started, return_exceptions=True)
        await self._loop.shutdown_asyncgens()

    def stop(self) -> None:
        self.run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _cancelled(work: Coroutine[Any, Any, Any]) -> None:
    """Cancels the work and waits until it has ended."""
    tasks = [task for task in asyncio.all_tasks() if task.get_coro() is work]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    work.close()


class _SyncWrapper(Generic[Inner]):
    def __init__(self, loop: _Loop, inner: Inner) -> None:
        self._loop = loop
        self._inner = inner

    def _run(self, work: Coroutine[Any, Any, R]) -> R:
        return self._loop.run(work)

    def _each(self, items: AsyncIterator[R]) -> Iterator[R]:
        """Yields the items of an asynchronous iterator."""

        async def next_item() -> tuple[R, ...]:
            try:
                return (await anext(items),)
            except StopAsyncIteration:
                return ()

        async def close() -> None:
            if isinstance(items, AsyncGenerator):
                with suppress(LogError):
                    await items.aclose()

        try:
            while found := self._run(next_item()):
                yield from found
        finally:
            self._loop.start(close())


def _sync(
    method: Callable[Concatenate[Inner, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[_SyncWrapper[Inner], P], R]:
    """Returns the method as a synchronous one."""

    @wraps(method)
    def run(self: _SyncWrapper[Inner], *args: P.args, **kwargs: P.kwargs) -> R:
        return self._run(method(self._inner, *args, **kwargs))  # pyright: ignore[reportPrivateUsage]

    return run


def _sync_agent(
    method: Callable[Concatenate[Inner, P], Coroutine[Any, Any, Agent]],
) -> Callable[Concatenate[_SyncWrapper[Inner], P], "SyncAgent"]:
    """Returns the method as a synchronous one that returns a `SyncAgent`."""

    @wraps(method)
    def run(self: _SyncWrapper[Inner], *args: P.args, **kwargs: P.kwargs) -> "SyncAgent":
        agent = self._run(method(self._inner, *args, **kwargs))  # pyright: ignore[reportPrivateUsage]
        return SyncAgent(self._loop, agent)  # pyright: ignore[reportPrivateUsage]

    return run


class SyncTurnStream(_SyncWrapper[TurnStream[R]], Generic[R]):
    """`TurnStream`, without `await`. Iterating yields words and events; `result` waits for the end.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as db:
    ...     turn = db.start("demo").ask("Hello!")
    ...     turn.turn  # nothing was sent: neither `result` nor an item was asked for
    0
    """

    def __iter__(self) -> Iterator[Delta | Recorded]:
        return self._each(aiter(self._inner))

    def send(self) -> None:
        """Sends the prompt now, if it was not sent yet. Raises `RefusedError`."""
        self._run(self._inner.send())

    @property
    def turn(self) -> int:
        """The version at which the turn starts; 0 before it was sent."""
        return self._inner.turn

    @property
    def result(self) -> TurnResult[R]:
        """Waits for the end of the turn and returns it. Raises `TurnError` if the turn failed."""

        async def ended() -> TurnResult[R]:
            return await self._inner

        return self._run(ended())


class SyncTurnRecorder(_SyncWrapper[TurnRecorder]):
    """`TurnRecorder`, without `await`.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as db:
    ...     agent = db.start("weather")
    ...     with agent.turn("Is it cold in Oslo?") as turn:
    ...         turn.reply(calls=[sapwood.ToolCall("1", "weather")])
    ...         turn.result("1", "-3 degrees")
    ...         turn.reply("Yes, -3 degrees.")
    ...     len(agent.request().messages)
    4
    """

    call = _sync(TurnRecorder.call)
    reply = _sync(TurnRecorder.reply)
    started = _sync(TurnRecorder.started)
    result = _sync(TurnRecorder.result)
    delta = _sync(TurnRecorder.delta)
    fail = _sync(TurnRecorder.fail)

    @property
    def version(self) -> int:
        """The version of the log at which the turn starts."""
        return self._inner.version

    def __enter__(self) -> "SyncTurnRecorder":
        self._run(self._inner.__aenter__())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._run(self._inner.__aexit__(kind, error, trace))


class SyncAgent(_SyncWrapper[Agent]):
    """`Agent`, without `await`.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as db:
    ...     agent = db.start("demo")
    ...     _ = agent.record("What is 6 x 7?", "42")
    ...     print(agent.mark("EASY"))
    ...     child = agent.fork(goal="Explain it.")
    ...     len(child.request().messages)
    Marked 'EASY'.
    3
    """

    record = _sync(Agent.record)
    interrupt = _sync(Agent.interrupt)
    prompt = _sync(Agent.prompt)
    run_command = _sync(Agent.run_command)
    mark = _sync(Agent.mark)
    clear = _sync(Agent.clear)
    drop = _sync(Agent.drop)
    restore = _sync(Agent.restore)
    rewind = _sync(Agent.rewind)
    undo = _sync(Agent.undo)
    redo = _sync(Agent.redo)
    compact = _sync(Agent.compact)
    mask = _sync(Agent.mask)
    pin = _sync(Agent.pin)
    unpin = _sync(Agent.unpin)
    focus = _sync(Agent.focus)
    unfocus = _sync(Agent.unfocus)
    configure = _sync(Agent.configure)
    checkpoint = _sync(Agent.checkpoint)
    revert = _sync(Agent.revert)
    fork = _sync_agent(Agent.fork)
    mail = _sync(Agent.mail)
    read_mail = _sync(Agent.read_mail)
    kill = _sync(Agent.kill)
    archive = _sync(Agent.archive)
    unarchive = _sync(Agent.unarchive)
    rename = _sync(Agent.rename)
    label = _sync(Agent.label)
    erase = _sync(Agent.erase)
    archive_to = _sync(Agent.archive_to)
    new = _sync_agent(Agent.new)
    state = _sync(Agent.state)
    request = _sync(Agent.request)
    budget = _sync(Agent.budget)
    events = _sync(Agent.events)
    replay = _sync(Agent.replay)
    diff = _sync(Agent.diff)
    do = _sync(Agent.do)
    opened = _sync(Agent.opened)

    def __repr__(self) -> str:
        return f"Sync{self._inner!r}"

    @property
    def id(self) -> AgentId:
        """The agent's id."""
        return self._inner.id

    @overload
    def ask(
        self,
        prompt: str | Sequence[PromptPart],
        *,
        params: TurnParams | None = None,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> SyncTurnStream[str]: ...

    @overload
    def ask(
        self,
        prompt: str | Sequence[PromptPart],
        *,
        output: type[R],
        params: TurnParams | None = None,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> SyncTurnStream[R]: ...

    def ask(
        self,
        prompt: str | Sequence[PromptPart],
        *,
        output: type[Any] | None = None,
        params: TurnParams | None = None,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> SyncTurnStream[Any]:
        """Sends a prompt and returns the turn: a stream of words and events, with a result."""
        asked = {"params": params, "command_id": command_id, "actor": actor}
        typed = {} if output is None else {"output": output}
        turn: TurnStream[Any] = self._inner.ask(prompt, **asked, **typed)  # pyright: ignore[reportCallIssue, reportUnknownVariableType, reportArgumentType] # as above
        return SyncTurnStream(self._loop, turn)  # pyright: ignore[reportUnknownArgumentType]

    def turn(
        self,
        prompt: str | Sequence[PromptPart] | None = None,
        *,
        lease: float = 60.0,
        take_over: bool = False,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> SyncTurnRecorder:
        """Returns a recorder: `with agent.turn("…") as turn: turn.reply("…")`.

        Entering the block starts a turn with `prompt`. Without a prompt it continues the open turn:
        the goal of a child, a prompt of `prompt`, or the turn of a process that died.

        Inside the block this process has a lease of `lease` seconds, which it renews, so that no
        other process runs the same turn. A process that dies holds the turn until its lease ends;
        `take_over` takes the turn up before that, and the other process can change it no more.
        The same `command_id` given twice starts one turn. `actor` is who asks.

        Entering raises `RefusedError` if a turn is already open, if there is none to continue, or
        if another process runs it.
        """
        recorder = self._inner.turn(
            prompt, lease=lease, take_over=take_over, command_id=command_id, actor=actor
        )
        return SyncTurnRecorder(self._loop, recorder)

    def send(
        self,
        to: "SyncAgent | str",
        text: str,
        *,
        command_id: str | None = None,
        actor: Actor | None = None,
    ) -> Result:
        """Sends mail to another agent, given as `Agent` or by its id.

        The receiver reads it as information, not as an instruction of the user. Raises
        `RefusedError` if there is no such agent, it has ended, or its mailbox is full.
        """
        receiver = to if isinstance(to, str) else to.id
        return self._run(self._inner.send(receiver, text, command_id=command_id, actor=actor))

    def follow(self, after: int = 0) -> Iterator[Recorded]:
        """Yields every event after a version, then each new one, from any process. Never ends."""
        return self._each(self._inner.follow(after))

    def watch(self, after: int = 0, size: int = 0) -> Iterator[Delta | Recorded]:
        """Yields as `follow` does, and words of replies as deltas while they arrive. Never ends.

        Each word comes once. Who begins in the middle of a reply gets its words so far first. Go on
        after the last item that you have with `watch(item.version)` for an event, and with
        `watch(item.version, item.size)` for a delta. At `reply.lost`, discard the words of the
        reply that was arriving: its process ended, and the model is asked again.
        """
        return self._each(self._inner.watch(after, size))


class SyncSapwood(_SyncWrapper[Sapwood]):
    """`Sapwood`, without `await`.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as db:
    ...     _ = db.start("demo").record("Remember the heron.", "I will.")
    ...     [hit.snippet for hit in db.search("heron")]
    ['Remember the heron. I will.']
    """

    start = _sync_agent(Sapwood.start)
    get = _sync_agent(Sapwood.get)
    find = _sync_agent(Sapwood.find)
    agents = _sync(Sapwood.agents)
    search = _sync(Sapwood.search)
    event = _sync(Sapwood.event)
    erase = _sync(Sapwood.erase)
    erase_space = _sync(Sapwood.erase_space)
    restore = _sync_agent(Sapwood.restore)
    erasures = _sync(Sapwood.erasures)

    def space(self, name: str) -> "SyncSapwood":
        """Returns another space of the same database, for example of another tenant.

        It need not be closed. Raises `LogError` if the name cannot be stored.

        >>> import sapwood
        >>> with sapwood.open_sync(":memory:") as db:
        ...     _ = db.space("tenant-7").start("demo")
        ...     print(len(db.agents()), len(db.space("tenant-7").agents()))
        0 1
        """
        return SyncSapwood(self._loop, self._inner.space(name))

    now = _sync(Sapwood.now)

    def tail(self, after: Cursor | Literal["now"] | None = None) -> Iterator[TailedEvent]:
        """Yields the events of all agents after a cursor, then each new one. Never ends.

        Without a cursor it begins with the first event of the space. With `"now"` it begins with
        the first event that is stored after the first step of the loop.

        Raises `LogError` if the cursor is not of this space.
        """
        return self._each(self._inner.tail(after))


@contextmanager
def open_sync(
    address: str | Path, *, space: str = "local", token: str = ""
) -> Generator[SyncSapwood]:
    """`sapwood.open`, without `await`.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as db:
    ...     db.agents()
    []
    """
    loop = _Loop()
    opening: AbstractAsyncContextManager[Sapwood] = open_async(address, space=space, token=token)
    try:
        db = loop.run(opening.__aenter__())
        try:
            yield SyncSapwood(loop, db)
        finally:
            loop.run(opening.__aexit__(None, None, None))
    finally:
        loop.stop()
