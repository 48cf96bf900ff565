"""Events as lines, with what they used, and values as lines of JSON."""

import msgspec

from sapwood.cli.output_gate import styled
from sapwood.core import events
from sapwood.core.content import Usage
from sapwood.core.event_texts import event_summary
from sapwood.display.json_values import event_value as event_value
from sapwood.display.json_values import usage_value as usage_value
from sapwood.display.quantities import clock, money, usage_line
from sapwood.display.text import cut, json_escaped

_ROOMY = 70
_FEW_WORDS = 20


def event_line(recorded: events.Recorded, width: int, used: Usage | None = None) -> str:
    """Returns an event on one line: version, time, kind, summary, and what was used for it."""
    roomy = width >= _ROOMY
    head = f"{recorded.version:>5} " if roomy else f"{recorded.version:>4} "
    moment = f"{clock(recorded.at)}  " if roomy else ""
    kind = f"{recorded.kind:<18} " if roomy else f"{recorded.kind} "
    room = width - len(head) - len(moment) - len(kind)
    spent = _spent(used, room)
    about = cut(event_summary(recorded.event), max(room - len(spent), 12))
    return (
        f"{styled(head, fg='cyan')}{styled(moment, dim=True)}"
        f"{styled(kind, bold=True)}{about}{styled(spent, dim=True)}"
    ).rstrip()


def _spent(used: Usage | None, room: int) -> str:
    """Returns the usage, as long as it leaves room for a few words."""
    if used is None:
        return ""
    ways = (f" ({usage_line(used)})", f" ({money(used.cost)})" if used.cost else "")
    return next((way for way in ways if len(way) + _FEW_WORDS <= room), "")


class Spending:
    """Adds up the usage of turns along a log. A turn whose start was not read has no sum."""

    def __init__(self) -> None:
        self._turn: Usage | None = None

    def of(self, recorded: events.Recorded) -> Usage | None:
        """Returns what was used for this event: by its call, or by its turn. Call it in order."""
        match recorded.event:
            case events.TurnStarted():
                self._turn = Usage(0)
            case (
                events.ReplyAdded() | events.ContextSummarized() | events.SummaryDropped() as event
            ):
                usage = event.usage
                if usage is not None and self._turn is not None:
                    self._turn += usage
                return usage
            case events.TurnCompleted() | events.TurnInterrupted() | events.TurnFailed():
                used, self._turn = self._turn, None
                return used if used and used.input else None
            case _:
                pass
        return None


_encoder = msgspec.json.Encoder()


def json_line(value: object) -> str:
    """Returns a value as JSON on one line, which a terminal shows and does not obey."""
    return json_escaped(_encoder.encode(value).decode())
