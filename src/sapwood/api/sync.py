"""The same face without `await`, for scripts and notebooks.

Nothing is written twice: each method here is the asynchronous one, run on a loop in a thread of
its own, with its signature and its docstring.
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
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from sapwood.api.agent import Agent
from sapwood.api.database import Sapwood
from sapwood.api.database import open as open_async
from sapwood.api.turn import TurnRecorder
from sapwood.core.content import PromptPart
from sapwood.core.errors import LogError
from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId
from sapwood.core.log import Cursor, Tailed

__all__ = ["SyncAgent", "SyncSapwood", "SyncTurnRecorder", "open_sync"]

P = ParamSpec("P")
R = TypeVar("R")
Inner = TypeVar("Inner")


class _Loop:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="sapwood", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        if self._loop.is_closed():
            work.close()
            raise LogError("The database is closed. Open it again to go on.")
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result()
        except Exception:
            raise
        except BaseException:  # Ctrl-C: the work goes on unless it is told
            self.run(_stopped(work))
            raise

    def stop(self) -> None:
        self.run(self._loop.shutdown_asyncgens())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _stopped(work: Coroutine[Any, Any, Any]) -> None:
    """Cancels the work and waits until it has put everything away."""
    tasks = [task for task in asyncio.all_tasks() if task.get_coro() is work]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    work.close()


class _Plain(Generic[Inner]):
    def __init__(self, loop: _Loop, inner: Inner) -> None:
        self._loop = loop
        self._inner = inner

    def _run(self, work: Coroutine[Any, Any, R]) -> R:
        return self._loop.run(work)

    def _each(self, items: AsyncIterator[R]) -> Iterator[R]:
        """The items, each waited for."""

        async def following() -> tuple[R, ...]:
            try:
                return (await anext(items),)
            except StopAsyncIteration:
                return ()

        async def ending() -> None:
            if isinstance(items, AsyncGenerator):
                await items.aclose()

        try:
            while found := self._run(following()):
                yield from found
        finally:
            with suppress(LogError):
                self._run(ending())


def _plainly(
    method: Callable[Concatenate[Inner, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[_Plain[Inner], P], R]:
    """The method, waited for."""

    @wraps(method)
    def plain(self: _Plain[Inner], *args: P.args, **kwargs: P.kwargs) -> R:
        return self._run(method(self._inner, *args, **kwargs))  # pyright: ignore[reportPrivateUsage]

    return plain


def _plainly_agent(
    method: Callable[Concatenate[Inner, P], Coroutine[Any, Any, Agent]],
) -> Callable[Concatenate[_Plain[Inner], P], "SyncAgent"]:
    """The method, waited for, where it returns an agent."""

    @wraps(method)
    def plain(self: _Plain[Inner], *args: P.args, **kwargs: P.kwargs) -> "SyncAgent":
        agent = self._run(method(self._inner, *args, **kwargs))  # pyright: ignore[reportPrivateUsage]
        return SyncAgent(self._loop, agent)  # pyright: ignore[reportPrivateUsage]

    return plain


class SyncTurnRecorder(_Plain[TurnRecorder]):
    """`TurnRecorder`, without `await`.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as wood:
    ...     agent = wood.start("weather")
    ...     with agent.turn("Is it cold in Oslo?") as turn:
    ...         turn.reply(calls=[sapwood.ToolCall("1", "weather")])
    ...         turn.result("1", "-3 degrees")
    ...         turn.reply("Yes, -3 degrees.")
    ...     len(agent.request().messages)
    4
    """

    call = _plainly(TurnRecorder.call)
    reply = _plainly(TurnRecorder.reply)
    started = _plainly(TurnRecorder.started)
    result = _plainly(TurnRecorder.result)

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


class SyncAgent(_Plain[Agent]):
    """`Agent`, without `await`.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as wood:
    ...     agent = wood.start("demo")
    ...     agent.record("What is 6 x 7?", "42")
    ...     agent.mark("EASY")
    ...     child = agent.fork(goal="Explain it.")
    ...     len(child.request().messages)
    "Marked 'EASY'."
    3
    """

    record = _plainly(Agent.record)
    interrupt = _plainly(Agent.interrupt)
    submit = _plainly(Agent.submit)
    mark = _plainly(Agent.mark)
    clear = _plainly(Agent.clear)
    rewind = _plainly(Agent.rewind)
    undo = _plainly(Agent.undo)
    redo = _plainly(Agent.redo)
    compact = _plainly(Agent.compact)
    mask = _plainly(Agent.mask)
    pin = _plainly(Agent.pin)
    unpin = _plainly(Agent.unpin)
    focus = _plainly(Agent.focus)
    unfocus = _plainly(Agent.unfocus)
    configure = _plainly(Agent.configure)
    checkpoint = _plainly(Agent.checkpoint)
    revert = _plainly(Agent.revert)
    fork = _plainly_agent(Agent.fork)
    mail = _plainly(Agent.mail)
    read_mail = _plainly(Agent.read_mail)
    kill = _plainly(Agent.kill)
    archive = _plainly(Agent.archive)
    new = _plainly_agent(Agent.new)
    state = _plainly(Agent.state)
    request = _plainly(Agent.request)
    budget = _plainly(Agent.budget)
    events = _plainly(Agent.events)
    replay = _plainly(Agent.replay)
    diff = _plainly(Agent.diff)
    do = _plainly(Agent.do)
    opened = _plainly(Agent.opened)

    def __repr__(self) -> str:
        return f"Sync{self._inner!r}"

    @property
    def id(self) -> AgentId:
        """The agent's id."""
        return self._inner.id

    def turn(self, prompt: str | Sequence[PromptPart] | None = None) -> SyncTurnRecorder:
        """Opens a turn: `with agent.turn("…") as turn: turn.reply("…")`.

        Without a prompt it takes up the turn that is open: the goal of a child, a submitted
        prompt, or what a process that died left behind.
        """
        return SyncTurnRecorder(self._loop, self._inner.turn(prompt))

    def send(self, to: "SyncAgent | str", text: str) -> str:
        """Sends mail to another agent or id. Mail never carries the user's authority."""
        return self._run(self._inner.send(to if isinstance(to, str) else to.id, text))

    def follow(self, after: int = 0) -> Iterator[Recorded]:
        """Every event after a version, then each new one as it happens, from any process."""
        return self._each(self._inner.follow(after))


class SyncSapwood(_Plain[Sapwood]):
    """`Sapwood`, without `await`.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as wood:
    ...     wood.start("demo").record("Remember the heron.", "I will.")
    ...     [hit.snippet for hit in wood.search("heron")]
    ['Remember the heron. I will.']
    """

    start = _plainly_agent(Sapwood.start)
    agent = _plainly_agent(Sapwood.agent)
    agents = _plainly(Sapwood.agents)
    search = _plainly(Sapwood.search)
    event = _plainly(Sapwood.event)

    def space(self, name: str) -> "SyncSapwood":
        """Another space of the same database, such as that of another tenant. Needs no closing.

        >>> import sapwood
        >>> with sapwood.open_sync(":memory:") as wood:
        ...     _ = wood.space("tenant-7").start("demo")
        ...     print(len(wood.agents()), len(wood.space("tenant-7").agents()))
        0 1
        """
        return SyncSapwood(self._loop, self._inner.space(name))

    def tail(self, after: Cursor | None = None) -> Iterator[Tailed]:
        """Every event of every agent after a cursor, then each new one as it happens."""
        return self._each(self._inner.tail(after))


@contextmanager
def open_sync(address: str | Path, *, space: str = "local") -> Generator[SyncSapwood]:
    """`sapwood.open`, without `await`.

    >>> import sapwood
    >>> with sapwood.open_sync(":memory:") as wood:
    ...     wood.agents()
    []
    """
    loop = _Loop()
    opening: AbstractAsyncContextManager[Sapwood] = open_async(address, space=space)
    try:
        wood = loop.run(opening.__aenter__())
        try:
            yield SyncSapwood(loop, wood)
        finally:
            loop.run(opening.__aexit__(None, None, None))
    finally:
        loop.stop()
