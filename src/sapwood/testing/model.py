"""A model in memory that answers by a plan: for tests that need no wire format.

>>> import asyncio
>>> from sapwood.core.content import Text
>>> model = PlannedModel(lambda request, heard: f"You said: {heard}")
>>> model.requests
[]
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from itertools import count

from sapwood.core.calling import Answer, Delta, Effect, ToolOutcome, ToolSpec, ToolUse
from sapwood.core.content import Text, Thinking, ToolCall, Usage
from sapwood.core.view import Request, ToolResult

__all__ = ["NoTools", "Plan", "Planned", "PlannedModel", "slash"]

Planned = str | Answer | ToolCall | Sequence[Text | ToolCall]

Plan = Callable[[Request, str], Planned]
"""What to answer to a request whose last words, or last tool result, were these."""

_numbers = count(1)


def slash(command: str, args: str = "") -> ToolCall:
    """A call of the slash tool."""
    return ToolCall(
        f"call{next(_numbers)}", "slash", json.dumps({"command": command, "args": args})
    )


class PlannedModel:
    """Answers by a plan and remembers what it was sent."""

    def __init__(self, plan: Plan, *, window: int = 200_000, thinks_for: float = 0) -> None:
        self._plan = plan
        self._window = window
        self._thinks_for = thinks_for
        self.requests: list[Request] = []
        self.asked = asyncio.Event()

    async def stream(
        self,
        request: Request,
        tools: Sequence[ToolSpec] = (),
        *,
        params: Mapping[str, object] | None = None,
    ) -> AsyncGenerator[Delta | Answer]:
        """The planned answer, its text as one delta first."""
        self.requests.append(request)
        self.asked.set()
        if self._thinks_for:
            await asyncio.sleep(self._thinks_for)
        planned = self._plan(request, _heard(request))
        answer = planned if isinstance(planned, Answer) else _answer(planned, request)
        for part in answer.parts:
            if isinstance(part, Text):
                yield Delta("text", part.text)
        yield answer

    def window_of(self, model: str) -> int | None:
        """The same for every model."""
        return self._window


class NoTools:
    """A toolbox without tools."""

    async def specs(self) -> Sequence[ToolSpec]:
        """None."""
        return ()

    def effect(self, use: ToolUse) -> Effect:
        """None."""
        return "none"

    async def run(self, use: ToolUse) -> ToolOutcome:
        """What a model is told that calls a tool which is not there."""
        return ToolOutcome(f"There is no tool '{use.call.name}'.", error=True)

    async def close(self) -> None:
        """Nothing was started."""


def _answer(planned: str | ToolCall | Sequence[Text | ToolCall], request: Request) -> Answer:
    parts: tuple[Text | ToolCall, ...]
    if isinstance(planned, str):
        parts = (Text(planned),)
    elif isinstance(planned, ToolCall):
        parts = (planned,)
    else:
        parts = tuple(planned)
    sent = sum(len(text) for text in request.texts())
    return Answer(parts, request.model, Usage(input=sent // 4, output=10))


def _heard(request: Request) -> str:
    """The last words of the user, or the last result of a tool."""
    for message in reversed(request.messages):
        if message.role == "user":
            last = message.parts[-1]
            if isinstance(last, ToolResult):
                return last.content
            if isinstance(last, Text | Thinking):
                return last.text
    return ""
