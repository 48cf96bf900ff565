"""An event that this version of Sapwood cannot read: of a newer version, or damaged.

It keeps its place in the log and has no effect, so that one such row stops nobody. Its data is kept
as it was stored.
"""

from msgspec import Struct

__all__ = ["UnreadableEvent"]


class UnreadableEvent(Struct, frozen=True, gc=False):
    """What stands in the place of an event that cannot be read.

    `kind` and `data` are as they were stored and `reason` is why they cannot be read. `newer` says
    that the kind is unknown: a newer Sapwood wrote the event, and an upgrade makes it readable.

    >>> UnreadableEvent("turn.dreamt", b"{}", "its kind is unknown", newer=True).kind
    'turn.dreamt'
    """

    kind: str
    data: bytes
    reason: str
    newer: bool = False
