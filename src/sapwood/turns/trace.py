"""Tracing of the runtime's work: turns, model calls, tool calls, compactions.

A trace has no effect on the work; the log holds what happened. `Untraced` records nothing.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from sapwood.core.commands import Compact
from sapwood.core.content import ToolCall
from sapwood.core.model_calls import Answer, ToolOutcome
from sapwood.core.state import State
from sapwood.core.turn import Turn
from sapwood.core.view import Request


class Tracing(Protocol):
    """Records pieces of work. Each method returns a context manager for one piece.

    The `with` block calls the yielded function with the result of the work. If the block raises,
    the work failed. Blocks are nested as the work is, by context variables.
    """

    def turn(self, state: State) -> AbstractContextManager[Callable[[Turn], None]]:
        """An open turn is driven. The result is the turn if it has ended."""
        ...

    def call(
        self, state: State, request: Request
    ) -> AbstractContextManager[Callable[[Answer], None]]:
        """A model is called. The result is the answer with its secrets masked."""
        ...

    def tool(
        self, state: State, call: ToolCall
    ) -> AbstractContextManager[Callable[[ToolOutcome], None]]:
        """A tool is run. Without a result the call waits and is run again later."""
        ...

    def compaction(self, state: State) -> AbstractContextManager[Callable[[Compact], None]]:
        """A summary is written and checked. Without a result it was not used."""
        ...

    def close(self) -> None:
        """Exports everything that is still buffered."""
        ...


class SharedTracing:
    """Tracing that several runners use. They do not close it; whoever made it does."""

    def __init__(self, inner: Tracing) -> None:
        self.turn = inner.turn
        self.call = inner.call
        self.tool = inner.tool
        self.compaction = inner.compaction

    def close(self) -> None:
        """Leaves it open for the others."""


class Untraced:
    """Records nothing."""

    def turn(self, state: State) -> AbstractContextManager[Callable[[Turn], None]]:
        """Records nothing."""
        return nullcontext(_ignore)

    def call(
        self, state: State, request: Request
    ) -> AbstractContextManager[Callable[[Answer], None]]:
        """Records nothing."""
        return nullcontext(_ignore)

    def tool(
        self, state: State, call: ToolCall
    ) -> AbstractContextManager[Callable[[ToolOutcome], None]]:
        """Records nothing."""
        return nullcontext(_ignore)

    def compaction(self, state: State) -> AbstractContextManager[Callable[[Compact], None]]:
        """Records nothing."""
        return nullcontext(_ignore)

    def close(self) -> None:
        """There is nothing to export."""


def _ignore(_: object) -> None: ...
