"""The context: a small immutable value, and what every context command assigns to it.

Nothing here reads or copies a message, so every command costs the same however long the
conversation is. The live path is the turns after `head` up to and including `tip`; `head` is the
last turn *left behind*, so "head past tip" is simply `head = tip`.

A turn joins the tree when it ends: while it is open, `tip` is still its parent. That is why a
mark or a fork taken in an open turn means the place where that turn started.
"""

from typing import Literal

from msgspec import Struct, structs

from sapwood.core.content import Note
from sapwood.core.ids import AgentId, EventRef, TurnRef

__all__ = [
    "ROOT",
    "Context",
    "Mark",
    "Mask",
    "Moved",
    "Step",
    "as_of_turn",
    "find_mark",
    "keep_marks",
    "take_back",
]

Moved = Literal["head", "tip"]


class Mask(Struct, frozen=True):
    """Tool results up to `upto` on the live path, longer than `over` characters, show as a stub."""

    upto: EventRef
    over: int


class Context(Struct, frozen=True, omit_defaults=True):
    """What the model sees of the history.

    `summary` is the event that holds the summary of what was left behind, `request` the event
    that holds the last user request when `head` has moved past it: it stays in view verbatim.
    """

    tip: TurnRef | None = None
    head: TurnRef | None = None
    summary: EventRef | None = None
    request: EventRef | None = None
    mask: Mask | None = None


ROOT = Context()
"""An agent's context before its first turn."""


class Mark(Struct, frozen=True, omit_defaults=True):
    """A name for a context value; unnamed marks have the empty name.

    A mark made inside an open turn also knows that turn's first version and, when a model made
    it, the tool call that did: the exact place for a fork in the same turn.
    """

    name: str
    context: Context
    version: int
    turn: int | None = None
    call: str | None = None


class Step(Struct, frozen=True):
    """What one context command changed: enough to take it back.

    `context`, `marks` and the waiting `notes` are those before the command; `left` are the notes
    that waited after it; `version` is where it stands in the log.
    """

    moved: Moved
    context: Context
    marks: tuple[Mark, ...]
    version: int
    notes: tuple[Note, ...] = ()
    left: tuple[Note, ...] = ()


def as_of_turn(context: Context, agent: AgentId, first: int) -> Context:
    """The context when the open turn of `agent` started at version `first`.

    A mask set in that turn ends inside it: seen from the turn's start, it covers all there is.
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
    """The marks left after a rewind to `marks[index]`: later ones go, an unnamed one is used up."""
    return marks[: index + 1] if marks[index].name else marks[:index]


def take_back(
    step: Step, context: Context, marks: tuple[Mark, ...]
) -> tuple[Context, tuple[Mark, ...]]:
    """Context and marks after undoing `step`.

    A moved head moves back, and turns, marks and masks made since stay. A moved tip moves back
    with everything else, and what was made since becomes a side branch.
    """
    if step.moved == "tip":
        return step.context, step.marks
    since = tuple(mark for mark in marks if mark.version > step.version)
    renewed = {mark.name for mark in since if mark.name}
    older = tuple(mark for mark in step.marks if mark.name not in renewed)
    before = step.context
    mask = context.mask or before.mask
    return (
        Context(context.tip, before.head, before.summary, before.request, mask),
        older + since,
    )
