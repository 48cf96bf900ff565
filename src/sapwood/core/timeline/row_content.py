"""The content of rows: looks up the event of a row and returns its part.

Every face draws these values in its own way and closes its `match` with `assert_never`.
"""

from collections.abc import Callable
from typing import Literal, assert_never

from msgspec import Struct
from msgspec.json import encode

from sapwood.core import events
from sapwood.core.content import (
    Ended,
    File,
    Note,
    RecordedReply,
    RecordedResult,
    ReplyPart,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from sapwood.core.event_texts import notice
from sapwood.core.ids import AgentId, EventRef
from sapwood.core.state import is_of_goal
from sapwood.core.timeline.rows import Banner, Divider, Fold, Row, TimelineRow, note_label
from sapwood.core.token_count import Count
from sapwood.core.turn import Result
from sapwood.core.view.frames import how_it_was_cut

EventLookup = Callable[[AgentId, int], events.Recorded]
"""Returns the event of an agent at a version. It may raise where the event is not loaded yet."""

MessageEvent = (
    events.TurnStarted
    | events.ReplyAdded
    | events.ReplyLost
    | events.ToolFinished
    | events.TurnRecorded
)
YOU = "you"
MessagePart = Text | Note | File | Thinking | ToolCall | RecordedResult | events.ToolFinished


class PromptText(Struct, frozen=True, gc=False, tag="prompt"):
    """A prompt, or an image of it: then `image` is its number among the event's files.

    `author` is who wrote it, as a heading says it: you, a goal, or a hook by its name.
    """

    text: str
    image: int | None = None
    author: str = YOU


class NoteText(Struct, frozen=True, gc=False, tag="note"):
    """Mail or another note in a prompt; `label` is where it comes from."""

    label: str
    text: str


class ThinkingText(Struct, frozen=True, gc=False, tag="thinking"):
    """The model's reasoning."""

    text: str


class ReplyText(Struct, frozen=True, gc=False, tag="reply"):
    """What the model answered. `tokens` is the size of its whole message, where it is known."""

    text: str
    model: str = ""
    tokens: Count | None = None


class ToolUse(Struct, frozen=True, gc=False, tag="tool"):
    """A tool call and its result, once there is one.

    A command that a person ran is named `!`, one of a hook after the hook.
    """

    call: ToolCall
    result: Result | None = None


class TurnEnd(Struct, frozen=True, gc=False, tag="end"):
    """A turn ended without being completed, and why.

    `failure` is the kind of a failure, if it is known. `retry_at` is when the limit of the provider
    resets, in microseconds since 1970; 0 if it named no time.
    """

    how: Literal["completed", "interrupted", "failed"]
    why: str = ""
    failure: str = ""
    retry_at: int = 0


class MarkName(Struct, frozen=True, gc=False, tag="mark"):
    """A mark was set here; an unnamed mark has the empty name.

    A mark that was set during a turn means the place before it: `before` names that turn.
    """

    name: str
    before: str = ""


class Notice(Struct, frozen=True, gc=False, tag="notice"):
    """An event that is not a message: a sign and a sentence."""

    sign: str
    words: str


class HiddenMessages(Struct, frozen=True, gc=False, tag="left-behind"):
    """Messages are out of view here; the summary and the user's last request in their place."""

    row: Fold | Banner | Divider
    summary: events.ContextSummarized | None = None
    request: str = ""


RowContent = (
    PromptText
    | NoteText
    | ThinkingText
    | ReplyText
    | ToolUse
    | TurnEnd
    | MarkName
    | Notice
    | HiddenMessages
)


def content_of(row: TimelineRow, lookup: EventLookup) -> RowContent:
    """Looks up the content of a row. Raises ValueError if its event has no such row."""
    match row:
        case Row():
            return _row_content(row, lookup)
        case Banner():
            event = lookup(row.summary.agent, row.summary.version).event if row.summary else None
            summary = event if isinstance(event, events.ContextSummarized) else None
            return HiddenMessages(row, summary, _request(row.request, lookup))
        case Fold() | Divider():
            return HiddenMessages(row, request=_request(row.request, lookup))
        case _:
            assert_never(row)


def _row_content(row: Row, lookup: EventLookup) -> RowContent:
    recorded = lookup(row.agent, row.version)
    event = recorded.event
    if isinstance(event, events.ShellRan):
        sign = recorded.actor.hook or ("!" if event.noted else "!!")
        call = ToolCall("", sign, encode({"command": event.line}).decode())
        return ToolUse(call, Result(row.version, "", event.output, event.failed))
    if isinstance(event, events.SideAnswered):
        call = ToolCall("", "btw", encode({"question": event.question}).decode())
        return ToolUse(call, Result(row.version, "", event.answer, event.failed))
    match row.kind:
        case "prompt" | "note" | "thinking" | "reply" | "tool":
            return _message_content(row, recorded, lookup)
        case "end":
            return _turn_end(event)
        case "mark":
            return MarkName(event.name if isinstance(event, events.MarkSet) else "", row.place)
        case "event":
            return Notice(*notice(event))
        case _:
            assert_never(row.kind)


def _message_content(row: Row, recorded: events.Recorded, lookup: EventLookup) -> RowContent:
    event = recorded.event
    if not isinstance(event, MessageEvent):
        raise ValueError(f"{row.agent}:{row.version} is {event.kind}, not a message")
    part = message_parts(event)[row.part]
    match part:
        case Text(text):
            if row.kind == "prompt":
                return PromptText(text, author=_author(recorded))
            return ReplyText(text, *_speaker(event, row.part))
        case File():
            if row.kind == "prompt":
                files = [
                    each for each in message_parts(event)[: row.part] if isinstance(each, File)
                ]
                shown = part.media_type.startswith("image/")
                return PromptText(part.text, len(files) if shown else None, _author(recorded))
            return ReplyText(part.text, *_speaker(event, row.part))
        case Note():
            return NoteText(note_label(part), part.text)
        case Thinking(text):
            return ThinkingText(text)
        case ToolCall():
            return ToolUse(part, _result(row, lookup))
        case RecordedResult() | events.ToolFinished():
            raise ValueError(f"{row.agent}:{row.version} has a result at {row.part}, not a message")
        case _:
            assert_never(part)


def _author(recorded: events.Recorded) -> str:
    """Who wrote a prompt. The next turn of a goal is opened for the person who set it."""
    if recorded.actor.hook:
        return recorded.actor.hook
    return "goal" if is_of_goal(recorded.command) else YOU


def message_parts(event: MessageEvent) -> tuple[MessagePart, ...]:
    """The parts of an event that rows point at.

    >>> message_parts(events.TurnStarted(None, (Text("Hello."),)))
    (Text(text='Hello.'),)
    """
    match event:
        case events.TurnStarted(_, prompt):
            return prompt
        case events.ReplyAdded(parts, ended=ended):
            return shown_parts(parts, ended)
        case events.ReplyLost(parts):
            return parts
        case events.ToolFinished():
            return (event,)
        case events.TurnRecorded(_, prompt, items):
            found: list[MessagePart] = [*prompt]
            for item in items:
                if isinstance(item, RecordedReply):
                    found += item.parts
                else:
                    found.append(item)
            return tuple(found)
        case _:
            assert_never(event)


def shown_parts(parts: tuple[ReplyPart, ...], ended: Ended) -> tuple[ReplyPart, ...]:
    """The parts of a reply that are shown: a reply that was cut off ends with a line about it."""
    cut = how_it_was_cut(ended)
    return (*parts, Text(cut)) if cut else parts


def _result(row: Row, lookup: EventLookup) -> Result | None:
    if not row.result:
        return None
    event = lookup(row.agent, row.result).event
    part = message_parts(event)[row.result_part] if isinstance(event, MessageEvent) else None
    match part:
        case events.ToolFinished(call, _, error, diff=diff):
            return Result(row.result, call, _with_files(part), error, diff=diff)
        case RecordedResult(call, _, error, added, removed):
            return Result(row.result, call, _with_files(part), error, added, removed)
        case Text() | Note() | File() | Thinking() | ToolCall() | None:
            return None
        case _:
            assert_never(part)


def _with_files(result: events.ToolFinished | RecordedResult) -> str:
    """The text of a result, with a line for each of its files."""
    return "\n".join(filter(None, (result.content, *(file.text for file in result.files))))


def _turn_end(event: events.Event) -> TurnEnd:
    if isinstance(event, events.TurnInterrupted):
        return TurnEnd("interrupted", event.reason)
    if isinstance(event, events.TurnFailed):
        return TurnEnd("failed", event.error, event.failure, event.retry_at)
    if isinstance(event, events.TurnRecorded):
        return TurnEnd(event.status, event.reason)
    raise ValueError(f"{event.kind} does not end a turn")


def _speaker(event: MessageEvent, part: int) -> tuple[str, Count | None]:
    """The model that wrote a part, and the reported tokens of its whole message."""
    if isinstance(event, events.ReplyAdded):
        return event.model, _output(event.usage)
    if isinstance(event, events.ReplyLost):
        return event.model, None
    if isinstance(event, events.TurnRecorded):
        seen = len(event.prompt)
        for item in event.items:
            if isinstance(item, RecordedResult):
                seen += 1
                continue
            seen += len(item.parts)
            if part < seen:
                return item.model, _output(item.usage)
    return "", None


def _output(usage: Usage | None) -> Count | None:
    return Count(usage.output, exact=True) if usage else None


def _request(ref: EventRef | None, lookup: EventLookup) -> str:
    event = lookup(ref.agent, ref.version).event if ref else None
    if not isinstance(event, events.TurnStarted | events.TurnRecorded):
        return ""
    return "\n\n".join(part.text for part in event.prompt if isinstance(part, Text))
