"""A model in memory whose replies come from a function, for tests without HTTP.

>>> import asyncio
>>> from sapwood.core.content import Text
>>> model = FakeModel(lambda request, heard: f"You said: {heard}")
>>> model.requests
[]
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from itertools import count

from sapwood.core.content import Text, Thinking, ToolCall, Usage
from sapwood.core.model_calls import Answer, Delta, Effect, ToolOutcome, ToolSpec, ToolUse
from sapwood.core.view import Request, ToolResult

Planned = str | Answer | ToolCall | Sequence[Text | ToolCall]

Plan = Callable[[Request, str], Planned]
"""Returns the reply to a request and the last text of the user, or the last tool result."""

_numbers = count(1)


def slash(command: str, args: str = "") -> ToolCall:
    """Returns a call of the tool `slash`."""
    return ToolCall(
        f"call{next(_numbers)}", "slash", json.dumps({"command": command, "args": args})
    )


class FakeModel:
    """A model that replies what a function returns, and records the requests.

    `window` is the context window of every model in tokens. `thinks_for` is the time before each
    reply in seconds. `requests` are the requests so far, and `asked` is set by the first one.
    """

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
        """Yields each text of the reply as a delta, then the whole reply."""
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
        """Returns the same window for every model."""
        return self._window


class NoTools:
    """A set of tools that is empty."""

    async def specs(self) -> Sequence[ToolSpec]:
        """Returns no tools."""
        return ()

    def effect(self, use: ToolUse) -> Effect:
        """Returns `none` for every call."""
        return "none"

    async def run(self, use: ToolUse) -> ToolOutcome:
        """Returns an error: the tool does not exist."""
        return ToolOutcome(f"There is no tool '{use.call.name}'.", error=True)

    async def close(self) -> None:
        """Does nothing."""


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
    """Returns the last text of the user, or the last tool result."""
    for message in reversed(request.messages):
        if message.role == "user":
            last = message.parts[-1]
            if isinstance(last, ToolResult):
                return last.content
            if isinstance(last, Text | Thinking):
                return last.text
    return ""
