"""One conversation as its rows come: the open turn, what waits for a prompt, what happened."""

from msgspec import structs

from sapwood.core.content import Note, PromptPart
from sapwood.core.session import Boundary
from sapwood.sources.building import TurnBuilder
from sapwood.sources.happenings import Compacted, Happening, Rewound, Spot

__all__ = ["COMPACTED", "Thread"]

COMPACTED = "The context was compacted here."
"""Why a turn has ended that went on after it."""


class Thread:
    """What every reader keeps while it reads. `turns` counts those that were told as ended.

    `lost` says that a row referred to something that was not read.
    """

    def __init__(self) -> None:
        self.happened: list[Happening] = []
        self.turns = 0
        self.turn: TurnBuilder | None = None
        self.done = False
        self.lost = False
        self.pending: list[PromptPart] = []
        self._boundary: Compacted | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the turn that stands last has come to its end, as far as can be told."""
        return self.turn is not None and (self.done or self.turn.reason != "")

    def ask(self, spot: Spot, prompt: PromptPart) -> TurnBuilder:
        """Somebody asked for something: a new turn."""
        self.end()
        return self._open(spot, prompt)

    def opened(self, spot: Spot) -> TurnBuilder:
        """The turn that a reply or a result belongs to."""
        self.tell_boundary()
        if self.pending and self.has_ended:
            self.end()
        if self.turn is not None:
            return self.turn
        self.lost = True  # what nobody asked for may have been told before
        return self._open(spot)

    def note(self, spot: Spot, text: str) -> None:
        """The program added words: to the open turn, or to the next prompt."""
        note = Note("program", text)
        if self.turn is not None and not self.has_ended:
            self.turn.add(note)
            self.turn.seen(spot)
        elif text:
            self.pending.append(note)

    def end(self, reason: str = "") -> None:
        """The turn that stands last has ended; the reason is given unless it was completed."""
        self.tell_boundary()
        if self.turn is not None and self.turn.is_empty:
            self.turn = None
        if self.turn is not None:
            self.happened.append(self.turn.told(reason=reason))
            self.cut()

    def cut(self) -> None:
        """Forgets the turn that was told last: what follows of it is a turn of its own."""
        if self.turn is not None:
            self.turns += 1
        self.turn, self.done, self.lost = None, False, False

    def finish(self, *, growing: bool) -> None:
        """Tells the turn that stands last, as open unless it has ended."""
        if not growing:
            self.tell_boundary()
        if self.turn is not None:
            self.happened.append(self.turn.told(None if self.has_ended else "open"))

    def rewind(self, spot: Spot, to: int) -> None:
        """The conversation went back to the end of turn `to`, if that is not where it is."""
        if to < self.turns - 1:
            self.happened.append(Rewound(spot, to))

    def compact(self, spot: Spot, boundary: Boundary) -> None:
        """A compaction began here. It is told when the summary has come, or something else."""
        self.end(COMPACTED)
        self._boundary = Compacted(spot, structs.replace(boundary, after=self.turns))

    def summarize(self, spot: Spot, text: str) -> None:
        """The summary of a compaction; without anything before it, words for the first prompt."""
        if self._boundary is None and self.turn is None and not self.turns:
            self.note(spot, text)
            return
        if self._boundary is None:
            self.compact(spot, Boundary(0, at=spot.at))
        if self._boundary is not None:
            told = structs.replace(self._boundary.boundary, summary=text)
            self._boundary = Compacted(self._boundary.spot, told)
        self.tell_boundary()

    def tell_boundary(self) -> None:
        """Tells a compaction whose summary has come or will not come."""
        if self._boundary is not None:
            self.happened.append(self._boundary)
            self._boundary = None

    def _open(self, spot: Spot, *prompt: PromptPart) -> TurnBuilder:
        parts = tuple(part for part in (*self.pending, *prompt) if part.text.strip())
        self.pending.clear()
        self.turn = TurnBuilder(spot, parts) if parts else TurnBuilder(spot)
        self.done = False
        return self.turn
