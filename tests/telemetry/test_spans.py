"""Turns, model calls, tools and compactions become spans by OpenTelemetry's conventions."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence

import pytest

pytest.importorskip("opentelemetry.sdk", reason="the extra 'otel' is not installed")

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode

from sapwood.core.content import Text, Thinking, ToolCall, Usage
from sapwood.core.model_calls import Answer, Delta, Failure, ToolSpec
from sapwood.core.view import Request
from sapwood.testing import FakeModel, slash
from tests.telemetry.traced_runtime import SECRET, traced_agent

USAGE = Usage(input=1_000, output=20, cache_read=900, cache_write=50, cost=1_500)


def weather(request: Request, heard: str) -> Answer:
    if "degrees" in heard:
        return Answer((Text("Cold."),), "anthropic:claude", USAGE)
    return Answer((ToolCall("call1", "weather", '{"in": "Oslo"}'),), "anthropic:claude", USAGE)


def of(span: ReadableSpan, *names: str) -> list[object]:
    assert span.attributes is not None
    return [span.attributes.get(name) for name in names]


async def test_a_turn_holds_its_calls_and_tools() -> None:
    async with traced_agent(FakeModel(weather)) as it:
        await it.turn("How cold is it?")
        names = [span.name for span in it.spans]
        (turn,) = it.named("invoke_agent")
        assert names == ["chat claude", "execute_tool weather", "chat claude", "invoke_agent bird"]
        assert turn.context is not None
        assert {span.parent.span_id for span in it.spans if span.parent} == {turn.context.span_id}
        assert {span.context.trace_id for span in it.spans if span.context} == {
            turn.context.trace_id
        }
        for span in it.spans:
            assert of(span, "gen_ai.conversation.id", "gen_ai.agent.id", "gen_ai.agent.name") == [
                it.agent.id,
                it.agent.id,
                "bird",
            ]


async def test_a_model_call_tells_model_provider_usage_and_why_it_ended() -> None:
    async with traced_agent(FakeModel(weather)) as it:
        await it.turn("How cold is it?")
        asking, answering = it.named("chat")
        (turn,) = it.named("invoke_agent")
    assert asking.kind == SpanKind.CLIENT
    assert of(asking, "gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model") == [
        "chat",
        "anthropic",
        "claude",
    ]
    assert of(
        asking,
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.output_tokens",
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_creation.input_tokens",
        "sapwood.cost.usd",
    ) == [1_000, 20, 900, 50, 0.0015]
    finished = "gen_ai.response.finish_reasons"
    assert [of(span, finished) for span in (asking, answering)] == [[("tool_call",)], [("stop",)]]
    assert of(turn, "gen_ai.operation.name", "sapwood.turn.status") == ["invoke_agent", "completed"]
    assert of(turn, "gen_ai.usage.input_tokens", "sapwood.cost.usd") == [2_000, 0.003]


async def test_what_was_said_is_on_no_span() -> None:
    async with traced_agent(FakeModel(weather)) as it:
        await it.turn("How cold is it?")
        everything = " ".join(span.to_json() for span in it.spans)
    for said in ("How cold", "Oslo", "degrees", "Cold.", "Be brief."):
        assert said not in everything


async def test_what_was_said_is_told_where_that_is_asked_for_and_secrets_are_not() -> None:
    async with traced_agent(FakeModel(weather), content=True) as it:
        await it.turn("How cold is it?")
        _, answering = it.named("chat")
        (tool,) = it.named("execute_tool")
        everything = " ".join(span.to_json() for span in it.spans)
    assert SECRET not in everything
    system, asked, answered = (
        json.loads(str(value))
        for value in of(
            answering,
            "gen_ai.system_instructions",
            "gen_ai.input.messages",
            "gen_ai.output.messages",
        )
    )
    assert system == [{"type": "text", "content": "Be brief."}]
    assert asked[0] == {
        "role": "user",
        "parts": [{"type": "text", "content": "How cold is it?"}],
    }
    assert asked[1]["parts"][0]["arguments"] == '{"in": "Oslo"}'
    assert asked[2]["parts"][0]["type"] == "tool_call_response"
    assert answered[0]["parts"] == [{"type": "text", "content": "Cold."}]
    assert answered[0]["finish_reason"] == "stop"
    arguments, result = of(tool, "gen_ai.tool.call.arguments", "gen_ai.tool.call.result")
    assert arguments == '{"in": "Oslo"}'
    assert str(result).startswith("-3 degrees")


async def test_a_secret_that_the_model_writes_is_masked_on_every_span() -> None:
    quoted = json.dumps({"key": SECRET})

    def plan(_: Request, heard: str) -> Answer:
        if "degrees" in heard or "Summarise" in heard:
            return Answer((Thinking(SECRET, "anthropic", "signed"), Text(f"It is {SECRET}.")))
        return Answer((Text(f"I use {SECRET}."), ToolCall("call1", "weather", quoted)))

    async with traced_agent(FakeModel(plan), content=True) as it:
        await it.turn(f"How cold is it? {'Herons nest in tall trees. ' * 40}")
        await it.running.compact(it.agent.id)
        calls = it.named("chat")
        everything = " ".join(span.to_json() for span in it.spans)
    assert len(calls) > 2
    assert SECRET not in everything
    (answered,) = json.loads(str(*of(calls[0], "gen_ai.output.messages")))
    said, called = answered["parts"]
    assert said["content"].startswith("I use [secret")
    assert json.loads(called["arguments"])["key"].startswith("[secret")


async def test_a_tool_that_fails_is_an_error() -> None:
    def plan(_: Request, heard: str) -> str | ToolCall:
        return "None." if "no wind" in heard else ToolCall("1", "wind")

    async with traced_agent(FakeModel(plan)) as it:
        await it.turn("Is there wind?")
        (tool,) = it.named("execute_tool")
    assert tool.status.status_code == StatusCode.ERROR
    assert of(tool, "error.type", "gen_ai.tool.name", "gen_ai.tool.call.id") == [
        "tool_error",
        "wind",
        "1",
    ]


class Failing:
    """A model that cannot be reached."""

    async def stream(
        self,
        request: Request,
        tools: Sequence[ToolSpec] = (),
        *,
        params: Mapping[str, object] | None = None,
    ) -> AsyncGenerator[Delta | Answer]:
        raise Failure("no_network", "Nobody answers.")
        yield

    def window_of(self, model: str) -> int | None:
        return None


async def test_a_call_that_fails_is_an_error_and_so_is_its_turn() -> None:
    async with traced_agent(Failing()) as it:
        await it.turn("Hello!")
        (call,), (turn,) = it.named("chat"), it.named("invoke_agent")
    assert of(call, "error.type") == ["no_network"]
    assert call.status.description == "Nobody answers."
    assert of(turn, "error.type", "sapwood.turn.status") == ["turn_failed", "failed"]
    assert turn.status.status_code == StatusCode.ERROR


async def test_a_turn_that_is_interrupted_says_so() -> None:
    model = FakeModel(lambda _, __: "Never.", thinks_for=60)
    async with traced_agent(model) as it:
        turn = asyncio.create_task(it.turn("Hello!"))
        await model.asked.wait()
        await it.running.interrupt(it.agent.id)
        await turn
        (call,), (ended,) = it.named("chat"), it.named("invoke_agent")
    assert of(call, "error.type") == ["cancelled"]
    assert of(ended, "sapwood.turn.status", "error.type") == ["interrupted", None]


async def test_slash_commands_are_tools_and_a_wait_is_one_span() -> None:
    def plan(_: Request, heard: str) -> str | ToolCall:
        return "Done." if "seconds" in heard else slash("wait", "0.05")

    async with traced_agent(FakeModel(plan)) as it:
        await it.turn("Wait a little.")
        (tool,) = it.named("execute_tool")
    assert tool.name == "execute_tool slash"


async def test_a_compaction_holds_its_calls() -> None:
    long = "herons nest in tall trees near the water " * 40

    def plan(request: Request, heard: str) -> str:
        return "They talked about herons." if "Summarise" in heard else long

    async with traced_agent(FakeModel(plan)) as it:
        await it.turn("Tell me about herons.")
        await it.running.compact(it.agent.id)
        (compaction,) = it.named("compact")
        inside = [span for span in it.spans if _is_in(span, compaction)]
    assert [span.name for span in inside] == ["chat claude"] * len(inside)
    assert inside
    assert of(compaction, "gen_ai.operation.name", "gen_ai.agent.name") == ["compact", "bird"]
    assert of(compaction, "sapwood.summary.score") != [None]


def _is_in(span: ReadableSpan, other: ReadableSpan) -> bool:
    return bool(span.parent and other.context and span.parent.span_id == other.context.span_id)
