"""The trace of the caller, as a `traceparent` of W3C Trace Context.

It is stored with a prompt, so that the worker that runs the turn continues the trace of the
program that gave it, and is sent with model calls.
"""

import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_FORM = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_given: ContextVar[str] = ContextVar("sapwood_traceparent", default="")


def is_traceparent(text: str) -> bool:
    """Whether a text, such as a header of a request, is a valid `traceparent`.

    >>> is_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    True
    >>> is_traceparent("00-00000000000000000000000000000000-00f067aa0ba902b7-01")
    False
    """
    if not _FORM.fullmatch(text) or text.startswith("ff"):
        return False
    _, trace, span, _ = text.split("-")
    return bool(int(trace, 16) and int(span, 16))


@contextmanager
def within_trace(traceparent: str) -> Generator[None]:
    """Makes this the trace of everything inside the block. A text of another form has no effect."""
    token = _given.set(traceparent if is_traceparent(traceparent) else _given.get())
    try:
        yield
    finally:
        _given.reset(token)


def current_traceparent() -> str:
    """The trace here: that of OpenTelemetry's current span, or of `within_trace`; '' for none.

    Never imports OpenTelemetry: a program that has a span has imported it.
    """
    trace = sys.modules.get("opentelemetry.trace")
    if trace is not None and hasattr(trace, "get_current_span"):
        context = trace.get_current_span().get_span_context()
        if context.is_valid:
            flags = int(context.trace_flags)
            return f"00-{context.trace_id:032x}-{context.span_id:016x}-{flags:02x}"
    return _given.get()
