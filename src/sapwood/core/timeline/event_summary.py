"""`event_summary`: an event on one line, for the log, lists and rows."""

from typing import assert_never

from sapwood.core import events
from sapwood.core.checkpoint import describe_left_out
from sapwood.core.content import (
    File,
    Note,
    Part,
    PromptPart,
    RecordedReply,
    RecordedResult,
    Text,
    Thinking,
    ToolCall,
)
from sapwood.core.events import Event
from sapwood.core.plural import counted
from sapwood.core.token_count import Count, is_exact, show, show_tokens
from sapwood.core.view.frames import how_it_was_cut


def event_summary(event: Event) -> str:
    """The content of an event in a few words on one line; empty if its kind is enough.

    >>> event_summary(events.PinAdded(events.Pin("style", "One\\nsentence.")))
    'style: One sentence.'
    """
    return " ".join(_words(event).split())


def _words(event: Event) -> str:
    match event:
        case events.AgentStarted(by, name, settings):
            origin = "" if by == "person" else f" by {by}"
            return f"{name}{origin} {settings.model}".strip()
        case events.AgentForked(child, mark, goal):
            return f"{child}{f' from {mark}' if mark else ''}: {_parts(goal)}".rstrip(": ")
        case events.AgentArchived(successor):
            return f"succeeded by {successor}" if successor else ""
        case events.AgentRenamed(name):
            return name
        case events.AgentTagged(tags):
            owner = f"owner {tags.owner}" if tags.owner else ""
            entries = (f"{entry.name} = {entry.value}" for entry in tags.metadata)
            return ", ".join(filter(None, (owner, *tags.labels, *entries))) or "none"
        case events.AgentKilled(target, by):
            return f"{target}{f' by {by}' if by else ''}"
        case events.SettingsChanged(change):
            return ", ".join(f"{name} = {value}" for name, value in change.changed_fields().items())
        case events.PinAdded(pin):
            source = f" from {pin.source}" if pin.source else ""
            return f"{pin.name}{source}: {pin.text}"
        case events.PinRemoved(name):
            return name
        case events.PromptQueued(_, text):
            return text
        case events.PromptUnqueued(entry):
            return entry
        case events.FileAdded(file):
            return file.text
        case events.InstructionsRead(texts):
            return ", ".join(each.name for each in texts)
        case events.Focused(topic) | events.Unfocused(topic):
            return topic
        case events.NoteDeclared(note, text, replaces):
            return f"{note}: {text}{f' (replaces #{replaces})' if replaces else ''}"
        case events.SessionJudged(judge, stretches, sentences):
            return f"{judge}: {len(stretches)} stretches, {len(sentences)} sentences"
        case events.TurnStarted(_, prompt):
            return _parts(prompt)
        case events.ModelCalled(model, _, hash_, estimate):
            return f"{model} {show(Count(estimate, exact=False))} {hash_[:12]}"
        case events.CallReported(_, dropped, dropped_why, missed, missed_why, command):
            thoughts = f"{counted(dropped, 'thought')} dropped ({dropped_why})" if dropped else ""
            size = show_tokens(Count(missed, exact=False))
            tokens = f"{size} not cached ({missed_why})" if missed else ""
            after = f"after {command}: " if command else ""
            return after + ", ".join(filter(None, (thoughts, tokens)))
        case events.ReplyAdded(parts, ended=ended):
            return f"{_parts(parts)} {how_it_was_cut(ended)}".rstrip()
        case events.TurnLeased():
            return ""
        case events.ReplyStreamed(parts):
            return _parts(parts)
        case events.ReplyLost(parts, model, tokens):
            size = show(Count(tokens, exact=False))
            return f"{model} {size}, asked again: {_parts(parts)}".rstrip(": ")
        case events.QuestionAsked(_, tool, subject):
            return f"{tool} {subject}".rstrip()
        case events.QuestionAnswered(_, allowed):
            return "allowed" if allowed else "denied"
        case events.ToolStarted(call):
            return call
        case events.ToolFinished(call, content, error):
            return f"{'failed: ' if error else ''}{content[:500]}" or call
        case events.TurnCompleted(size):
            return f"{_tilde(is_exact(size.counter))}{counted(size.tokens, 'token')}"
        case events.TurnInterrupted(_, reason):
            return reason
        case events.TurnFailed(_, error):
            return error
        case events.TurnRecorded(_, prompt, items):
            return " → ".join([_parts(prompt), *(_item(item) for item in items)])
        case events.MarkSet(name):
            return name or "(unnamed)"
        case events.ContextTrimmed(cause, _, turns, _, tokens, exact=exact):
            size = f"{_tilde(exact)}{counted(tokens, 'token')}"
            return f"{cause}: {counted(turns, 'turn')}, {size} left behind"
        case events.ContextSummarized(text, _, score):
            return f"{'' if score is None else f'{score:.0%} '}{text}"
        case events.ContextLoaded(source, text):
            return f"{source}: {text[:2000]}"
        case events.SummaryDropped(model, _, reason):
            return f"{model}: {reason}"
        case events.ContextRewound(before=before) if before:
            return f"to before turn {before}"
        case events.ContextRewound(mark, _, _, note):
            return f"to {mark or '(unnamed)'}{f': {note}' if note else ''}"
        case events.ContextReverted(to, restored=restored):
            return f"as {to.words}: {restored.written} written, {restored.removed} removed"
        case events.CheckpointMade(files, turn, moment):
            left = describe_left_out(files.left_out, files.more)
            return f"{moment} turn {turn}{f', without {left}' if left else ''}"
        case events.CheckpointMissed(reason, turn):
            return f"after turn {turn}: {reason}"
        case events.RevertStarted(_, to):
            return f"to what was {to.words}"
        case events.ContextUndone() | events.ContextRedone() | events.AgentUnarchived():
            return ""
        case events.ResultsMasked(mask):
            return f"results of more than {mask.over} characters"
        case events.ClearDeferred(mark, _, keep, _, compact):
            how = f"to {mark}" if mark else f"keeping {counted(keep, 'turn')}" if keep else "all"
            return f"{how} with a summary" if compact else how
        case events.MailSent(_, to, text):
            return f"to {to}: {text}"
        case events.MailReceived(_, text, sender):
            return f"from {sender or 'outside'}: {text}"
        case events.MailRead(mails):
            return f"{len(mails)} read"
        case events.WordsErased(source):
            return f"of {source}"
        case events.SessionAssumed(session, by, loss=loss):
            lost = f"; not carried: {loss}" if loss else ""
            return f"{session.program} {session.id} by {by or 'nothing'}{lost}"
        case events.NativeRecorded(rows):
            return f"{rows.session.program} {rows.passage.first} to {rows.passage.last}"
        case events.SessionDiffered(text):
            return text
        case events.UnreadableEvent(_, _, reason):
            return f"cannot be read: {reason}"
        case _:
            assert_never(event)


def _tilde(exact: bool) -> str:
    return "" if exact else "~"


def _item(item: RecordedReply | RecordedResult) -> str:
    return (
        _parts(item.parts)
        if isinstance(item, RecordedReply)
        else f"{item.call}: {item.content[:200]}"
    )


def _parts(parts: tuple[PromptPart, ...] | tuple[Part, ...]) -> str:
    return " · ".join(filter(None, map(_part, parts)))


def _part(part: Part) -> str:
    match part:
        case Text(text):
            return text[:2000]
        case Note(origin, text):
            return f"[{origin}] {text[:2000]}"
        case Thinking():
            return ""
        case File():
            return part.text
        case ToolCall(_, name, args):
            return f"{name} {args[:500]}"
        case _:
            assert_never(part)
