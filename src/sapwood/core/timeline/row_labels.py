"""The labels of rows that all faces share: notes, folds, dividers, tool arguments.

They may contain text of users, models and tools, so each face escapes them for its medium.
"""

import json
from typing import assert_never

from msgspec import DecodeError
from msgspec.json import decode

from sapwood.core.content import Note
from sapwood.core.plural import counted
from sapwood.core.timeline.rows import Banner, Divider, Fold, WayBack
from sapwood.core.token_count import Count, show_tokens


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
        case "program":
            return f"added by {note.source or 'the program'}"
        case _:
            assert_never(note.origin)


def fold_label(fold: Fold) -> str:
    """How many messages are behind a fold, and whether the window or a command took them out.

    >>> fold_label(Fold(9, 2, "/clear 2", 0, messages=6))
    '6 messages pruned'
    """
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

    >>> edge_label(Fold(9, 2, "/clear 2", 0, messages=6, back=WayBack("undo")))
    '6 messages pruned · /clear 2 · out of view; /undo brings them back'
    """
    match row:
        case Fold(cause=cause, back=back):
            words = f"{fold_label(row)} · {cause} · out of view"
            return f"{words}; {way_back_label(back)}" if back else words
        case Divider():
            return f"▲ {divider_label(row)}"
        case Banner(summary=summary, in_view=in_view):
            return "" if in_view else f"a summary, {summary}, is out of view"
        case _:
            assert_never(row)


def mark_label(name: str, before: int = 0) -> str:
    """The label of a mark; one that was set during a turn names the turn that it stands before.

    >>> mark_label("START"), mark_label("", 12)
    ('◆ START', '◆ unnamed mark, before #12')
    """
    return f"◆ {name or 'unnamed mark'}{f', before #{before}' if before else ''}"


def way_back_label(back: WayBack | None) -> str:
    """How to bring messages back into view, as a clause; empty if no command does.

    >>> way_back_label(WayBack("undo")), way_back_label(WayBack("redo", 2)), way_back_label(None)
    ('/undo brings them back', '/redo, 2 times, brings them back', '')
    """
    if back is None:
        return ""
    times = f", {back.times} times," if back.times > 1 else ""
    return f"/{back.command}{times} brings them back"


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
