"""The texts of an event, one place for each kind: its line, its notice, and what a search finds."""

from collections.abc import Sequence
from typing import assert_never

from msgspec import Struct

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


class EventTexts(Struct, frozen=True, gc=False):
    """What is written of an event.

    `line` is its content in a few words, for the log and lists; empty if its kind is enough. An
    event that is no message has a row in the conversation if it has a `notice`, a sentence behind a
    `sign`. `search` is all text that a person, a model or a tool wrote. Of a turn or a reply with
    tool calls, the first `said` characters of it are what people and models said.
    """

    line: str = ""
    search: str = ""
    notice: str = ""
    sign: str = "·"
    said: int | None = None


def event_summary(event: Event) -> str:
    """The content of an event in a few words on one line; empty if its kind is enough.

    >>> event_summary(events.PinAdded(events.Pin("style", "One\\nsentence.")))
    'style: One sentence.'
    """
    return _one_line(event_texts(event).line)


def notice(event: Event) -> tuple[str, str]:
    """A sign and a sentence for an event that is neither a message nor a mark."""
    found = event_texts(event)
    return found.sign, found.notice or f"{event.kind} {_one_line(found.line)}".rstrip()


def goal_end(reason: events.GoalEnd, message: str) -> str:
    """How a goal ended, as a sentence, and what can leave view."""
    sentences = {
        "budget": "The goal's budget is used up; /goal --budget 10 gives it more.",
        "stopped": "The goal was ended.",
    }
    return f"{sentences.get(reason, 'The goal is reached.')} {message}".rstrip()


def event_texts(event: Event) -> EventTexts:
    """The texts of an event."""
    match event:
        case events.AgentStarted(by, name, settings):
            origin = "" if by == "person" else f" by {by}"
            pins = (f"{pin.name}\n{pin.text}" for pin in event.pins)
            line = f"{name}{origin} {settings.model}".strip()
            return EventTexts(line, "\n".join([name, *pins]))
        case events.AgentForked(child, mark, goal):
            origin = f"{child}{f' from {mark}' if mark else ''}"
            line = f"{origin}: {_parts(goal)}".rstrip(": ")
            notice = "" if event.side else f"Forked. Child: {origin}"
            return EventTexts(line, _texts(goal), notice, "↳")
        case events.AgentArchived(successor):
            line = f"succeeded by {successor}" if successor else ""
            return EventTexts(line, "", f"Archived{f'; {line}' if line else ''}", "▪")
        case events.AgentUnarchived():
            return EventTexts(notice="Unarchived", sign="▪")
        case events.AgentRenamed(name, written_by):
            notice = "" if written_by else f"Renamed to {_one_line(name)}"
            return EventTexts(name, name, notice, "▪")
        case events.AgentTagged(tags):
            owner = f"owner {tags.owner}" if tags.owner else ""
            entries = (f"{entry.name} = {entry.value}" for entry in tags.metadata)
            line = ", ".join(filter(None, (owner, *tags.labels, *entries))) or "none"
            return EventTexts(line, "", f"Tagged: {_one_line(line)}", "▪")
        case events.AgentKilled(target, by):
            line = f"{target}{f' by {by}' if by else ''}"
            return EventTexts(line, "", f"Killed by /kill {target}", "✗")
        case events.SettingsChanged(change, why):
            fields = change.changed_fields()
            line = ", ".join(f"{name} = {value}" for name, value in fields.items())
            line = f"{line}, because {why}" if why else line
            return EventTexts(line, "", _one_line(line))
        case events.PinAdded(pin):
            source = f" from {pin.source}" if pin.source else ""
            line = f"{pin.name}{source}: {pin.text}"
            return EventTexts(line, f"{pin.name}\n{pin.text}", f"Pinned {_one_line(line)}", "⊙")
        case events.PinRemoved(name):
            return EventTexts(name, "", f"Unpinned {_one_line(name)}", "⊙")
        case events.PromptQueued(_, text):
            return EventTexts(text, text)
        case events.PromptUnqueued(entry):
            return EventTexts(entry)
        case events.TodoWritten(items):
            texts = "\n".join(item.text for item in items)
            done = sum(item.status == "done" for item in items)
            return EventTexts(f"{done} of {len(items)} done: {texts}", texts)
        case events.JobStarted(job, line):
            notice = f"Job {job} runs in the background: {_one_line(line)}"
            return EventTexts(f"{job} {line}", line, notice, "▷")
        case events.JobEnded(job, result, output):
            text = f"Job {job} in the background: {_one_line(result)}"
            return EventTexts(f"{job} {result}", output, text, "□", said=0)
        case events.ShellRan(line, output):
            return EventTexts(f"{line}: {output[:500]}", f"{line}\n{output}", said=len(line))
        case events.GoalSet(_, text, check):
            line = f"{text}{f' · check: {check}' if check else ''}"
            return EventTexts(line, text, f"Goal: {_one_line(line)}", "◎")
        case events.GoalEnded(_, reason, message):
            return EventTexts(f"{reason} {message}".strip(), "", goal_end(reason, message), "◎")
        case events.SideAnswered(child, question, answer):
            return EventTexts(f"{child}: {question}: {answer[:500]}", question)
        case events.FileAdded(file):
            return EventTexts(file.text)  # a search finds the prompt that has it
        case events.InstructionsRead(texts):
            return EventTexts(", ".join(each.name for each in texts))
        case events.Focused(topic) | events.Unfocused(topic):
            return EventTexts(topic, topic)
        case events.NoteDeclared(note, text, replaces):
            line = f"{note}: {text}{f' (replaces #{replaces})' if replaces else ''}"
            return EventTexts(line, text)
        case events.SessionJudged(judge, stretches, sentences):
            kept = (each.text for each in sentences if each.kind != "neither")
            line = f"{judge}: {len(stretches)} stretches, {len(sentences)} sentences"
            return EventTexts(line, "\n".join(kept))
        case events.TurnStarted(_, prompt):
            return EventTexts(_parts(prompt), _texts(prompt))
        case events.ModelCalled(model, _, hash_, estimate):
            return EventTexts(f"{model} {show(Count(estimate, exact=False))} {hash_[:12]}")
        case events.CallReported():
            return _call_reported(event)
        case events.ReplyAdded(parts, ended=ended):
            line = f"{_parts(parts)} {how_it_was_cut(ended)}".rstrip()
            said = "\n".join(_said([event]))
            return EventTexts(line, "\n".join([said, *_done([event])]), said=len(said))
        case events.TurnLeased():
            return EventTexts()
        case events.ReplyStreamed(parts):
            return EventTexts(_parts(parts))
        case events.ReplyLost(parts, model, tokens):
            size = show(Count(tokens, exact=False))
            return EventTexts(
                f"{model} {size}, asked again: {_parts(parts)}".rstrip(": "),
                "\n".join(_said([event]) + _done([event])),
                "Sapwood ended before this answer was complete, so the model was asked again; "
                f"the provider may bill both ({size} tokens)",
                "↻",
            )
        case events.QuestionAsked(_, tool, subject):
            return EventTexts(f"{tool} {subject}".rstrip())
        case events.QuestionAnswered(_, allowed):
            return EventTexts("allowed" if allowed else "denied", sign="?")
        case events.ToolStarted(call):
            return EventTexts(call)
        case events.ToolFinished(call, content, error):
            return EventTexts(f"{'failed: ' if error else ''}{content[:500]}" or call, content)
        case events.TurnCompleted(size):
            return EventTexts(f"{_tilde(is_exact(size.counter))}{counted(size.tokens, 'token')}")
        case events.TurnInterrupted(_, reason):
            return EventTexts(reason)
        case events.TurnFailed(_, error):
            return EventTexts(error, error)
        case events.TurnRecorded(_, prompt, items):
            line = " → ".join([_parts(prompt), *(_item(item) for item in items)])
            said = "\n".join([part.text for part in prompt] + _said(items))
            return EventTexts(line, "\n".join([said, *_done(items)]), said=len(said))
        case events.MarkSet(name):
            return EventTexts(name or "(unnamed)", name)
        case events.ContextTrimmed(cause, _, turns, _, tokens, exact=exact):
            size = f"{_tilde(exact)}{counted(tokens, 'token')}"
            return EventTexts(f"{cause}: {counted(turns, 'turn')}, {size} left behind")
        case events.ContextSummarized(text, _, score):
            return EventTexts(f"{'' if score is None else f'{score:.0%} '}{text}", text)
        case events.ContextLoaded(source, text, place=place):
            line = f"{place or source}: {text[:2000]}"  # a search finds the turn itself
            return EventTexts(line, "", f"Loaded turn {_one_line(line)}", "❝")
        case events.ContextCut(_, place, turns, results, _, tokens, exact):
            what = " and ".join(
                [counted(n, noun) for n, noun in ((turns, "turn"), (results, "result")) if n]
            )
            size = show_tokens(Count(tokens, exact))
            back = place.removeprefix("--results ")
            shown = f"Dropped {what} · /drop {place} · {size} · /bring {back} brings them back"
            return EventTexts(f"{place}: {what}, {size}", "", "" if turns else shown, "✂")
        case events.ContextRestored(_, place):
            return EventTexts(place, "", f"Restored in place: {place}", "↶")
        case events.DropDeferred(places, only):
            return EventTexts(f"{'results of ' if only else ''}{' '.join(map(str, places))}")
        case events.SummaryDropped(model, _, reason):
            return EventTexts(f"{model}: {reason}")
        case events.ContextRewound(cause="retry", place=place):
            return EventTexts(f"/retry of turn {place}", "", f"Asked turn {place} again", "↶")
        case events.ContextRewound(before=before, note=note, place=place) if before:
            line = f"to just before turn {place}" if place else "to just before an earlier turn"
            return EventTexts(line, note, f"Rewound {line}", "↶")
        case events.ContextRewound(mark, _, _, note):
            why = f": {note}" if note else ""
            shown = f"Rewound to {mark or 'the newest mark'}{_one_line(why)}"
            return EventTexts(f"to {mark or '(unnamed)'}{why}", note, shown, "↶")
        case events.ContextReverted(to, restored=done):
            line = f"as {to.words}: {done.written} written, {done.removed} removed"
            shown = f"Files and context as {to.words} · {done.written + done.removed:,} changed"
            return EventTexts(line, "", shown, "↶")
        case events.CheckpointMade(files, turn, moment):
            left = describe_left_out(files.left_out, files.more)
            return EventTexts(f"{moment} the turn at {turn}{f', without {left}' if left else ''}")
        case events.CheckpointMissed(reason, turn):
            line = f"after the turn at {turn}: {reason}"
            return EventTexts(line, "", f"No checkpoint: {_one_line(reason)}")
        case events.RevertStarted(_, to):
            return EventTexts(f"to what was {to.words}")
        case events.ContextUndone(_, command):
            return EventTexts(notice=f"Undone: {command}" if command else "Undone", sign="↶")
        case events.ContextRedone(_, command):
            return EventTexts(notice=f"Redone: {command}" if command else "Redone", sign="↷")
        case events.ResultsMasked(mask):
            shown = f"Tool results longer than {mask.over:,} characters are masked"
            return EventTexts(f"results longer than {mask.over} characters", "", shown)
        case events.ClearDeferred(mark, _, keep, _, compact):
            how = f"to {mark}" if mark else f"keeping {counted(keep, 'turn')}" if keep else "all"
            return EventTexts(f"{how} with a summary" if compact else how)
        case events.MailSent(_, to, text):
            return EventTexts(f"to {to}: {text}", text, f"To {to}: {_one_line(text)}", "✉")
        case events.MailReceived(_, text, sender):
            origin = f"{sender or 'outside'}: "
            return EventTexts(f"from {origin}{text}", text, f"From {origin}{_one_line(text)}", "✉")
        case events.MailRead(mails):
            return EventTexts(f"{len(mails)} read")
        case events.WordsErased(source):
            shown = f"{source} was erased, including its messages in this conversation"
            return EventTexts(f"of {source}", "", shown)
        case events.SessionSynced(session, by, loss=loss):
            lost = f"; not carried over: {loss}" if loss else ""
            return EventTexts(
                f"{session.program} {session.id} by {by or 'nothing'}{lost}",
                "",
                f"{session.program}: {_one_line(loss)}" if loss else "",
                "⚠" if loss else "·",
            )
        case events.NativeRecorded(rows):
            return EventTexts(f"{rows.session.program} {rows.passage.first} to {rows.passage.last}")
        case events.SessionDiffered(text):
            shown = f"The program's request differed from the history here: {_one_line(text)}"
            return EventTexts(text, "", shown, "⚠")
        case events.UnreadableEvent(kind, _, reason):
            line = f"cannot be read: {reason}"
            return EventTexts(line, "", f"{kind} {_one_line(line)}")
        case _:
            assert_never(event)


_REASONS = {
    "prefix_binding_mismatch": "what came before them has changed",
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


def _call_reported(event: events.CallReported) -> EventTexts:
    """What a request cost besides its tokens: the price of the last context command, mostly."""
    size = show_tokens(Count(event.missed, exact=False))
    counts: list[str] = []
    costs: list[str] = []
    if event.dropped:
        counts.append(f"{counted(event.dropped, 'thought')} dropped ({event.dropped_why})")
        why = _REASONS.get(event.dropped_why, event.dropped_why)
        costs.append(f"the provider left out {counted(event.dropped, 'earlier thought')}: {why}")
    if event.missed:
        counts.append(f"{size} not cached ({event.missed_why})")
        why = _REASONS.get(event.missed_why, event.missed_why)
        costs.append(f"{size} were not in the cache: {why}")
    after = f"after {event.command}: " if event.command else ""
    said = "; ".join(costs)
    shown = f"After {event.command}, {said}" if event.command else said[:1].upper() + said[1:]
    return EventTexts(after + ", ".join(counts), "", shown, "⚠")


def _texts(parts: tuple[PromptPart, ...]) -> str:
    return "\n".join(part.text for part in parts)


_Item = events.ReplyAdded | events.ReplyLost | RecordedReply | RecordedResult


def _said(items: Sequence[_Item]) -> list[str]:
    """What a model wrote in these."""
    replies = [item for item in items if not isinstance(item, RecordedResult)]
    return [part.text for each in replies for part in each.parts if not isinstance(part, ToolCall)]


def _done(items: Sequence[_Item]) -> list[str]:
    """The tool calls of these, and their results."""
    done: list[str] = []
    for item in items:
        if isinstance(item, RecordedResult):
            done.append(item.content)
        else:
            calls = [part for part in item.parts if isinstance(part, ToolCall)]
            done += [f"{call.name} {call.args}" for call in calls]
    return done


def said_text(event: Event) -> str:
    """What people and models said in an event, without tool calls; a single result counts too."""
    if isinstance(event, events.AgentStarted | events.AgentRenamed):
        return ""
    texts = event_texts(event)
    return texts.search if texts.said is None else texts.search[: texts.said]


def _one_line(text: str) -> str:
    return " ".join(text.split())


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
