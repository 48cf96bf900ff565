"""What the log file is told of commits: turns, calls and what they cost. Never what was said."""

import logging

from sapwood.core.events import (
    AgentKilled,
    AgentStarted,
    ContextTrimmed,
    Recorded,
    ReplyAdded,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    TurnStarted,
)
from sapwood.core.log import Append

__all__ = ["tell_log"]

_log = logging.getLogger("sapwood.agents")


def tell_log(appends: tuple[Append, ...]) -> None:
    """Logs what was committed, as far as somebody may want to look it up."""
    for append in appends:
        for recorded in append.events:
            _tell(recorded)


def _tell(recorded: Recorded) -> None:
    place = str(recorded.ref)
    match recorded.event:
        case AgentStarted(by, _, settings):
            _log.info("%s started by %s with %s", place, by, settings.model or "no model")
        case TurnStarted():
            _log.info("%s turn started", place)
        case ReplyAdded(parts, model, usage) if usage is not None:
            _log.info(
                "%s %s answered: %d parts, %d tokens in (%d cached), %d out, %d microdollars",
                place,
                model,
                len(parts),
                usage.input,
                usage.cache_read,
                usage.output,
                usage.cost,
            )
        case TurnCompleted(size):
            _log.info("%s turn completed, %d tokens", place, size.tokens)
        case TurnInterrupted(_, reason):
            _log.info("%s turn interrupted: %s", place, reason)
        case TurnFailed(_, error):
            _log.info("%s turn failed: %s", place, error)
        case ContextTrimmed(cause, _, turns):
            _log.info("%s %s left %d turns behind", place, cause, turns)
        case AgentKilled(target):
            _log.info("%s killed with %s", place, target)
        case event:
            _log.debug("%s %s", place, event.kind)
