"""Creates spans for turns, model calls, tools and compactions, and exports them by OTLP.

Spans do not contain what was said, unless `content` is set.

The attributes of spans, by OpenTelemetry's conventions for generative AI.

Names are those of version 1.41 of the conventions. Attributes that have no name there start with
`sapwood.`. The functions `request_content` and `answer_content` return what was said, as JSON
messages; they are used only if the configuration allows that to leave the log.
"""

import asyncio
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib import metadata

import msgspec
from msgspec import Struct
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from sapwood.core.commands import Compact
from sapwood.core.content import File, Text, Thinking, ToolCall, Usage
from sapwood.core.model_calls import Answer, Failure, ToolOutcome
from sapwood.core.state import State
from sapwood.core.turn import Turn
from sapwood.core.view import Message, Request, ToolResult
from sapwood.core.view.request import MessagePart

Value = str | bool | int | float | Sequence[str]
Attributes = Mapping[str, Value]


class ModelIdentity(Struct, frozen=True):
    """A model, and its provider's name in the conventions; '' if that is unknown."""

    model: str
    provider: str = ""


_FINISH_REASONS = {"done": "stop", "length": "length", "refused": "content_filter"}


def agent_attributes(state: State, operation: str) -> dict[str, Value]:
    """The operation and its agent. An agent is one conversation, so both have its id."""
    found: dict[str, Value] = {
        "gen_ai.operation.name": operation,
        "gen_ai.conversation.id": state.agent,
        "gen_ai.agent.id": state.agent,
    }
    if state.name:
        found["gen_ai.agent.name"] = state.name
    return found


def turn_attributes(state: State, identity: ModelIdentity) -> Attributes:
    """Attributes of a turn when it starts."""
    found = agent_attributes(state, "invoke_agent")
    found["sapwood.turn"] = state.open.first if state.open else 0
    return {**found, **_model_attributes(identity)}


def call_attributes(state: State, identity: ModelIdentity) -> Attributes:
    """Attributes of a model call when it starts."""
    found = agent_attributes(state, "chat")
    return {**found, **_model_attributes(identity), "gen_ai.request.stream": True}


def tool_attributes(state: State, call: ToolCall) -> Attributes:
    """Attributes of a tool run when it starts."""
    return {
        **agent_attributes(state, "execute_tool"),
        "gen_ai.tool.name": call.name,
        "gen_ai.tool.call.id": call.id,
        "gen_ai.tool.type": "function",
    }


def answer_attributes(answer: Answer) -> Attributes:
    """Attributes of a model call when the answer is there."""
    found: dict[str, Value] = {"gen_ai.response.finish_reasons": [finish_reason(answer)]}
    if answer.model:
        found["gen_ai.response.model"] = answer.model.partition(":")[2] or answer.model
    return {**found, **usage_attributes(answer.usage)}


def ended_attributes(turn: Turn) -> Attributes:
    """Attributes of a turn when it has ended."""
    used = sum(turn.usages, Usage(0)) if turn.usages else None
    return {"sapwood.turn.status": turn.status, **usage_attributes(used)}


def usage_attributes(usage: Usage | None) -> Attributes:
    """Token usage and cost. Cached tokens are included in the input tokens."""
    if usage is None:
        return {}
    found: dict[str, Value] = {
        "gen_ai.usage.input_tokens": usage.input,
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
    }
    if usage.cost:
        found["sapwood.cost.usd"] = usage.cost / 1_000_000
    return found


def finish_reason(answer: Answer) -> str:
    """Why the model stopped, as the conventions name it."""
    if answer.ended == "done" and any(isinstance(part, ToolCall) for part in answer.parts):
        return "tool_call"
    return _FINISH_REASONS[answer.ended]


def _model_attributes(identity: ModelIdentity) -> Attributes:
    found = {"gen_ai.request.model": identity.model}
    return {**found, "gen_ai.provider.name": identity.provider} if identity.provider else found


def request_content(request: Request) -> Attributes:
    """All messages and instructions that are sent to a model."""
    found = {"gen_ai.input.messages": _json([_message(each) for each in request.messages])}
    if request.system:
        system = [{"type": "text", "content": block.text} for block in request.system]
        found["gen_ai.system_instructions"] = _json(system)
    return found


def answer_content(answer: Answer) -> Attributes:
    """All parts of an answer."""
    message = {
        "role": "assistant",
        "parts": [_part(part) for part in answer.parts],
        "finish_reason": finish_reason(answer),
    }
    return {"gen_ai.output.messages": _json([message])}


def _message(message: Message) -> dict[str, object]:
    return {"role": message.role, "parts": [_part(part) for part in message.parts]}


def _part(part: MessagePart) -> dict[str, object]:
    match part:
        case Text() | File():
            return {"type": "text", "content": part.text}
        case Thinking(text):
            return {"type": "reasoning", "content": text}
        case ToolCall(call, name, args):
            return {"type": "tool_call", "id": call, "name": name, "arguments": args}
        case ToolResult(call, _, content):
            return {"type": "tool_call_response", "id": call, "response": content}


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


_PROPAGATOR = TraceContextTextMapPropagator()
_EXPORT_TIMEOUT = 5.0
"""Seconds to wait for a collector: a command must not hang when the collector is away."""


class Spans:
    """Reports to a tracer what the runtime does.

    `identify` maps a model's name to its identity in the conventions. `close` is called when the
    runtime has ended.
    """

    def __init__(
        self,
        tracer: Tracer,
        identify: Callable[[str], ModelIdentity],
        *,
        content: bool = False,
        close: Callable[[], None] | None = None,
    ) -> None:
        self._tracer = tracer
        self.identify = identify
        self._content = content
        self._close = close

    @contextmanager
    def turn(self, state: State) -> Generator[Callable[[Turn], None]]:
        """`invoke_agent`: a turn, or the part of it that runs in this process."""
        initial = turn_attributes(state, self.identify(state.settings.model))
        name = f"invoke_agent {state.name}".rstrip()
        parent = state.open.trace if state.open else ""
        with self._span(name, initial, parent=parent) as span:

            def ended(turn: Turn) -> None:
                span.set_attributes(ended_attributes(turn))
                if turn.status == "failed":
                    _set_error(span, "turn_failed", turn.reason)

            yield ended

    @contextmanager
    def call(self, state: State, request: Request) -> Generator[Callable[[Answer], None]]:
        """`chat`: one model call, with all its retries."""
        identity = self.identify(request.model)
        initial = call_attributes(state, identity)
        with self._span(f"chat {identity.model}", initial, SpanKind.CLIENT) as span:
            if self._content:
                span.set_attributes(request_content(request))

            def answered(answer: Answer) -> None:
                span.set_attributes(answer_attributes(answer))
                if self._content:
                    span.set_attributes(answer_content(answer))

            yield answered

    @contextmanager
    def tool(self, state: State, call: ToolCall) -> Generator[Callable[[ToolOutcome], None]]:
        """`execute_tool`: one run of a tool. Without an outcome no span is recorded."""
        initial = tool_attributes(state, call)
        with self._span(f"execute_tool {call.name}", initial, only_if_ended=True) as span:
            if self._content:
                span.set_attribute("gen_ai.tool.call.arguments", call.args)

            def ended(outcome: ToolOutcome) -> None:
                if self._content:
                    span.set_attribute("gen_ai.tool.call.result", outcome.content)
                if outcome.error:
                    _set_error(span, "tool_error")
                span.end()

            yield ended

    @contextmanager
    def compaction(self, state: State) -> Generator[Callable[[Compact], None]]:
        """`compact`: a summary is written, checked and maybe repaired. Its calls have own spans."""
        initial = agent_attributes(state, "compact")
        with self._span(f"compact {state.name}".rstrip(), initial) as span:

            def ended(done: Compact) -> None:
                if done.score is not None:
                    span.set_attribute("sapwood.summary.score", done.score)
                span.set_attributes(usage_attributes(done.usage))

            yield ended

    def close(self) -> None:
        """Exports the remaining spans and ends the exporter."""
        if self._close is not None:
            self._close()

    @contextmanager
    def _span(
        self,
        name: str,
        initial: Attributes,
        kind: SpanKind = SpanKind.INTERNAL,
        *,
        only_if_ended: bool = False,
        parent: str = "",
    ) -> Generator[Span]:
        """A span around some work.

        With `only_if_ended` it is recorded only if the work ended the span itself or raised.
        `parent` is the trace of the caller, as a `traceparent`.
        """
        with self._tracer.start_as_current_span(
            name,
            context=_PROPAGATOR.extract({"traceparent": parent}) if parent else None,
            kind=kind,
            attributes=initial,
            end_on_exit=False,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield span
            except BaseException as error:
                _set_error(span, _error_type(error), str(error))
                span.end()
                raise
            if not only_if_ended:
                span.end()


def _set_error(span: Span, kind: str, message: str = "") -> None:
    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR, message or None))


def _error_type(error: BaseException) -> str:
    if isinstance(error, Failure):
        return error.kind
    return "cancelled" if isinstance(error, asyncio.CancelledError) else type(error).__qualname__


def otlp_spans(
    endpoint: str, identify: Callable[[str], ModelIdentity], *, content: bool = False
) -> Spans:
    """Spans that are sent to the collector at `endpoint` by OTLP over HTTP, in a thread.

    Without an endpoint the environment variables OTEL_EXPORTER_… decide.
    """
    version = metadata.version("sapwood")
    service = os.environ.get("OTEL_SERVICE_NAME", "sapwood")
    resource = Resource.create({SERVICE_NAME: service, SERVICE_VERSION: version})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    url = f"{endpoint.rstrip('/')}/v1/traces" if endpoint else None
    exporter = OTLPSpanExporter(endpoint=url, timeout=_EXPORT_TIMEOUT)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("sapwood", version)
    return Spans(tracer, identify, content=content, close=provider.shutdown)
