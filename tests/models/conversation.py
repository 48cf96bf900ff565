"""Conversations with models in tests, in every wire format."""

from collections.abc import Callable

import pytest

from sapwood.core.content import Text, ToolCall
from sapwood.core.model_calls import Answer, Delta, RetryWait, ToolSpec
from sapwood.core.view import Block, Message, Request, ToolResult
from sapwood.core.view.request import MessagePart
from sapwood.models import Models, RetryPolicy, Timeouts

MODELS = {
    "messages": "anthropic:claude-haiku-5-5",
    "responses": "openai:gpt-6.1-sol",
    "chat": "openai-chat:gpt-6.1-terra",
    "gemini": "google:gemini-3.8-flash",
    "compatible": "compatible:qwen3",
}
KEYS = {name: f"secret-of-{name}" for name in ("anthropic", "openai", "google")}
TOOLS = (
    ToolSpec(
        "weather",
        "Tells the weather.",
        '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}',
    ),
)

every_wire = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def urls(server: str) -> dict[str, str]:
    """Every provider's address, on one server."""
    return {
        "anthropic": server,
        "openai": f"{server}/v1",
        "google": server,
        "compatible": f"{server}/v1",
        "den": f"{server}/v1",
    }


def open_models(
    server: str,
    *,
    keys: dict[str, str] | None = None,
    tries: int = 5,
    silence: float = 20.0,
    on_wait: Callable[[RetryWait], None] | None = None,
) -> Models:
    """Models that are all at one server, with little patience."""
    return Models(
        KEYS if keys is None else keys,
        urls=urls(server),
        retry=RetryPolicy(max_attempts=tries, first_delay=0.001, max_delay=1.0),
        timeouts=Timeouts(connect=2.0, silence=silence),
        on_wait=on_wait,
    )


def ask(model: str, *texts: str) -> Request:
    """A request with one message."""
    return Request(model, (), (Message("user", tuple(Text(text) for text in texts)),))


async def collect(models: Models, request: Request, **params: object) -> tuple[list[Delta], Answer]:
    """Everything that comes back: deltas first, one answer last."""
    deltas: list[Delta] = []
    answers: list[Answer] = []
    async for piece in models.stream(request, TOOLS, params=params):
        if isinstance(piece, Answer):
            answers.append(piece)
        else:
            assert not answers
            deltas.append(piece)
    (answer,) = answers
    return deltas, answer


class Conversation:
    """A conversation. Tools are answered by themselves, as the turn loop would."""

    def __init__(self, models: Models, model: str, *system: str) -> None:
        self.models = models
        self.model = model
        self.system = tuple(
            Block("system" if not i else "pin", "", s) for i, s in enumerate(system)
        )
        self.messages: list[Message] = []
        self.answers: list[Answer] = []

    @property
    def request(self) -> Request:
        return Request(self.model, self.system, tuple(self.messages))

    async def say(self, text: str) -> Answer:
        """A prompt, and all that it takes to get it answered."""
        answer = await self.step(Text(text))
        while calls := [part for part in answer.parts if isinstance(part, ToolCall)]:
            answer = await self.step(*(ToolResult(c.id, c.name, f"done: {c.args}") for c in calls))
        return answer

    async def step(self, *parts: MessagePart) -> Answer:
        """One message, one answer."""
        self.messages.append(Message("user", parts))
        _, answer = await collect(self.models, self.request)
        self.messages.append(Message("assistant", answer.parts))
        self.answers.append(answer)
        return answer
