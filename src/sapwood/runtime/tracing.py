"""What the runtime tells of its work while it goes on: turns, model calls, tools, compactions.

Whoever listens decides nothing: the log holds what happened. `Untraced` is for when nobody does.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from sapwood.core.calling import Answer, ToolOutcome
from sapwood.core.commands import Compact
from sapwood.core.content import ToolCall
from sapwood.core.state import State
from sapwood.core.turn import Turn
from sapwood.core.view import Request

__all__ = ["Tracing", "Untraced"]


class Tracing(Protocol):
    """Hears of pieces of work. Each is a `with` block, which is given how the work ended.

    Work that raises ended with that. Blocks are nested as the work is, by context variables.
    """

    def turn(self, state: State) -> AbstractContextManager[Callable[[Turn], None]]:
        """An open turn is driven, as far as it goes here. Told the turn if it ended."""
        ...

    def call(
        self, state: State, request: Request
    ) -> AbstractContextManager[Callable[[Answer], None]]:
        """A model is called."""
        ...

    def tool(
        self, state: State, call: ToolCall
    ) -> AbstractContextManager[Callable[[ToolOutcome], None]]:
        """A tool is run. Told nothing, it is looked at again later, and this was nothing."""
        ...

    def compaction(self, state: State) -> AbstractContextManager[Callable[[Compact], None]]:
        """A summary is written and checked. Told nothing, nothing came of it."""
        ...

    def close(self) -> None:
        """Hands over what was heard and not passed on yet."""
        ...


class Untraced:
    """Nobody listens."""

    def turn(self, state: State) -> AbstractContextManager[Callable[[Turn], None]]:
        """Not told."""
        return nullcontext(_nobody)

    def call(
        self, state: State, request: Request
    ) -> AbstractContextManager[Callable[[Answer], None]]:
        """Not told."""
        return nullcontext(_nobody)

    def tool(
        self, state: State, call: ToolCall
    ) -> AbstractContextManager[Callable[[ToolOutcome], None]]:
        """Not told."""
        return nullcontext(_nobody)

    def compaction(self, state: State) -> AbstractContextManager[Callable[[Compact], None]]:
        """Not told."""
        return nullcontext(_nobody)

    def close(self) -> None:
        """Nothing was heard."""


def _nobody(_: object) -> None: ...
