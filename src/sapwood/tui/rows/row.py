"""Rows: one message, tool call, mark or divider each. They name places in logs and hold no text.

A conversation of any length fits into memory as rows; the text is read when a row is painted.
"""

from typing import Literal

from msgspec import Struct, structs

from sapwood.core.content import Ended, Got, Note, ReplyPart, Said, Text, Thinking, ToolCall
from sapwood.core.events import Event, ReplyAdded, ToolFinished, TurnRecorded, TurnStarted
from sapwood.core.ids import AgentId, EventRef
from sapwood.core.view.framing import how_it_was_cut

__all__ = ["Banner", "Divider", "Fold", "Key", "Kind", "Piece", "Row", "Shown", "pieces", "spoken"]

Kind = Literal["prompt", "letter", "thinking", "reply", "tool", "end", "mark", "event"]
"""`letter` is mail or another note in a prompt; `end` says that a turn did not complete."""

Key = tuple[str, str, int, int]
"""What makes a row the same row after everything was derived anew."""

Piece = Text | Note | Thinking | ToolCall | Got | ToolFinished


class Row(Struct, frozen=True, gc=False):
    """Something said or done, by the place of its event and the part of it.

    `turn` is its number in the timeline, -1 outside of turns. `result` and `result_part` tell
    where the result of a tool call stands, once there is one. `heads` says that a new speaker
    begins here.
    """

    kind: Kind
    agent: AgentId
    version: int
    part: int = 0
    turn: int = -1
    result: int = 0
    result_part: int = 0
    heads: bool = False

    @property
    def key(self) -> Key:
        return ("row", self.agent, self.version, self.part)


class Fold(Struct, frozen=True, gc=False):
    """Turns that left view at one moment, for one reason, and stand side by side."""

    version: int
    first: int
    cause: str
    at: int
    messages: int
    open: bool = False

    @property
    def key(self) -> Key:
        return ("fold", "", self.version, self.first)

    def opened(self) -> "Fold":
        """The same fold with what is in it shown."""
        return structs.replace(self, open=True)


class Banner(Struct, frozen=True, gc=False):
    """A summary in place of the messages above it."""

    ref: EventRef
    messages: int
    at: int

    @property
    def key(self) -> Key:
        return ("banner", self.ref.agent, self.ref.version, 0)


class Divider(Struct, frozen=True, gc=False):
    """Where the window ends: the model cannot see above it."""

    turns: int
    tokens: int

    @property
    def key(self) -> Key:
        return ("divider", "", 0, 0)


Shown = Row | Fold | Banner | Divider


def spoken(parts: tuple[ReplyPart, ...], ended: Ended) -> tuple[ReplyPart, ...]:
    """What is shown of a reply: one that was cut off ends with a line that says so."""
    return parts if ended == "done" else (*parts, Text(how_it_was_cut(ended)))


def pieces(event: Event) -> tuple[Piece, ...]:
    """The parts of an event that rows point at.

    >>> pieces(TurnStarted(None, (Text("Hello."),)))
    (Text(text='Hello.'),)
    """
    match event:
        case TurnStarted(_, prompt):
            return prompt
        case ReplyAdded(parts, ended=ended):
            return spoken(parts, ended)
        case ToolFinished():
            return (event,)
        case TurnRecorded(_, prompt, items):
            said: list[Piece] = [*prompt]
            for item in items:
                if isinstance(item, Said):
                    said += item.parts
                else:
                    said.append(item)
            return tuple(said)
        case _:
            return ()
