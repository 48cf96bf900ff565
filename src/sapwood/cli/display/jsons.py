"""Values as JSON, one object a line, for programs. Fields are those of the reference pages."""

import msgspec

from sapwood.core.events import Recorded

__all__ = ["event_value", "json_line"]

_encoder = msgspec.json.Encoder()


def json_line(value: object) -> str:
    """The value on one line."""
    return _encoder.encode(value).decode()


def event_value(recorded: Recorded) -> dict[str, object]:
    """An event with its envelope; `data` has the fields that the reference page of events lists."""
    return {
        "agent": recorded.agent,
        "version": recorded.version,
        "kind": recorded.kind,
        "at": recorded.when,
        "actor": str(recorded.actor),
        "data": recorded.event,
    }
