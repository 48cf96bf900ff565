"""Logs one line for each turn that ends or fails: agent, turn, model, cost and trace as fields.

It has nothing of what was said. The space and the agent are those of the drive.
"""

import asyncio
import logging

from sapwood.core.content import Usage
from sapwood.core.state import State
from sapwood.core.turn import Reply, Turn

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
