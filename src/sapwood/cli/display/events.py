"""Events, one line each."""

import click

from sapwood.core import events
from sapwood.core.checkpoint import told_of
from sapwood.core.content import Got, Note, Part, PromptPart, Said, Text, Thinking, ToolCall, Usage
from sapwood.core.counting import Count, show
from sapwood.core.events import Event, Recorded
from sapwood.core.view.framing import how_it_was_cut
from sapwood.display.money import money, usage_line
from sapwood.display.text import cut, one_line
from sapwood.display.times import clock

__all__ = ["event_line", "gist"]

_ROOMY = 70
_FEW_WORDS = 20


def event_line(recorded: Recorded, width: int, used: Usage | None = None) -> str:
    """The event on one line: version, moment, kind, what it is about, and what was used for it."""
    roomy = width >= _ROOMY
    head = f"{recorded.version:>5} " if roomy else f"{recorded.version:>4} "
    moment = f"{clock(recorded.at)}  " if roomy else ""
    kind = f"{recorded.kind:<18} " if roomy else f"{recorded.kind} "
    room = width - len(head) - len(moment) - len(kind)
    spent = _spent(used, room)
    about = cut(gist(recorded.event), max(room - len(spent), 12))
    return (
        f"{click.style(head, fg='cyan')}{click.style(moment, dim=True)}"
        f"{click.style(kind, bold=True)}{about}{click.style(spent, dim=True)}"
    ).rstrip()


def _spent(used: Usage | None, room: int) -> str:
    """As much of it as leaves room for a few words."""
    if used is None:
        return ""
    ways = (f" ({usage_line(used)})", f" ({money(used.cost)})" if used.cost else "")
    return next((way for way in ways if len(way) + _FEW_WORDS <= room), "")


def gist(event: Event) -> str:
    """What the event is about, in a few words."""
    match event:
        case events.AgentStarted(by, name, settings):
            origin = "" if by == "person" else f" by {by}"
            return f"{name}{origin} {settings.model}".strip()
        case events.AgentForked(child, mark, goal):
            return f"{child}{f' from {mark}' if mark else ''}: {_parts(goal)}".rstrip(": ")
        case events.AgentArchived(successor):
            return f"succeeded by {successor}" if successor else ""
        case events.AgentKilled(target, by):
            return f"{target}{f' by {by}' if by else ''}"
        case events.SettingsChanged(change):
            return ", ".join(f"{name} = {value}" for name, value in change.given().items())
        case events.PinAdded(pin):
            return f"{pin.name}: {pin.text}"
        case events.PinRemoved(name):
            return name
        case events.Focused(topic) | events.Unfocused(topic):
            return topic
        case events.TurnStarted(_, prompt):
            return _parts(prompt)
        case events.ModelCalled(model, _, hash_, estimate):
            return f"{model} {show(Count(estimate, exact=False))} {hash_[:12]}"
        case events.ReplyAdded(parts, ended=ended):
            return f"{_parts(parts)} {how_it_was_cut(ended)}".rstrip()
        case events.ToolStarted(call):
            return call
        case events.ToolFinished(call, content, error):
            return f"{'failed: ' if error else ''}{content[:500]}" or call
        case events.TurnCompleted(size):
            return f"{size.tokens} tokens"
        case events.TurnInterrupted(_, reason):
            return reason
        case events.TurnFailed(_, error):
            return error
        case events.TurnRecorded(_, prompt, items):
            return " → ".join([_parts(prompt), *(_item(item) for item in items)])
        case events.MarkSet(name):
            return name or "(unnamed)"
        case events.ContextTrimmed(cause, _, turns, _, tokens):
            return f"{cause}: {turns} turns, {tokens} tokens left behind"
        case events.ContextSummarized(text, _, score):
            return f"{'' if score is None else f'{score:.0%} '}{text}"
        case events.SummaryDropped(model, _, reason):
            return f"{model}: {reason}"
        case events.ContextRewound(mark, _, _, note):
            return f"to {mark or '(unnamed)'}{f': {note}' if note else ''}"
        case events.ContextReverted(to, restored=restored):
            return f"as {to.words}: {restored.written} written, {restored.removed} removed"
        case events.CheckpointMade(files, turn, moment):
            left = told_of(files.left_out, files.more)
            return f"{moment} turn {turn}{f', without {left}' if left else ''}"
        case events.CheckpointMissed(reason, turn):
            return f"after turn {turn}: {reason}"
        case events.RevertStarted(_, to):
            return f"to what was {to.words}"
        case events.ContextUndone() | events.ContextRedone():
            return ""
        case events.ResultsMasked(mask):
            return f"results of more than {mask.over} characters"
        case events.ClearDeferred(mark, _, keep, _, compact):
            how = f"to {mark}" if mark else f"keeping {keep} turns" if keep else "all"
            return f"{how} with a summary" if compact else how
        case events.MailSent(_, to, text):
            return f"to {to}: {text}"
        case events.MailReceived(_, text, sender):
            return f"from {sender or 'outside'}: {text}"
        case events.MailRead(mails):
            return f"{len(mails)} read"
        case events.UnreadableEvent(_, _, reason):
            return f"cannot be read: {reason}"


def _item(item: Said | Got) -> str:
    return _parts(item.parts) if isinstance(item, Said) else f"{item.call}: {item.content[:200]}"


def _parts(parts: tuple[PromptPart, ...] | tuple[Part, ...]) -> str:
    return " · ".join(filter(None, map(_part, parts)))


def _part(part: Part) -> str:
    match part:
        case Text(text):
            return one_line(text[:2000])
        case Note(origin, text):
            return f"[{origin}] {one_line(text[:2000])}"
        case Thinking():
            return ""
        case ToolCall(_, name, args):
            return f"{name} {args[:500]}"
