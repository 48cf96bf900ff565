"""What a reader makes of rows, one after the other: turns, compactions, rewinds.

The common currency of all readers. Every step carries the key of the row it rests on, which names
it for ever: two who read the same transcript name the same steps.
"""

from typing import Literal

from msgspec import Struct

from sapwood.core.content import Got, PromptPart, Said
from sapwood.core.session import Boundary

__all__ = ["Compacted", "Ending", "Rewound", "Step", "Told"]

Ending = Literal["open", "completed", "interrupted", "failed"]


class Told(Struct, frozen=True, gc=False):
    """A turn as the transcript tells it. `first` and `last` are the keys of its rows.

    An `open` one may still grow: it is told again, whole, when it has ended.
    """

    first: str
    last: str
    at: int
    prompt: tuple[PromptPart, ...]
    items: tuple[Said | Got, ...]
    status: Ending
    reason: str = ""
    until: int = 0


class Compacted(Struct, frozen=True):
    """A summary took the place of what came before. `boundary.after` counts turns since the
    reader began."""

    key: str
    boundary: Boundary


class Rewound(Struct, frozen=True):
    """The conversation went on from the end of an earlier turn, told by its number from 0.

    -1 is the beginning.
    """

    key: str
    to: int
    at: int


Step = Told | Compacted | Rewound
