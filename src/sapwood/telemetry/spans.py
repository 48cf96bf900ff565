"""Creates spans for turns, model calls, tools and compactions, and exports them by OTLP.

Spans do not contain what was said, unless `content` is set.
"""

import asyncio
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import metadata

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from sapwood.core.commands import Compact
from sapwood.core.content import ToolCall
from sapwood.core.model_calls import Answer, Failure, ToolOutcome
from sapwood.core.state import State
from sapwood.core.turn import Turn
from sapwood.core.view import Request
from sapwood.telemetry import span_attributes as attributes
from sapwood.telemetry.span_attributes import ModelIdentity

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
        initial = attributes.turn_attributes(state, self.identify(state.settings.model))
        name = f"invoke_agent {state.name}".rstrip()
        parent = state.open.trace if state.open else ""
        with self._span(name, initial, parent=parent) as span:

            def ended(turn: Turn) -> None:
                span.set_attributes(attributes.ended_attributes(turn))
                if turn.status == "failed":
                    _set_error(span, "turn_failed", turn.reason)

            yield ended

    @contextmanager
    def call(self, state: State, request: Request) -> Generator[Callable[[Answer], None]]:
        """`chat`: one model call, with all its retries."""
        identity = self.identify(request.model)
        initial = attributes.call_attributes(state, identity)
        with self._span(f"chat {identity.model}", initial, SpanKind.CLIENT) as span:
            if self._content:
                span.set_attributes(attributes.request_content(request))

            def answered(answer: Answer) -> None:
                span.set_attributes(attributes.answer_attributes(answer))
                if self._content:
                    span.set_attributes(attributes.answer_content(answer))

            yield answered

    @contextmanager
    def tool(self, state: State, call: ToolCall) -> Generator[Callable[[ToolOutcome], None]]:
        """`execute_tool`: one run of a tool. Without an outcome no span is recorded."""
        initial = attributes.tool_attributes(state, call)
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
        initial = attributes.agent_attributes(state, "compact")
        with self._span(f"compact {state.name}".rstrip(), initial) as span:

            def ended(done: Compact) -> None:
                if done.score is not None:
                    span.set_attribute("sapwood.summary.score", done.score)
                span.set_attributes(attributes.usage_attributes(done.usage))

            yield ended

    def close(self) -> None:
        """Exports the remaining spans and ends the exporter."""
        if self._close is not None:
            self._close()

    @contextmanager
    def _span(
        self,
        name: str,
        initial: attributes.Attributes,
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
