"""Fields of log messages: the agent, the space and the trace that a message is about.

Everything that is logged while an agent is driven has them, whichever module logs it. `--log-format
json` writes them.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from sapwood.trace_context import current_traceparent

_given: ContextVar[Mapping[str, str]] = ContextVar("sapwood_log_fields")


@contextmanager
def within_fields(**fields: str) -> Generator[None]:
    """Adds these fields to every message that is logged inside the block.

    >>> with within_fields(space="acme", agent="a1"):
    ...     current_fields()
    {'space': 'acme', 'agent': 'a1'}
    """
    token = _given.set({**_given.get({}), **fields})
    try:
        yield
    finally:
        _given.reset(token)


def current_fields() -> dict[str, str]:
    """The fields of messages here, with the trace if there is one."""
    trace = current_traceparent()
    return {**_given.get({}), **({"trace": trace} if trace else {})}
