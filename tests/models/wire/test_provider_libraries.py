"""The providers' own libraries take what we send, and read in an answer what we read in it."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from sapwood.core.content import File, ReplyPart, Text, Thinking, ToolCall
from sapwood.core.model_calls import ToolSpec
from sapwood.core.view import Block, Message, Request, ToolResult
from sapwood.models.call_settings import settings_for
from sapwood.models.model_routes import ModelRoute, resolve
from sapwood.models.wire import (
    anthropic_request,
    chat_request,
    gemini_request,
    responses_request,
)
from sapwood.models.wire.anthropic_answer import MessagesReader
from sapwood.models.wire.chat_answer import ChatReader
from sapwood.models.wire.gemini_answer import GeminiReader
from sapwood.models.wire.http_client import HttpPost
from sapwood.models.wire.responses_answer import ResponsesReader
from sapwood.models.wire.signatures import REDACTED, decode_reasoning
from sapwood.models.wire.sse import EventReader
from sapwood.models.wire.wire_call import AnswerReader, Reply, WireCall


def library(name: str) -> Any:
    """A provider's library. It takes seconds to import, so only the tests that run do it."""
    return pytest.importorskip(name, reason=f"the library {name} is not installed")


ANSWERS = Path(__file__).parent / "answers"
CLAUDE = resolve("claude-haiku-5-5")
OPENAI = resolve("gpt-6.1-sol")
CHAT = resolve("openai-chat:gpt-6.1-terra")
GEMINI = resolve("gemini-3.8-flash")
SEAL = '{"id":"rs_1","data":"gAAA","texts":[["msg_1","commentary"]],"calls":{"c1":"fc_1"}}'
SIGNED = {
    "anthropic": "c2ln",
    "openai": SEAL,
    "openai-chat": "reasoning_content",
    "google": "c2ln",
}
PNG = File.of(b"\x89PNG\r\n\x1a\n....", name="a.png")
PDF = File.of(b"%PDF-1.4 ...", name="a.pdf")
WAV = File.of(b"RIFF\x24\0\0\0WAVEfmt ", name="a.wav")
TOOLS = (
    ToolSpec("weather", "Tells.", '{"type":"object","properties":{"city":{"type":"string"}}}'),
)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
}
PARAMS: tuple[dict[str, object], ...] = (
    {},
    {"thinking": "high", "max_tokens": 8_000},
    {"thinking": False, "temperature": 0.5, "stop_sequences": ["X"]},
    {"tool_choice": ["weather"], "parallel_tool_calls": False},
)


def history(route: ModelRoute) -> tuple[Message, ...]:
    """Every kind of part, in every place where it may stand."""
    thought = Thinking("Hm.", route.provider, SIGNED[route.provider])
    hidden = Thinking("", route.provider, REDACTED + "data")
    thoughts = (thought, hidden) if route.wire == "messages" else (thought,)
    call = ToolCall("c1", "weather", '{"city": "Oslo"}')
    return (
        Message("user", (Text("What?"), PNG, PDF, WAV, Text("More."))),
        Message("assistant", (*thoughts, Text("I look."), call, ToolCall("c2", "weather", "{bad"))),
        Message(
            "user",
            (
                ToolResult("c1", "weather", "cold", files=(PNG,)),
                ToolResult("c2", "weather", "invalid", error=True),
                Text("And?"),
            ),
        ),
        Message("assistant", (Text("A."), Text("B."))),
        Message("user", (Text("Go on."),)),
    )


def written(
    post_of: Callable[[WireCall], HttpPost], route: ModelRoute, **params: object
) -> dict[str, Any]:
    system = (Block("system", "", "Be brief."), Block("pin", "a", "A rule."))
    call = WireCall(
        route,
        "key",
        Request(route.model, system, history(route)),
        TOOLS,
        settings_for(route.wire, {name: params[name] for name in params if name != "schema"}),
        SCHEMA if "schema" in params else None,
    )
    return json.loads(post_of(call).body)


class Sent:
    """Keeps the body that a library sends, and answers with recorded events."""

    def __init__(self, events: bytes = b"") -> None:
        self.events = events
        self.body: object = None

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.body = json.loads(request.content)
        kind = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=kind, content=self.events)

    def client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(transport=httpx2.MockTransport(self))


def valid(shape: Any, body: Mapping[str, Any]) -> None:
    """Raises unless the body has the types that a library declares."""
    from pydantic import TypeAdapter

    adapter: TypeAdapter[Any] = TypeAdapter(shape)
    adapter.dump_python(adapter.validate_python(body))  # lists are validated when they are read


# What we send


@pytest.mark.parametrize("params", [*PARAMS, {"schema": SCHEMA}])
async def test_the_library_of_anthropic_would_send_the_same(params: dict[str, object]) -> None:
    body = written(anthropic_request.post_of, CLAUDE, **params)
    sent = Sent()
    client = library("anthropic").AsyncAnthropic(api_key="key", http_client=sent.client())
    async for _ in await client.messages.create(**body):
        pass
    assert sent.body == body
    valid(library("anthropic").types.message_create_params.MessageCreateParamsStreaming, body)


@pytest.mark.parametrize("params", [*PARAMS, {"schema": SCHEMA}])
async def test_the_library_of_openai_would_send_the_same_response(
    params: dict[str, object],
) -> None:
    body = written(responses_request.post_of, OPENAI, **params)
    sent = Sent()
    client = library("openai").AsyncOpenAI(api_key="key", http_client=sent.client())
    async for _ in await client.responses.create(**body):
        pass
    assert sent.body == body
    valid(
        library("openai").types.responses.response_create_params.ResponseCreateParamsStreaming, body
    )


@pytest.mark.parametrize("params", [*PARAMS, {"schema": SCHEMA}])
async def test_the_library_of_openai_would_send_the_same_chat(params: dict[str, object]) -> None:
    body = written(chat_request.post_of, CHAT, **params)
    sent = Sent()
    client = library("openai").AsyncOpenAI(api_key="key", http_client=sent.client())
    thinking = [m.pop("reasoning_content", None) for m in body["messages"]]
    async for _ in await client.chat.completions.create(**body):
        pass
    assert sent.body == body
    assert "Hm." in thinking
    valid(
        library("openai").types.chat.completion_create_params.CompletionCreateParamsStreaming, body
    )


@pytest.mark.parametrize("params", [*PARAMS, {"schema": SCHEMA}])
def test_the_library_of_google_takes_every_field(params: dict[str, object]) -> None:
    body = written(gemini_request.post_of, GEMINI, **params)
    types = library("google.genai").types
    contents = [types.Content.model_validate(each) for each in body["contents"]]
    assert [
        each.model_dump(mode="json", exclude_none=True, by_alias=True) for each in contents
    ] == [_url_safe(each) for each in body["contents"]]
    generation = body.get("generationConfig", {})
    config = {name: body[name] for name in ("systemInstruction", "tools", "toolConfig")}
    types.GenerateContentConfig.model_validate({**generation, **config})


def _url_safe(content: dict[str, Any]) -> dict[str, Any]:
    """The library writes bytes in the alphabet for URLs; the API takes both."""
    for part in content["parts"]:
        if "inlineData" in part:
            data = part["inlineData"]["data"]
            part["inlineData"]["data"] = data.replace("+", "-").replace("/", "_")
    return content


# What we receive


def read(reader: AnswerReader, events: bytes) -> Reply:
    for event in EventReader().feed(events):
        reader.feed(event)
    return reader.reply()


def shown(parts: list[ReplyPart]) -> list[tuple[object, ...]]:
    """The parts of a reply, with arguments as objects."""
    found: list[tuple[object, ...]] = []
    for part in parts:
        match part:
            case Text():
                found.append(("text", part.text))
            case Thinking():
                found.append(("thinking", part.text, part.signature))
            case ToolCall():
                found.append(("call", part.id, part.name, json.loads(part.args)))
            case File():
                pass
    return found


def answers(wire: str) -> list[Path]:
    files = sorted(ANSWERS.glob(f"{wire}*.sse"))
    assert files
    return files


def recorded(file: Path) -> bytes:
    return file.read_bytes()


def name_of(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("file", answers("messages"), ids=name_of)
async def test_the_library_of_anthropic_reads_the_same(file: Path) -> None:
    events = recorded(file)
    client = library("anthropic").AsyncAnthropic(api_key="key", http_client=Sent(events).client())
    asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    async with client.messages.stream(**asked) as stream:
        final = await stream.get_final_message()
    reply = read(MessagesReader(CLAUDE), events)
    theirs: list[tuple[object, ...]] = []
    for block in final.content:
        match block.type:
            case "text":
                theirs.append(("text", block.text))
            case "thinking":
                theirs.append(("thinking", block.thinking, block.signature))
            case "redacted_thinking":
                theirs.append(("thinking", "", REDACTED + block.data))
            case "tool_use":
                theirs.append(("call", block.id, block.name, block.input))
            case _:
                pass
    assert shown(reply.parts) == theirs
    assert (reply.model, reply.reason) == (final.model, final.stop_reason)
    usage = final.usage
    cached = (usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0)
    assert reply.usage is not None
    assert (reply.usage.cache_read, reply.usage.cache_write) == cached
    assert reply.usage.input == usage.input_tokens + sum(cached)
    assert reply.usage.output == usage.output_tokens


@pytest.mark.parametrize("file", answers("responses"), ids=name_of)
async def test_the_library_of_openai_reads_the_same_response(file: Path) -> None:
    events = recorded(file)
    client = library("openai").AsyncOpenAI(api_key="key", http_client=Sent(events).client())
    async with client.responses.stream(model="m", input="hi") as stream:
        final = (await stream.get_final_response()) if "incomplete" not in file.stem else None
    reply = read(ResponsesReader(OPENAI), events)
    if final is None:
        assert reply.ending == "length"
        return
    theirs: list[tuple[object, ...]] = []
    for item in final.output:
        match item.type:
            case "message":
                theirs += [("text", c.text) for c in item.content if c.type == "output_text"]
            case "reasoning":
                texts = [each.text for each in item.summary] or [""]
                data = [item.encrypted_content, *[""] * (len(texts) - 1)]
                theirs += [("thinking", t, item.id, d) for t, d in zip(texts, data, strict=True)]
            case "function_call":
                theirs.append(("call", item.call_id, item.name, json.loads(item.arguments)))
            case _:
                pass
    ours: list[tuple[object, ...]] = []
    for part in shown(reply.parts):
        sealed = decode_reasoning(str(part[2])) if part[0] == "thinking" else None
        ours.append((*part[:2], sealed.id, sealed.data) if sealed else part)
    assert ours == theirs
    assert reply.model == final.model
    assert reply.usage is not None
    assert reply.usage.input == final.usage.input_tokens
    assert reply.usage.output == final.usage.output_tokens
    assert reply.usage.cache_read == final.usage.input_tokens_details.cached_tokens


@pytest.mark.parametrize("file", answers("chat"), ids=name_of)
async def test_the_library_of_openai_reads_the_same_chat(file: Path) -> None:
    events = recorded(file)
    client = library("openai").AsyncOpenAI(api_key="key", http_client=Sent(events).client())
    asked: list[Any] = [{"role": "user", "content": "hi"}]
    async with client.chat.completions.stream(model="m", messages=asked) as stream:
        async for _ in stream:
            pass
        final = stream.current_completion_snapshot
    reply = read(ChatReader(CHAT), events)
    message = final.choices[0].message
    theirs: list[tuple[object, ...]] = []
    if thought := getattr(message, "reasoning_content", None):
        theirs.append(("thinking", thought, "reasoning_content"))
    theirs += [("text", message.content)] if message.content else []
    theirs += [
        ("call", call.id, call.function.name, json.loads(call.function.arguments))
        for call in message.tool_calls or ()
    ]
    assert shown(reply.parts) == theirs
    assert reply.model == final.model
    assert reply.reason == (message.refusal or final.choices[0].finish_reason)
    assert reply.usage is not None
    assert (reply.usage.input, reply.usage.output) == (
        final.usage.prompt_tokens,
        final.usage.completion_tokens,
    )


@pytest.mark.parametrize("file", answers("gemini"), ids=name_of)
async def test_the_library_of_google_reads_the_same(file: Path) -> None:
    events = recorded(file)
    options = library("google.genai").types.HttpOptions(httpx_async_client=Sent(events).client())
    client = library("google.genai").Client(api_key="key", http_options=options)
    stream = await client.aio.models.generate_content_stream(model="m", contents="hi")
    chunks = [chunk async for chunk in stream]
    reply = read(GeminiReader(GEMINI), events)
    text, thought = "", ""
    calls: list[tuple[str, Any]] = []
    for chunk in chunks:
        for candidate in chunk.candidates or ():
            for part in (candidate.content and candidate.content.parts) or ():
                if part.function_call:
                    calls.append((part.function_call.name, part.function_call.args))
                elif part.thought:
                    thought += part.text or ""
                else:
                    text += part.text or ""
    assert "".join(p.text for p in reply.parts if isinstance(p, Text)) == text
    assert "".join(p.text for p in reply.parts if isinstance(p, Thinking)) == thought
    made = [(p.name, json.loads(p.args)) for p in reply.parts if isinstance(p, ToolCall)]
    assert made == calls
    usage = chunks[-1].usage_metadata
    assert reply.usage is not None
    assert reply.usage.input == usage.prompt_token_count
    thoughts = usage.thoughts_token_count or 0
    assert reply.usage.output == (usage.candidates_token_count or 0) + thoughts
    assert reply.usage.cache_read == (usage.cached_content_token_count or 0)
    assert reply.model == chunks[-1].model_version
