"""What was used for each event of a log: by a call, by all calls of a turn, by a summary."""

from sapwood.core.content import Usage
from sapwood.core.events import (
    ContextSummarized,
    Recorded,
    ReplyAdded,
    SummaryDropped,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    TurnStarted,
)

__all__ = ["Spending"]


class Spending:
    """Adds up along a log. A turn whose start was not seen has no sum."""

    def __init__(self) -> None:
        self._turn: Usage | None = None

    def of(self, recorded: Recorded) -> Usage | None:
        """What was used for this event, which comes after those asked about before."""
        match recorded.event:
            case TurnStarted():
                self._turn = Usage(0)
            case ReplyAdded() | ContextSummarized() | SummaryDropped() as event:
                usage = event.usage
                if usage is not None and self._turn is not None:
                    self._turn += usage
                return usage
            case TurnCompleted() | TurnInterrupted() | TurnFailed():
                used, self._turn = self._turn, None
                return used if used and used.input else None
            case _:
                pass
        return None
