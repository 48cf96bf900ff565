"""What a reader makes of rows, one after the other: turns, compactions, rewinds.

The common currency of all readers. Each carries the key of the row that it rests on, which names it
for ever: two who read the same transcript name the same happenings.
"""

from typing import Literal

from msgspec import Struct

from sapwood.core.content import Got, PromptPart, Said
from sapwood.core.session import Boundary

__all__ = ["Compacted", "Ending", "Happening", "Rewound", "Spot", "Told"]

Ending = Literal["open", "completed", "interrupted", "failed"]


class Spot(Struct, frozen=True, gc=False):
    """A row: the key that names it, when it was written, and the byte where it begins."""

    key: str
    at: int
    place: int


class Told(Struct, frozen=True, gc=False):
    """A turn as the transcript tells it, from its first row to its last.

    An `open` one may still grow: it is told again, whole, when it has ended.
    """

    first: Spot
    last: Spot
    prompt: tuple[PromptPart, ...]
    items: tuple[Said | Got, ...]
    status: Ending
    reason: str = ""


class Compacted(Struct, frozen=True):
    """A summary took the place of what came before. `boundary.after` counts from where the
    reader began."""

    spot: Spot
    boundary: Boundary


class Rewound(Struct, frozen=True):
    """The conversation went on from the end of an earlier turn, told by its number from 0.

    -1 is the beginning.
    """

    spot: Spot
    to: int


Happening = Told | Compacted | Rewound
