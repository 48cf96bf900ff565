"""What a conversation is written on: a transcript on the screen, or the terminal's scrollback."""

from typing import Protocol

from sapwood.core.timeline.rows import RowKey
from sapwood.core.timeline.timeline import Timeline
from sapwood.runtime.timeline_reader import EventCache
from sapwood.tui.transcript.painter import Stream

__all__ = ["Paper"]


class Paper(Protocol):
    """Takes rows as the timeline gains them."""

    async def show(self, timeline: Timeline, events: EventCache) -> None:
        """Begins with a conversation, at its end."""
        ...

    async def complete(self, timeline: Timeline) -> None:
        """The same conversation is known further back."""
        ...

    async def grow(self) -> None:
        """The timeline has gained something."""
        ...

    async def stream(self, piece: Stream | None) -> None:
        """An answer is on its way, or none is."""
        ...

    async def go_to(self, key: RowKey) -> bool:
        """Shows one row; false if there is no such row."""
        ...
