"""The rows of a timeline: messages, tool calls, marks, folds, summaries and the window's divider.

A row names a place in a log and holds no text, so a conversation of any length fits into memory.
`row_content` looks the text up when a row is drawn.
"""

from typing import Literal

from msgspec import Struct, structs

from sapwood.core.ids import AgentId, EventRef

RowKind = Literal["prompt", "note", "thinking", "reply", "tool", "end", "mark", "event"]
"""`note` is mail or another note in a prompt; `end` is the end of a turn that did not complete."""

RowKey = tuple[str, str, int, int]
"""Identifies a row: it stays the same when all rows are derived again."""


class WayBack(Struct, frozen=True, gc=False):
    """The command that brings messages back into view, and how many times it must be given."""

    command: Literal["undo", "redo"]
    times: int = 1


class Row(Struct, frozen=True, gc=False, tag="row"):
    """A message, a tool call, a mark or an event: the place of its event and the part of it.

    `turn` is the number of its turn in the timeline, -1 outside of turns. `result` and
    `result_part` are the place of the result of a tool call; `result` is 0 while there is none.
    `heads`: the first row of another speaker.
    """

    kind: RowKind
    agent: AgentId
    version: int
    part: int = 0
    turn: int = -1
    result: int = 0
    result_part: int = 0
    heads: bool = False

    @property
    def key(self) -> RowKey:
        """Identifies this row."""
        return ("row", self.agent, self.version, self.part)


class Fold(Struct, frozen=True, gc=False, tag="fold"):
    """Adjacent turns that left view at one moment, for one cause.

    `version` and `at` are the place and the time of the event that did it, and `first` is the
    version of the first row inside. `summary` is the event of the summary that replaced these
    turns; `request` is the event of the user's last request, if the context still carries it and
    no banner shows it. `back` is None where no command brings the turns back.
    """

    version: int
    first: int
    cause: str
    at: int
    messages: int
    turns: int = 0
    summary: EventRef | None = None
    request: EventRef | None = None
    back: WayBack | None = None
    open: bool = False

    @property
    def key(self) -> RowKey:
        """Identifies this fold."""
        return ("fold", "", self.version, self.first)

    def opened(self) -> "Fold":
        """The same fold, marked as open."""
        return structs.replace(self, open=True)


class Banner(Struct, frozen=True, gc=False, tag="banner"):
    """A summary in place of the messages above it, and the user's last request, if it is carried.

    A fork inherits both: then `cause` is 'fork', and the messages are not counted. `in_view`: the
    model still sees the summary; a later clear or summary takes it out of view.
    """

    summary: EventRef | None
    messages: int
    at: int
    turns: int = 0
    cause: str = ""
    request: EventRef | None = None
    back: WayBack | None = None
    in_view: bool = True

    @property
    def key(self) -> RowKey:
        """Identifies this banner."""
        place = self.summary or self.request
        return ("banner", place.agent, place.version, 0) if place else ("banner", "", 0, 0)


class Divider(Struct, frozen=True, gc=False, tag="divider"):
    """The edge of the window: the model cannot see the rows above."""

    turns: int
    tokens: int
    messages: int = 0
    version: int = 0
    at: int = 0
    request: EventRef | None = None
    cause: str = "window"
    back: WayBack | None = None
    exact: bool = False

    @property
    def key(self) -> RowKey:
        """Identifies the divider; there is one at most."""
        return ("divider", "", 0, 0)


TimelineRow = Row | Fold | Banner | Divider


def can_open(row: TimelineRow) -> bool:
    """Whether a row has more to show than it shows at first."""
    match row:
        case Fold() | Banner():
            return True
        case Row(kind):
            return kind in ("tool", "thinking")
        case Divider():
            return False


def is_landmark(row: TimelineRow) -> bool:
    """Whether readers jump to this row: dividers, folds, summaries, marks."""
    return not isinstance(row, Row) or row.kind == "mark"
