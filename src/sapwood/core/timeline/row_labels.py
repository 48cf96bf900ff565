"""The labels of rows that all faces share: notices, notes, folds, dividers, tool arguments.

They may contain text of users, models and tools, so each face escapes them for its medium.
"""

import json
from typing import assert_never

from msgspec import DecodeError
from msgspec.json import decode

from sapwood.core import events
from sapwood.core.content import Note
from sapwood.core.events import Event
from sapwood.core.plural import counted
from sapwood.core.timeline.event_summary import event_summary
from sapwood.core.timeline.rows import Banner, Divider, Fold, WayBack
from sapwood.core.token_count import Count, show, show_tokens


def notice(event: Event) -> tuple[str, str]:
    """A sign and a sentence for an event that has a row and is neither a message nor a mark."""
    match event:
        case events.AgentForked(child, mark):
            return "↳", f"Forked. Child: {child}{f' from {mark}' if mark else ''}"
        case events.AgentArchived(successor):
            return "▪", f"Archived{f'; {successor} goes on' if successor else ''}"
        case events.AgentUnarchived():
            return "▪", "Running again"
        case events.AgentRenamed(name):
            return "▪", f"Renamed to {_one_line(name)}"
        case events.AgentTagged():
            return "▪", f"Tagged: {event_summary(event)}"
        case events.AgentKilled(target):
            return "✗", f"Killed with {target}"
        case events.SettingsChanged():
            return "·", event_summary(event)
        case events.PinAdded():
            return "⊙", f"Pinned {event_summary(event)}"
        case events.PinRemoved():
            return "⊙", f"Unpinned {event_summary(event)}"
        case events.MailSent():
            return "✉", f"To {event.to}: {_one_line(event.text)}"
        case events.MailReceived():
            return "✉", f"From {event.sender or 'outside'}: {_one_line(event.text)}"
        case events.WordsErased(source):
            return "·", f"{source} was erased, and its words in this conversation"
        case events.CheckpointMissed(reason):
            return "·", f"No checkpoint: {_one_line(reason)}"
        case events.ResultsMasked(mask):
            return "·", f"Tool results of more than {mask.over:,} characters are masked"
        case events.ContextRewound(before=before) if before:
            return "↶", f"Rewound to before turn {before}"
        case events.ContextRewound(mark, _, _, note):
            why = f": {_one_line(note)}" if note else ""
            return "↶", f"Rewound to {mark or 'the newest mark'}{why}"
        case events.ContextReverted(to, restored=done):
            return "↶", f"Files and context as {to.words} · {done.written + done.removed:,} changed"
        case events.ContextLoaded():
            return "❝", f"Loaded turn {_one_line(event_summary(event))}"
        case events.ContextUndone(_, command):
            return "↶", f"Undone: {command}" if command else "Undone"
        case events.ContextRedone(_, command):
            return "↷", f"Redone: {command}" if command else "Redone"
        case events.ReplyLost(_, _, tokens):
            size = show(Count(tokens, exact=False))
            return "↻", f"Asked again, may be billed twice ({size} tokens): its process had ended"
        case events.SessionAssumed(session, loss=loss) if loss:
            return "⚠", f"{session.program}: {_one_line(loss)}"
        case events.SessionDiffered(text):
            return "⚠", f"The program's request differed from the history here: {_one_line(text)}"
        case events.CallReported():
            return "⚠", _cost_of_call(event)
        case events.QuestionAnswered(_, allowed):
            return "?", "Allowed" if allowed else "Denied"
        case (
            events.AgentStarted()
            | events.FileAdded()
            | events.InstructionsRead()
            | events.Focused()
            | events.Unfocused()
            | events.NoteDeclared()
            | events.SessionJudged()
            | events.TurnStarted()
            | events.TurnLeased()
            | events.ModelCalled()
            | events.QuestionAsked()
            | events.PromptQueued()
            | events.PromptUnqueued()
            | events.ReplyAdded()
            | events.ReplyStreamed()
            | events.ToolStarted()
            | events.ToolFinished()
            | events.TurnCompleted()
            | events.TurnInterrupted()
            | events.TurnFailed()
            | events.TurnRecorded()
            | events.MarkSet()
            | events.ContextTrimmed()
            | events.ContextSummarized()
            | events.SummaryDropped()
            | events.ClearDeferred()
            | events.CheckpointMade()
            | events.RevertStarted()
            | events.MailRead()
            | events.SessionAssumed()
            | events.NativeRecorded()
            | events.UnreadableEvent()
        ):
            return "·", f"{event.kind} {event_summary(event)}".rstrip()
        case _:
            assert_never(event)


_REASONS = {
    "prefix_binding_mismatch": "what stood before them has changed",
    "model_binding_mismatch": "another model wrote them",
    "organization_binding_mismatch": "another account made them",
    "messages_changed": "the history has changed",
    "input_changed": "the history has changed",
    "system_changed": "the system prompt has changed",
    "tools_changed": "the tools have changed",
    "model_changed": "the model has changed",
    "context_compacted": "the history was compacted",
}
"""What the reasons of providers mean, in the words of people. Others are shown as they are."""


def _cost_of_call(event: events.CallReported) -> str:
    """What a request cost besides its tokens: the price of the last context command, mostly."""
    costs: list[str] = []
    if event.dropped:
        why = _REASONS.get(event.dropped_why, event.dropped_why)
        costs.append(f"the provider left out {counted(event.dropped, 'earlier thought')}: {why}")
    if event.missed:
        why = _REASONS.get(event.missed_why, event.missed_why)
        size = show_tokens(Count(event.missed, exact=False))
        costs.append(f"{size} were not in the cache: {why}")
    said = "; ".join(costs)
    return f"After {event.command}, {said}" if event.command else said[:1].upper() + said[1:]


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
