"""A chat server that sends its thinking in a field of its own gets it back there."""

import json
from collections.abc import AsyncGenerator

import httpx2
import msgspec
import pytest
from msgspec import structs

from sapwood.core.content import Text, Thinking, ToolCall
from sapwood.core.model_calls import Delta
from sapwood.core.view import Message, Request, ToolResult
from sapwood.models import Models
from sapwood.models.model_routes import ModelRoute, resolve
from sapwood.models.wire import chat_request
from sapwood.models.wire.chat_answer import ChatReader
from sapwood.models.wire.sse import ServerEvent
from sapwood.models.wire.wire_call import WireCall
from tests.models.conversation import Conversation

MODEL = "den:deep"
DEN = resolve(MODEL, {"den": "http://den/v1"})


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


def answered(*deltas: object) -> tuple[list[Delta], Message]:
    """What a chat server answers in these deltas."""
    reader, pieces = ChatReader(DEN), list[Delta]()
    for delta in deltas:
        data = json.dumps({"choices": [{"delta": delta}]}).encode()
        pieces += reader.feed(ServerEvent("", data))
    return pieces, Message("assistant", tuple(reader.reply().parts))


def sent_back(*messages: Message, route: ModelRoute = DEN) -> list[dict[str, object]]:
    """The messages of the model, as they go to a server."""
    history = [Message("user", (Text("Is it cold?"),))]
    for message in messages:
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        history.append(message)
        results = [ToolResult(call.id, call.name, "yes") for call in calls]
        history.append(Message("user", (*results, Text("Go on."))))
    call = WireCall(route, "key", Request(MODEL, (), tuple(history)))
    sent = json.loads(chat_request.post_of(call).body)["messages"]
    return [each for each in sent if each["role"] == "assistant"]


def call_delta(index: int, **more: object) -> dict[str, object]:
    function = {"name": "weather", "arguments": "{}"}
    return {"index": index, "id": f"c{index}", "type": "function", "function": function, **more}


def test_the_signature_of_a_call_goes_back_with_the_call() -> None:
    signed = {"google": {"thought_signature": "c2lnbmVk"}}
    calls = [call_delta(0, extra_content=signed), call_delta(1, extra_content=None)]
    _, message = answered({"tool_calls": calls})
    assert isinstance(message.parts[0], Thinking)
    renamed = tuple(
        structs.replace(part, id=f"{part.id}-9") if isinstance(part, ToolCall) else part
        for part in message.parts
    )
    (sent,) = sent_back(Message("assistant", renamed))
    assert [call.get("extra_content") for call in _calls_in(sent)] == [signed, None]
    assert "reasoning_details" not in sent
    (elsewhere,) = sent_back(message, route=resolve("hut:deep", {"hut": "http://hut/v1"}))
    assert not any("extra_content" in call for call in _calls_in(elsewhere))


def _calls_in(message: dict[str, object]) -> list[dict[str, object]]:
    return msgspec.convert(message["tool_calls"], list[dict[str, object]])


def test_the_details_of_thinking_go_back_as_they_came() -> None:
    shown = {"type": "reasoning.text", "index": 0, "format": "google-gemini-v1"}
    hidden = {"type": "reasoning.encrypted", "index": 1, "id": "c0", "data": "c2ln"}
    pieces, message = answered(
        {"reasoning": "Oslo ", "reasoning_details": [{**shown, "text": "Oslo "}]},
        {"reasoning": "is north.", "reasoning_details": [{**shown, "text": "is north."}]},
        {"reasoning_details": [{**shown, "text": None, "signature": "c2lnbmVk"}]},
        {"tool_calls": [call_delta(0)], "reasoning_details": [hidden]},
    )
    assert [piece.text for piece in pieces if piece.kind == "thinking"] == ["Oslo ", "is north."]
    first, second = sent_back(message, Message("assistant", (Text("Yes."),)))
    whole = {**shown, "text": "Oslo is north.", "signature": "c2lnbmVk"}
    assert first["reasoning_details"] == [whole, hidden]
    assert first["reasoning"] == "Oslo is north."
    assert "reasoning_details" not in second


def test_thinking_that_comes_in_details_alone_is_thinking() -> None:
    detail = {"type": "reasoning.summary", "summary": "Oslo is north."}
    pieces, message = answered({"reasoning_details": [detail]}, {"content": "Yes."})
    assert next((piece.kind, piece.text) for piece in pieces) == ("thinking", "Oslo is north.")
    assert isinstance(message.parts[0], Thinking)
    assert message.parts[0].text == "Oslo is north."
    (sent,) = sent_back(message)
    assert sent["reasoning_details"] == [detail]
    assert "reasoning" not in sent


@pytest.mark.parametrize("details", [None, {}, "Hm.", [1], [{"type": 3}]])
def test_details_of_another_form_are_passed_over(details: object) -> None:
    _, message = answered({"reasoning_details": details, "content": "Yes."})
    assert message.parts[-1] == Text("Yes.")
    assert sent_back(message)


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
