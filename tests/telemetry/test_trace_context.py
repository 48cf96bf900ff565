"""The trace of a caller goes on in the worker that runs its prompt, and in the model call."""

import asyncio

import pytest
from opentelemetry.sdk.trace import TracerProvider

import sapwood
from sapwood.core.content import Text
from sapwood.core.events import TurnStarted
from sapwood.core.model_calls import Answer
from sapwood.core.view import Request
from sapwood.testing import FakeModel
from sapwood.trace_context import current_traceparent, is_traceparent, within_trace
from scripted_model import ScriptedModel
from tests.telemetry.traced_runtime import traced_agent

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"


def cold(request: Request, heard: str) -> Answer:
    return Answer((Text("Cold."),), "anthropic:claude")


async def traces_of(agent: sapwood.Agent) -> list[str]:
    events = await agent.events()
    return [each.event.trace for each in events if isinstance(each.event, TurnStarted)]


async def test_a_prompt_keeps_the_trace_of_its_caller() -> None:
    async with sapwood.open(":memory:") as db:
        agent = await db.start("bird", model="claude")
        with within_trace(PARENT):
            await agent.prompt("How cold is it?")
        await agent.interrupt()
        await agent.prompt("And now?")
        assert await traces_of(agent) == [PARENT, ""]


async def test_a_span_of_the_caller_is_its_trace() -> None:
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("caller")
    async with sapwood.open(":memory:") as db:
        agent = await db.start("bird", model="claude")
        with tracer.start_as_current_span("handle request") as span:
            await agent.prompt("How cold is it?")
        [trace] = await traces_of(agent)
    assert trace.split("-")[1:3] == [
        f"{span.get_span_context().trace_id:032x}",
        f"{span.get_span_context().span_id:016x}",
    ]


async def test_the_spans_of_a_worker_continue_the_trace_of_the_caller() -> None:
    async with traced_agent(FakeModel(cold)) as it:
        with within_trace(PARENT):
            await it.turn("How cold is it?")
        [turn] = it.named("invoke_agent")
        assert turn.parent is not None
        assert f"{turn.parent.span_id:016x}" == "00f067aa0ba902b7"
        assert {f"{span.context.trace_id:032x}" for span in it.spans if span.context} == {TRACE}


async def test_a_model_call_carries_the_trace_of_the_caller() -> None:
    with ScriptedModel() as server:
        async with asyncio.timeout(60), sapwood.open(":memory:") as db:
            urls = {"den": server.openai_url}
            async with sapwood.runtime(db, models={}, urls=urls):
                agent = await db.start("bird", model="den:qwen3")
                with within_trace(PARENT):
                    reply = await agent.ask("How cold is it? [[say: Cold.]]")
        assert reply.text == "Cold."
        [request] = server.requests
        assert request.headers["traceparent"].split("-")[1] == TRACE


@pytest.mark.parametrize(
    "text",
    [
        "",
        "00-xyz",
        f"00-{'0' * 32}-00f067aa0ba902b7-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"ff-{TRACE}-00f067aa0ba902b7-01",
        PARENT + "-more",
        PARENT.upper(),
    ],
)
def test_a_text_that_is_no_trace_is_left_out(text: str) -> None:
    assert not is_traceparent(text)
    with within_trace(text):
        assert current_traceparent() == ""
