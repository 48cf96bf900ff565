"""Counts and times what the runtime does, and logs one line for each turn that ends or fails.

A line has the agent, turn, model, cost and trace as fields, and nothing of what was said. Its space
and agent are those of the drive.
"""

import asyncio
import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from sapwood.core.commands import Compact
from sapwood.core.content import ToolCall, Usage
from sapwood.core.errors import LogUnavailable
from sapwood.core.model_calls import Answer, Failure, ToolOutcome
from sapwood.core.state import State
from sapwood.core.turn import Reply, Turn
from sapwood.core.view import Request
from sapwood.metrics import Metrics
from sapwood.trace_context import within_trace

if TYPE_CHECKING:
    from sapwood.turns.trace import Tracing


class MetricsTracing:
    """Measures turns, model calls, tools and compactions, and logs each turn that ends."""

    def __init__(self, metrics: Metrics, inner: "Tracing") -> None:
        self._metrics = metrics
        self._inner = inner

    @contextmanager
    def turn(self, state: State) -> Generator[Callable[[Turn], None]]:
        """A turn, or the part of it that runs in this process."""
        metrics, started, status = self._metrics, monotonic(), "left"
        metrics.add("sapwood_turns_running")
        try:
            trace = state.open.trace if state.open else ""
            with within_trace(trace), self._inner.turn(state) as inner:

                def ended(turn: Turn) -> None:
                    nonlocal status
                    status = turn.status
                    inner(turn)
                    log_end(state, turn, monotonic() - started)

                try:
                    yield ended
                except BaseException as error:
                    elsewhere = isinstance(error, asyncio.CancelledError | LogUnavailable)
                    status = "left" if elsewhere else "error"
                    log_stop(state, error, monotonic() - started)
                    raise
        finally:
            metrics.add("sapwood_turns_running", -1)
            metrics.add("sapwood_turns_total", status=status)
            metrics.observe("sapwood_turn_seconds", monotonic() - started)

    @contextmanager
    def call(self, state: State, request: Request) -> Generator[Callable[[Answer], None]]:
        """One model call, with all its retries."""
        metrics, started, outcome = self._metrics, monotonic(), "failed"
        model = request.model or "none"
        try:
            with self._inner.call(state, request) as inner:

                def answered(answer: Answer) -> None:
                    nonlocal outcome
                    outcome = answer.ended
                    self._count_usage(model, answer)
                    inner(answer)

                yield answered
        except Failure as failure:
            outcome = failure.kind
            raise
        except asyncio.CancelledError:
            outcome = "stopped"
            raise
        finally:
            metrics.add("sapwood_model_calls_total", model=model, outcome=outcome)
            metrics.observe("sapwood_model_call_seconds", monotonic() - started, model=model)

    def _count_usage(self, model: str, answer: Answer) -> None:
        usage = answer.usage
        if usage is None:
            return
        kinds = {
            "input": usage.input,
            "output": usage.output,
            "cache_read": usage.cache_read,
            "cache_write": usage.cache_write,
        }
        for kind, tokens in kinds.items():
            if tokens:
                self._metrics.add("sapwood_tokens_total", tokens, model=model, kind=kind)
        if usage.cost:
            dollars = usage.cost / 1_000_000
            self._metrics.add("sapwood_cost_dollars_total", dollars, model=model)

    @contextmanager
    def tool(self, state: State, call: ToolCall) -> Generator[Callable[[ToolOutcome], None]]:
        """One run of a tool. Without an outcome the call waits, and nothing is counted."""
        started, outcome = monotonic(), ""
        try:
            with self._inner.tool(state, call) as inner:

                def ended(result: ToolOutcome) -> None:
                    nonlocal outcome
                    outcome = "error" if result.error else "ok"
                    inner(result)

                yield ended
        except BaseException:
            outcome = outcome or "raised"
            raise
        finally:
            if outcome:
                self._metrics.add("sapwood_tool_calls_total", tool=call.name, outcome=outcome)
                self._metrics.observe("sapwood_tool_seconds", monotonic() - started, tool=call.name)

    @contextmanager
    def compaction(self, state: State) -> Generator[Callable[[Compact], None]]:
        outcome = "unused"
        try:
            with self._inner.compaction(state) as inner:

                def ended(done: Compact) -> None:
                    nonlocal outcome
                    outcome = "used"
                    inner(done)

                yield ended
        finally:
            self._metrics.add("sapwood_compactions_total", outcome=outcome)

    def close(self) -> None:
        """Exports what the spans still hold."""
        self._inner.close()


_log = logging.getLogger("sapwood.turns")


def log_end(state: State, turn: Turn, seconds: float) -> None:
    """Logs that the turn has ended, with the tokens and the cost of all its model calls."""
    replies = [item for item in turn.items if isinstance(item, Reply)]
    spent = sum((reply.usage for reply in replies if reply.usage), Usage(0))
    reason = f": {turn.reason}" if turn.reason else ""
    _log.log(
        logging.WARNING if turn.status == "failed" else logging.INFO,
        "Turn %d of %s %s after %.1f s%s",
        turn.number or state.turns,
        state.agent,
        turn.status,
        seconds,
        reason,
        extra={
            "fields": {
                "event": f"turn.{turn.status}",
                **_place(state, seconds),
                "turn": turn.number or state.turns,
                "calls": len(replies),
                "input_tokens": spent.input,
                "cached_tokens": spent.cache_read,
                "output_tokens": spent.output,
                "cost": spent.cost / 1_000_000,
                **({"reason": turn.reason} if turn.reason else {}),
            }
        },
    )


def log_stop(state: State, error: BaseException, seconds: float) -> None:
    """Logs that an error stopped the drive of a turn, which stays open."""
    stopped = isinstance(error, asyncio.CancelledError)
    reason = "this process stops" if stopped else str(error) or type(error).__name__
    _log.log(
        logging.INFO if stopped else logging.WARNING,
        "Turn %d of %s stays open after %.1f s: %s",
        state.turns,
        state.agent,
        seconds,
        reason,
        extra={
            "fields": {
                "event": "turn.left" if stopped else "turn.error",
                **_place(state, seconds),
                "reason": reason,
            }
        },
    )


def _place(state: State, seconds: float) -> dict[str, object]:
    return {
        "agent": state.agent,
        "turn": state.turns,
        "model": state.settings.model,
        "seconds": round(seconds, 3),
    }
