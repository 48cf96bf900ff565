"""What an errand brings back. Values that encode to JSON as they stand."""

from msgspec import Struct

from sapwood.core.ledger import Ledger
from sapwood.garden.drift import Drift
from sapwood.garden.focus import Focus
from sapwood.garden.handing import Handoff
from sapwood.garden.pruning import Advice
from sapwood.garden.searching import Passage
from sapwood.garden.weighing import Breakdown, Estimate

__all__ = ["Answer", "Archived", "Archives", "Found", "Handed", "Resumption"]


class Archived(Struct, frozen=True):
    """One archive: its topic, and where it is. Without a path it was not stored; `text` is all."""

    topic: str
    turns: tuple[int, ...]
    tokens: int
    exact: bool
    path: str = ""
    text: str = ""


class Archives(Struct, frozen=True):
    """The archives that were made."""

    archives: tuple[Archived, ...]


class Resumption(Struct, frozen=True):
    """A prompt that lets a model go on, and how many tokens it has."""

    prompt: str
    tokens: int
    exact: bool
    session: str = ""


class Handed(Struct, frozen=True):
    """A package and where it is. Without a path it was not stored."""

    handoff: Handoff
    text: str
    path: str = ""


class Found(Struct, frozen=True):
    """Where the words were found."""

    hits: tuple[Passage, ...]


Answer = (
    Estimate | Breakdown | Ledger | Focus | Archives | Resumption | Advice | Drift | Handed | Found
)
