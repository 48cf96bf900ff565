"""The context: a small immutable value. Every context command assigns a new one.

No function here reads or copies a message, so every command costs the same in a conversation of
any length. The live path is the turns after `head`, up to and including `tip`. `head` is the last
turn that is out of view, so after a clear `head` equals `tip`.

A turn joins the tree when it ends: while it is open, `tip` is its parent. So a mark or a fork in
an open turn means the start of that turn.
"""

from typing import Literal

from msgspec import Struct, structs

from sapwood.core.content import Note
from sapwood.core.ids import AgentId, EventRef, TurnRef

Moved = Literal["head", "tip"]

StepCause = Literal[
    "", "clear", "keep", "compact", "window", "rewind", "retry", "revert", "load", "drop"
]
"""What made a step; empty if a version before this field made it."""


class Mask(Struct, frozen=True):
    """On the live path up to `upto`, tool results of more than `over` characters are stubs."""

    upto: EventRef
    over: int


class Context(Struct, frozen=True, omit_defaults=True):
    """What the model sees of the history.

    `summary` is the event with the summary of the turns before `head`. `request` is the event with
    the last user request if `head` has moved past it: the request stays in view, word for word.
    `loaded` are the events with quoted turns that stand in front of the live path. `cuts` is the
    event of the newest cut: turns and results between `head` and `tip` that are out of view.
    """

    tip: TurnRef | None = None
    head: TurnRef | None = None
    summary: EventRef | None = None
    request: EventRef | None = None
    mask: Mask | None = None
    loaded: tuple[EventRef, ...] = ()
    cuts: EventRef | None = None


ROOT = Context()
"""An agent's context before its first turn."""


class TurnCut(Struct, frozen=True, array_like=True, gc=False, omit_defaults=True):
    """The turns after `before`, up to and including `last`, are out of view.

    `back`: they were a cut in a layer below and are not any more.
    """

    last: TurnRef
    before: TurnRef | None
    back: bool = False


class ResultCut(Struct, frozen=True, array_like=True, gc=False):
    """The results of a turn that are out of view, by number from 1; none if all came back."""

    turn: TurnRef
    results: tuple[int, ...]


class CutLayer(Struct, frozen=True, omit_defaults=True, gc=False):
    """What changed since the layer in the event `below`; without one, all that is cut."""

    below: EventRef | None = None
    turns: tuple[TurnCut, ...] = ()
    results: tuple[ResultCut, ...] = ()

    @property
    def size(self) -> int:
        """How many entries it has."""
        return len(self.turns) + len(self.results)


class Mark(Struct, frozen=True, omit_defaults=True):
    """A name for a context value; unnamed marks have the empty name.

    For a mark that was set inside an open turn, `turn` is the first version of that turn. If a
    model set it, `call` is the tool call: a fork in the same turn starts exactly there.
    """

    name: str
    context: Context
    version: int
    turn: int | None = None
    call: str | None = None


class Step(Struct, frozen=True):
    """What one context command or one move of the window changed: enough to undo it.

    `context`, `marks`, the waiting `notes` and `window_moved_at` are those before it, `left` are
    the notes that waited after it, `version` is its place in the log, and `cause` says what it was.
    `keep` is the number of a `/clear N`; earlier versions did not record it. `place` is what a
    `/drop` was given. `since` is the place of the command itself, if the step was undone or redone.
    """

    moved: Moved
    context: Context
    marks: tuple[Mark, ...]
    version: int
    notes: tuple[Note, ...] = ()
    left: tuple[Note, ...] = ()
    cause: StepCause = ""
    window_moved_at: int = 0
    keep: int = 0
    place: str = ""
    since: int = 0


def cuts_after_trim(context: Context, cause: str) -> EventRef | None:
    """The cuts that stay after a trim: a bare `/clear` leaves no turn to cut."""
    return None if cause == "clear" else context.cuts


def loaded_after_trim(context: Context, cause: str) -> tuple[EventRef, ...]:
    """The quoted turns that stay after a trim: a `/clear` drops them, a summary does not."""
    return () if cause in ("clear", "keep") else context.loaded


def as_of_turn(context: Context, agent: AgentId, first: int) -> Context:
    """The context when the open turn of `agent` started at version `first`.

    A mask that was set in that turn ends inside it. Before the turn it covers all results.
    """
    mask = context.mask
    if mask is None or mask.upto.agent != agent or mask.upto.version < first:
        return context
    tip = context.tip
    edge = Mask(EventRef(tip.agent, tip.last), mask.over) if tip else None
    return structs.replace(context, mask=edge)


def find_mark(marks: tuple[Mark, ...], name: str | None) -> int | None:
    """Index of the newest mark with this name; without a name, of the newest mark."""
    for index in reversed(range(len(marks))):
        if name is None or marks[index].name == name:
            return index
    return None


def keep_marks(marks: tuple[Mark, ...], index: int) -> tuple[Mark, ...]:
    """The marks after a rewind to `marks[index]`: without later marks of other places, and without
    an unnamed one if the rewind was to it.
    """
    target = marks[index]
    later = tuple(mark for mark in marks[index + 1 :] if mark.context == target.context)
    return (marks[: index + 1] if target.name else marks[:index]) + later


def undo_step(
    step: Step, context: Context, marks: tuple[Mark, ...]
) -> tuple[Context, tuple[Mark, ...]]:
    """Returns the context and the marks without `step`.

    If the step moved `head`, only `head` moves back: newer turns, marks and masks stay. If it moved
    `tip`, everything moves back, and newer turns become a side branch.
    """
    if step.moved == "tip":
        return step.context, step.marks
    since = tuple(mark for mark in marks if mark.version > step.version)
    renewed = {mark.name for mark in since if mark.name}
    older = tuple(mark for mark in step.marks if mark.name not in renewed)
    before = step.context
    mask = context.mask or before.mask
    return (
        structs.replace(before, tip=context.tip, mask=mask),
        older + since,
    )
