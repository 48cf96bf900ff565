"""The rows of a timeline: messages, tool calls, marks, folds, summaries and the window's divider.

A row names a place in a log and holds no text, so a conversation of any length fits into memory.
`row_content` looks the text up when a row is drawn.

The labels of rows that all faces share: notes, folds, dividers, tool arguments.

They may contain text of users, models and tools, so each face escapes them for its medium.
"""

import json
from typing import Literal, assert_never

from msgspec import DecodeError, Struct, structs
from msgspec.json import decode

from sapwood.core.content import Note
from sapwood.core.ids import AgentId, EventRef
from sapwood.core.plural import counted
from sapwood.core.token_count import Count, show_tokens

RowKind = Literal["prompt", "note", "thinking", "reply", "tool", "end", "mark", "event"]
"""`note` is mail or another note in a prompt; `end` is the end of a turn that did not complete."""

RowKey = tuple[str, str, int, int]
"""Identifies a row: it stays the same when all rows are derived again."""


class UndoAction(Struct, frozen=True, gc=False):
    """The command that brings messages back into view, and how many times it must be given.

    `place` are the turns that `/bring` is given.
    """

    command: Literal["undo", "redo", "load"]
    times: int = 1
    place: str = ""

    @property
    def typed(self) -> str:
        """The command as people type it."""
        name = "bring" if self.command == "load" else self.command
        return f"/{name} {self.place}".rstrip()


class Row(Struct, frozen=True, gc=False, tag="row"):
    """A message, a tool call, a mark or an event: the place of its event and the part of it.

    `turn` is the number of its turn in the timeline, -1 outside of turns; the notice of a `/retry`
    has the turn that it started, but no `place`. `result` and `result_part` are the place of the
    result of a tool call; `result` is 0 while there is none. `heads`: the first row of another
    speaker. `place` is the turn as people name it, such as `3` or `NAME/3`; for a mark that was set
    during a turn, that turn. `dropped` is the place of a result that was dropped from view, such as
    `3.2`.
    """

    kind: RowKind
    agent: AgentId
    version: int
    part: int = 0
    turn: int = -1
    result: int = 0
    result_part: int = 0
    heads: bool = False
    place: str = ""
    dropped: str = ""

    @property
    def key(self) -> RowKey:
        """Identifies this row."""
        return ("row", self.agent, self.version, self.part)


class Fold(Struct, frozen=True, gc=False, tag="fold"):
    """Adjacent turns that left view at one moment, for one cause.

    `version` and `at` are the place and the time of the event that did it, and `first` is the
    version of the first row inside. `summary` is the event of the summary that replaced these
    turns; `request` is the event of the user's last request, if the context still carries it and
    no banner shows it. `back` is None where no command brings the turns back. `tokens` is the size
    of dropped turns; 0 if it is not known.
    """

    version: int
    first: int
    cause: str
    at: int
    messages: int
    turns: int = 0
    summary: EventRef | None = None
    request: EventRef | None = None
    back: UndoAction | None = None
    open: bool = False
    tokens: int = 0
    exact: bool = False

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
    back: UndoAction | None = None
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
    back: UndoAction | None = None
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


def note_label(note: Note) -> str:
    """Where a note in a prompt comes from."""
    match note.origin:
        case "mail":
            return f"mail from {note.source or 'outside'}"
        case "delegated":
            return f"delegated to {note.source}"
        case "self":
            return "a note to itself"
        case "parent":
            return f"a child of {note.source}"
        case "shell":
            return f"! {note.source}"
        case "program":
            return f"added by {note.source or 'the program'}"
        case _:
            assert_never(note.origin)


def dropped_label(row: TimelineRow) -> str:
    """What a row says whose tool result was dropped from view; '' if it is in view.

    >>> dropped_label(Row("tool", AgentId("a"), 3, dropped="2.1"))
    'result dropped · /bring 2.1'
    """
    dropped = row.dropped if isinstance(row, Row) else ""
    return f"result dropped · /bring {dropped}" if dropped else ""


def fold_label(fold: Fold) -> str:
    """How many messages are behind a fold, and whether the window or a command took them out.

    >>> fold_label(Fold(9, 2, "/clear 2", 0, messages=6))
    '6 messages pruned'
    >>> fold_label(Fold(9, 2, "/drop 4-7", 0, messages=8, turns=4, tokens=17_000))
    '4 turns dropped, ~17k tokens'
    """
    if fold.cause.startswith("/drop"):
        size = f", {show_tokens(Count(fold.tokens, fold.exact))}" if fold.tokens else ""
        return f"{counted(fold.turns, 'turn')} dropped{size}"
    return (
        f"{counted(fold.messages, 'message')} {'clipped' if fold.cause == 'window' else 'pruned'}"
    )


def divider_label(divider: Divider, *, tokens: bool = True, place: str = "") -> str:
    """The label of the window's divider; `place` names the first row below it.

    >>> divider_label(Divider(turns=3, tokens=1_834))
    "model can't see above · 3 turns clipped · ~1.8k tokens"
    """
    words = f"model can't see above{place} · {counted(divider.turns, 'turn')} clipped"
    size = show_tokens(Count(divider.tokens, divider.exact))
    return f"{words} · {size}" if tokens else words


def edge_label(row: Fold | Banner | Divider) -> str:
    """The line of a printed page where messages are out of view, with the command that shows them.

    A summary that the model sees needs no such line.

    >>> edge_label(Fold(9, 2, "/clear 2", 0, messages=6, back=UndoAction("undo")))
    '6 messages pruned · /clear 2 · out of view; /undo brings them back'
    """
    match row:
        case Fold(cause=cause, back=back):
            words = f"{fold_label(row)} · {cause} · out of view"
            return f"{words}; {undo_label(back)}" if back else words
        case Divider():
            return f"▲ {divider_label(row)}"
        case Banner(summary=summary, in_view=in_view):
            return "" if in_view else f"a summary, {summary}, is out of view"
        case _:
            assert_never(row)


def mark_label(name: str, before: str = "") -> str:
    """The label of a mark; one that was set during a turn names the turn that it stands before.

    >>> mark_label("START"), mark_label("", "12")
    ('◆ START', '◆ unnamed mark, before #12')
    """
    return f"◆ {name or 'unnamed mark'}{f', before #{before}' if before else ''}"


def undo_label(back: UndoAction | None) -> str:
    """How to bring messages back into view, as a clause; empty if no command does.

    >>> undo_label(UndoAction("undo")), undo_label(UndoAction("redo", 2)), undo_label(None)
    ('/undo brings them back', '/redo, 2 times, brings them back', '')
    >>> undo_label(UndoAction("load", place="4-7"))
    '/bring 4-7 brings them back'
    """
    if back is None:
        return ""
    times = f", {back.times} times," if back.times > 1 else ""
    return f"{back.typed}{times} brings them back"


def call_arguments(args: str) -> str:
    """The arguments of a tool call on one line; a text argument is shown without its name.

    >>> call_arguments('{"path": "src/auth.py"}'), call_arguments('{"n": 3, "deep": true}')
    ('src/auth.py', 'n=3 deep=true')
    """
    try:
        found = decode(args, type=dict[str, object])
    except (DecodeError, UnicodeEncodeError, RecursionError):
        return _one_line(args)
    return " ".join(_argument(name, value) for name, value in found.items())


def _argument(name: str, value: object) -> str:
    if isinstance(value, str):
        return _one_line(value)
    return f"{name}={json.dumps(value, ensure_ascii=False)}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
