"""The base of every reader, and what builds the events of one conversation while rows are read."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from itertools import pairwise

from msgspec import structs

from sapwood.analysis.session import Boundary
from sapwood.core.content import Note, PromptPart
from sapwood.programs.transcripts.transcript_events import (
    Mask,
    RowRef,
    SessionDetails,
    TranscriptCompaction,
    TranscriptEvent,
    TranscriptRewind,
)
from sapwood.programs.transcripts.turn_builder import TurnBuilder
from sapwood.redaction import mask_secrets

COMPACTED = "The context was compacted here."
"""The reason of a turn that was cut in two by a compaction."""

OTHER_BRANCH = "The session was also used in another terminal, which continued here."
"""The reason of a turn that was cut in two by rows of another branch."""


class ConversationBuilder:
    """The state that every reader keeps: the open turn, and the events so far.

    `turns` counts the turns that have ended, and `tip` is the number of the one that the next turn
    follows, -1 at the beginning. `is_tip_sure` is false if the rows do not say so: after a row that
    removed the whole history, and after rows that were passed over. `done` is true once the model
    has answered. `needs_earlier_rows` is true if a row referred to one that was not read. Texts
    between turns wait for the next prompt, each with the key of its row.
    """

    def __init__(self) -> None:
        self.events: list[TranscriptEvent] = []
        self.turns = 0
        self.tip: int = -1
        self.is_tip_sure = True
        self._parents: list[int] = []
        self.turn: TurnBuilder | None = None
        self.done = False
        self.needs_earlier_rows = False
        self._pending: list[tuple[str, PromptPart]] = []
        self._opening: list[tuple[str, PromptPart]] = []
        self._compaction: TranscriptCompaction | None = None

    @property
    def turn_has_ended(self) -> bool:
        """Whether the last turn has ended, as far as the rows show."""
        return self.turn is not None and (self.done or self.turn.reason != "")

    def start_turn(self, ref: RowRef, prompt: PromptPart) -> TurnBuilder:
        """Ends the last turn and starts a new one with this prompt."""
        self.end_turn()
        return self._open(ref, prompt)

    def current_turn(self, ref: RowRef) -> TurnBuilder:
        """The turn that a reply or a result belongs to; makes one if none is open."""
        self.emit_compaction()
        if self._pending and self.turn_has_ended:
            self.end_turn()
        if self.turn is not None:
            return self.turn
        self.needs_earlier_rows = True  # the prompt may be in an earlier row
        return self._open(ref)

    def add_note(self, ref: RowRef, text: str) -> None:
        """Adds a text of the program to the open turn, else to the next prompt."""
        note = Note("program", text)
        if self.turn is not None and not self.turn_has_ended:
            self.turn.add(note)
            self.turn.extend_to(ref)
        elif text:
            self.add_waiting(ref, note)

    def add_waiting(self, ref: RowRef, part: PromptPart) -> None:
        """Adds a part to the next prompt."""
        self._pending.append((ref.key, part))

    def take_waiting(self) -> PromptPart | None:
        """Takes the last part that waits for the next prompt back; None if none waits."""
        return self._pending.pop()[1] if self._pending else None

    def take_opening(self) -> list[tuple[str, PromptPart]]:
        """Takes the parts that had waited for the prompt of the open turn, with their rows."""
        taken, self._opening = self._opening, []
        return taken

    def keep_waiting(self, keys: Collection[str]) -> None:
        """Drops the parts that wait for the next prompt, but those of these rows."""
        self._pending = [(key, part) for key, part in self._pending if key in keys]

    def end_turn(self, reason: str = "") -> None:
        """Ends the last turn and emits it; `reason` says why, unless it was completed."""
        self.emit_compaction()
        if self.turn is not None and self.turn.is_empty:
            self.turn = None
        if self.turn is not None:
            self.events.append(self.turn.to_event(reason=reason, parent=self._parent))
            self.forget_last_turn()

    def forget_last_turn(self) -> None:
        """Forgets the last turn; further rows make a new turn."""
        if self.turn is not None:
            self._parents.append(self.tip)
            self.tip, self.is_tip_sure = self.turns, True
            self.turns += 1
        self.turn, self.done, self.needs_earlier_rows = None, False, False

    def finish(self, *, growing: bool) -> None:
        """Emits the last turn, as open unless it has ended."""
        if not growing:
            self.emit_compaction()
        if self.turn is not None:
            ending = None if self.turn_has_ended else "open"
            self.events.append(self.turn.to_event(ending, parent=self._parent))

    def rewind(self, ref: RowRef, to: int) -> None:
        """Emits a rewind to the end of turn `to`, unless the conversation is there already."""
        if to != self.tip and to < self.turns:
            self.tip, self.is_tip_sure = to, True
            self.events.append(TranscriptRewind(ref, to))

    def turn_before(self, count: int) -> int:
        """The number of the turn that is this many turns before the tip; -1 at the beginning."""
        turn = self.tip
        for _ in range(min(count, self.turns)):
            turn = self.parent_of(turn)
        return turn

    def parent_of(self, turn: int) -> int:
        """The number of the turn before this one; -1 if it is the first."""
        return self._parents[turn] if 0 <= turn < self.turns else -1

    def pass_over_compactions(self) -> None:
        """Drops the compactions since the last turn: a row that was passed over replaced them."""
        self._compaction = None
        while self.events and isinstance(self.events[-1], TranscriptCompaction):
            self.events.pop()

    def is_behind(self, turn: int) -> bool:
        """Whether the current turn, or the next one, is this turn or follows it."""
        at = self.turns
        while at > turn:
            at = self.tip if at == self.turns else self.parent_of(at)
        return at == turn

    @property
    def _parent(self) -> int | None:
        return self.tip if self.is_tip_sure else None

    def is_path(self, turns: Sequence[int]) -> bool:
        """Whether each of these ended turns follows the one before it."""
        return bool(turns) and all(self.parent_of(b) == a for a, b in pairwise(turns))

    def begin_compaction(self, ref: RowRef, boundary: Boundary) -> None:
        """Ends the turn; the compaction is emitted when its summary or another row comes.

        If it names whole turns, the next turn follows the last of them.
        """
        self.end_turn(COMPACTED)
        if boundary.turns:
            self.tip, self.is_tip_sure = boundary.turns[-1], True
        elif boundary.cleared:
            self.is_tip_sure = False
        self._compaction = TranscriptCompaction(ref, structs.replace(boundary, after=self.turns))

    def add_summary(self, ref: RowRef, text: str) -> None:
        """Adds the summary of a compaction; before any turn, it joins the first prompt."""
        if self._compaction is None and self.turn is None and not self.turns:
            self.add_note(ref, text)
            return
        if self._compaction is None:
            self.begin_compaction(ref, Boundary(0, at=ref.at))
        if self._compaction is not None:
            boundary = structs.replace(self._compaction.boundary, summary=text)
            self._compaction = TranscriptCompaction(self._compaction.ref, boundary)
        self.emit_compaction()

    def emit_compaction(self) -> None:
        """Emits a compaction that waits for its summary."""
        if self._compaction is not None:
            self.events.append(self._compaction)
            self._compaction = None

    def _open(self, ref: RowRef, *prompt: PromptPart) -> TurnBuilder:
        self._opening, self._pending = self._pending, []
        waiting = [part for _, part in self._opening]
        parts = tuple(part for part in (*waiting, *prompt) if part.text.strip())
        self.turn = TurnBuilder(ref, parts) if parts else TurnBuilder(ref)
        self.done = False
        return self.turn


class TranscriptReader(ABC):
    """Reads the rows of one transcript. The caller takes the events away.

    Readers do no I/O and raise nothing: a row that is broken or unknown is skipped. `mask` masks
    the secrets in tool results.
    """

    source: str

    def __init__(self, mask: Mask = mask_secrets) -> None:
        self.details = SessionDetails()
        self._mask = mask
        self._builder = ConversationBuilder()
        self._passed_over: frozenset[str] = frozenset()

    @property
    def needs_earlier_rows(self) -> bool:
        """Whether a row referred to rows before the first one that was fed.

        A caller that began in the middle of the transcript must then read it from the beginning.
        """
        return self._builder.needs_earlier_rows

    @property
    def events(self) -> list[TranscriptEvent]:
        """The events so far."""
        return self._builder.events

    @property
    def children(self) -> "Sequence[TranscriptReader]":
        """Readers of the subagents whose rows are in the same transcript."""
        return ()

    @abstractmethod
    def feed(self, row: bytes, offset: int) -> None:
        """Takes in one row, which begins at this byte of the transcript."""

    @abstractmethod
    def has_key(self, row: bytes, offset: int, key: str) -> bool:
        """Whether this row has the key."""

    def begin_file(self, name: str) -> None:  # noqa: B027
        """Says that the rows that follow are in another file of the same session.

        Keys of rows begin with `name`, which is empty for the first file.
        """

    def pass_over(self, keys: Collection[str]) -> None:
        """Says that these rows change nothing: the caller knows what they say."""
        self._passed_over = frozenset(keys)

    def finish(self, *, growing: bool = False) -> None:
        """Emits the last turn, as open unless it has ended. More rows may follow.

        While the transcript is `growing`, a compaction waits for its summary.
        """
        self._builder.finish(growing=growing)

    def forget_last_turn(self) -> None:
        """Forgets the last turn after the caller recorded it; further rows make a new turn."""
        self._builder.forget_last_turn()
