"""Spans of turns, model calls, tools and compactions, made with whatever tracer is given.

What was said is on none of them unless it is asked for.
"""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager

from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer

from sapwood.core.calling import Answer, Failure, ToolOutcome
from sapwood.core.commands import Compact
from sapwood.core.content import ToolCall
from sapwood.core.state import State
from sapwood.core.turn import Turn
from sapwood.core.view import Request
from sapwood.telemetry import attributes, content
from sapwood.telemetry.attributes import Asked

__all__ = ["Spans"]


class Spans:
    """Tells a tracer what the runtime does.

    `identify` tells what a model's name stands for. `close` is called when no more work is done.
    """

    def __init__(
        self,
        tracer: Tracer,
        identify: Callable[[str], Asked],
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
        """`invoke_agent`: a turn, or that part of it which is driven here."""
        told = attributes.turn_attributes(state, self.identify(state.settings.model))
        name = f"invoke_agent {state.name}".rstrip()
        with self._span(name, told) as span:

            def ended(turn: Turn) -> None:
                span.set_attributes(attributes.ended_attributes(turn))
                if turn.status == "failed":
                    _fail(span, "turn_failed", turn.reason)

            yield ended

    @contextmanager
    def call(self, state: State, request: Request) -> Generator[Callable[[Answer], None]]:
        """`chat`: one model call, with all tries that it took."""
        asked = self.identify(request.model)
        told = attributes.call_attributes(state, asked)
        with self._span(f"chat {asked.model}", told, SpanKind.CLIENT) as span:
            if self._content:
                span.set_attributes(content.request_content(request))

            def heard(answer: Answer) -> None:
                span.set_attributes(attributes.answer_attributes(answer))
                if self._content:
                    span.set_attributes(content.answer_content(answer))

            yield heard

    @contextmanager
    def tool(self, state: State, call: ToolCall) -> Generator[Callable[[ToolOutcome], None]]:
        """`execute_tool`: one run of a tool. One that only waits leaves no span."""
        told = attributes.tool_attributes(state, call)
        with self._span(f"execute_tool {call.name}", told, quiet=True) as span:
            if self._content:
                span.set_attribute("gen_ai.tool.call.arguments", call.args)

            def ended(outcome: ToolOutcome) -> None:
                if self._content:
                    span.set_attribute("gen_ai.tool.call.result", outcome.content)
                if outcome.error:
                    _fail(span, "tool_error")
                span.end()

            yield ended

    @contextmanager
    def compaction(self, state: State) -> Generator[Callable[[Compact], None]]:
        """`compact`: a summary is written, checked, perhaps repaired. Its calls are spans too."""
        told = attributes.agent_attributes(state, "compact")
        with self._span(f"compact {state.name}".rstrip(), told) as span:

            def ended(done: Compact) -> None:
                if done.score is not None:
                    span.set_attribute("sapwood.summary.score", done.score)
                span.set_attributes(attributes.usage_attributes(done.usage))

            yield ended

    def close(self) -> None:
        """Passes on what was told."""
        if self._close is not None:
            self._close()

    @contextmanager
    def _span(
        self,
        name: str,
        told: attributes.Attributes,
        kind: SpanKind = SpanKind.INTERNAL,
        *,
        quiet: bool = False,
    ) -> Generator[Span]:
        """A span around some work. A `quiet` one counts if it was ended, or the work raised."""
        with self._tracer.start_as_current_span(
            name,
            kind=kind,
            attributes=told,
            end_on_exit=False,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield span
            except BaseException as error:
                _fail(span, _kind_of(error), str(error))
                span.end()
                raise
            if not quiet:
                span.end()


def _fail(span: Span, kind: str, sentence: str = "") -> None:
    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR, sentence or None))


def _kind_of(error: BaseException) -> str:
    if isinstance(error, Failure):
        return error.kind
    return "cancelled" if isinstance(error, asyncio.CancelledError) else type(error).__qualname__
