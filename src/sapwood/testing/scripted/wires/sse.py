"""Server-sent events, encoded."""

from sapwood.testing.scripted.jsontree import JsonObject, encode
from sapwood.testing.scripted.wires.wire import Event

__all__ = ["named_event", "plain_event"]


def named_event(name: str, data: JsonObject, chars: int = 0, *, closing: bool = False) -> Event:
    """An event with a name, which its data repeat as `type`."""
    return Event(b"event: %b\ndata: %b\n\n" % (name.encode(), encode(data)), chars, closing)


def plain_event(
    data: JsonObject, chars: int = 0, *, closing: bool = False, line: bytes = b"\n"
) -> Event:
    """An event without a name."""
    return Event(b"data: %b%b%b" % (encode(data), line, line), chars, closing)
