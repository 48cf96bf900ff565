"""A chat server that sends its thinking in a field of its own gets it back there."""

import json
from collections.abc import AsyncGenerator

import httpx2
import pytest

from sapwood.core.content import Text, Thinking, ToolCall
from sapwood.core.view import Message, Request, ToolResult
from sapwood.models import Models
from tests.models.conversation import Conversation

MODEL = "den:deep"


class Den(httpx2.AsyncBaseTransport):
    """A server that thinks on every second request, and notes what it is sent."""

    def __init__(self) -> None:
        self.sent: list[list[dict[str, object]]] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        assert isinstance(request.stream, httpx2.AsyncByteStream)
        body = b"".join([piece async for piece in request.stream])
        self.sent.append(json.loads(body)["messages"])
        thinks = len(self.sent) % 2 == 0
        calls = [
            {
                "index": 0,
                "id": "c1",
                "function": {"name": "weather", "arguments": '{"city":"Oslo"}'},
            }
        ]
        deltas: list[dict[str, object]] = [
            {"reasoning_content": "Hm."} if thinks else {},
            {"content": "Yes."} if len(self.sent) % 3 else {"tool_calls": calls},
        ]
        ends = [None, None, "stop"]
        choices = [
            {"index": 0, "delta": delta, "finish_reason": end}
            for delta, end in zip([*deltas, {}], ends, strict=True)
        ]
        common = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "deep"}
        lines = "".join(
            f"data: {json.dumps(common | {'choices': [choice]})}\n\n" for choice in choices
        )
        return httpx2.Response(
            200,
            headers={"content-type": "text/event-stream"},
            content=f"{lines}data: [DONE]\n\n".encode(),
        )


@pytest.fixture
def den(monkeypatch: pytest.MonkeyPatch) -> Den:
    den = Den()
    plain = httpx2.AsyncClient.__init__

    def init(self: httpx2.AsyncClient, **settings: object) -> None:
        plain(self, **{"transport": den, **settings})  # pyright: ignore[reportArgumentType]  # passed on

    monkeypatch.setattr(httpx2.AsyncClient, "__init__", init)
    return den


@pytest.fixture
async def models(den: Den) -> AsyncGenerator[Models]:
    async with Models({}, urls={"den": "http://den/v1"}) as models:
        yield models


async def test_thinking_goes_back_in_the_field_that_it_came_in(den: Den, models: Models) -> None:
    talk = Conversation(models, MODEL)
    for text in ("one", "two", "three", "four"):
        await talk.say(text)
    thought = Thinking("Hm.", "den", "reasoning_content")
    assert [thought in answer.parts for answer in talk.answers][:4] == [False, True, False, True]
    fields = [m.get("reasoning_content") for m in den.sent[-1] if m["role"] == "assistant"]
    assert fields == [None, "Hm.", "", "Hm."]


async def test_what_was_sent_is_never_sent_otherwise(den: Den, models: Models) -> None:
    talk = Conversation(models, MODEL)
    for text in ("one", "two", "three", "four"):
        await talk.say(text)
    for earlier, later in zip(den.sent, den.sent[1:], strict=False):
        assert later[: len(earlier)] == earlier


async def test_another_server_gets_none_of_it(den: Den, models: Models) -> None:
    messages = (
        Message("user", (Text("Is it cold?"),)),
        Message(
            "assistant",
            (Thinking("Hm.", "hut", "reasoning_content"), ToolCall("c1", "weather")),
        ),
        Message("user", (ToolResult("c1", "weather", "yes"),)),
    )
    async for _ in models.stream(Request(MODEL, (), messages)):
        pass
    assert "reasoning_content" not in den.sent[0][1]
