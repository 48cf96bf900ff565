"""What rows say in their own words: events, arguments of tools, causes. Pure."""

import json

from sapwood.core.content import Note
from sapwood.core.events import (
    AgentArchived,
    AgentForked,
    AgentKilled,
    CheckpointMissed,
    ContextRedone,
    ContextReverted,
    ContextRewound,
    ContextUndone,
    Event,
    MailReceived,
    MailSent,
    PinAdded,
    PinRemoved,
    ResultsMasked,
    SettingsChanged,
    TurnFailed,
    TurnInterrupted,
    TurnRecorded,
)
from sapwood.display.text import one_line

__all__ = ["arguments", "ending", "letter_head", "told"]


def told(event: Event) -> tuple[str, str]:
    """A sign and a sentence for an event that is neither said nor a mark."""
    match event:
        case AgentForked(child, mark):
            return "↳", f"Forked. Child: {child}{f' (from {mark})' if mark else ''}"
        case AgentArchived(successor):
            return "▪", f"Archived{f'; {successor} goes on' if successor else ''}"
        case AgentKilled(target):
            return "✗", f"Killed with {target}"
        case SettingsChanged(change):
            changes = (f"{name} = {one_line(str(to))}" for name, to in change.given().items())
            return "·", ", ".join(changes)
        case PinAdded(pin):
            return "⊙", f"Pinned {pin.name}: {one_line(pin.text)}"
        case PinRemoved(name):
            return "⊙", f"Unpinned {name}"
        case MailSent(_, to, text):
            return "✉", f"To {to}: {one_line(text)}"
        case MailReceived(_, text, sender):
            return "✉", f"From {sender or 'outside'}: {one_line(text)}"
        case CheckpointMissed(reason):
            return "·", f"No checkpoint: {one_line(reason)}"
        case ResultsMasked(mask):
            return "·", f"Tool results of more than {mask.over:,} characters are masked"
        case ContextRewound(mark, _, _, note):
            why = f": {one_line(note)}" if note else ""
            return "↶", f"Rewound to {mark or 'the newest mark'}{why}"
        case ContextReverted(to, restored=done):
            return "↶", f"Files and context as {to.words} · {done.written + done.removed:,} changed"
        case ContextUndone():
            return "↶", "Undone"
        case ContextRedone():
            return "↷", "Redone"
        case _:
            return "·", event.kind


def letter_head(note: Note) -> str:
    """Whose words a note in a prompt carries."""
    match note.origin:
        case "mail":
            return f"mail from {note.source or 'outside'}"
        case "delegated":
            return f"delegated to {note.source}"
        case "self":
            return "a note to itself"
        case "program":
            return f"added by {note.source or 'the program'}"


def ending(event: Event) -> tuple[str, str]:
    """How a turn ended that did not complete: in a word, and why."""
    match event:
        case TurnInterrupted(_, reason):
            return "interrupted", reason
        case TurnFailed(_, error):
            return "failed", error
        case TurnRecorded(status=status, reason=reason):
            return status, reason
        case _:
            return "ended", ""


def arguments(args: str) -> str:
    """The arguments of a tool call on one line: values alone where they speak for themselves.

    >>> arguments('{"path": "src/auth.py"}'), arguments('{"n": 3, "deep": true}')
    ('src/auth.py', 'n=3 deep=true')
    """
    try:
        found: object = json.loads(args)
    except ValueError:
        return one_line(args)
    if not isinstance(found, dict):
        return one_line(args)
    return " ".join(_argument(str(name), value) for name, value in found.items())  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]


def _argument(name: str, value: object) -> str:
    if isinstance(value, str):
        return one_line(value)
    return f"{name}={json.dumps(value, ensure_ascii=False)}"
