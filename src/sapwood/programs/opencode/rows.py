"""The events of a session's log, as far as they are understood here."""

import msgspec
from msgspec import Raw, Struct

from sapwood.core.content import Note, PromptPart, ReplyPart, Text, Thinking, ToolCall, Usage
from sapwood.programs.transcripts.row_file import Natural, raw_text, row_decoder

WRITER = "Sapwood"
"""Stands in the id of a compaction that Sapwood wrote: opencode keeps ids, but no other fields."""
ABORTED = "MessageAbortedError"


class Cache(Struct, gc=False):
    """Cached tokens."""

    read: Natural | None = None
    write: Natural | None = None


class _Tokens(Struct, gc=False):
    """What the provider reported. `input` is without cached tokens."""

    input: Natural | None = None
    output: Natural | None = None
    reasoning: Natural | None = None
    cache: Cache | None = None


class Time(Struct, gc=False):
    """Times in milliseconds since 1970."""

    created: Natural | None = None
    completed: Natural | None = None
    updated: Natural | None = None


class _Problem(Struct, gc=False):
    """Why a message ended early."""

    name: str | None = None
    data: dict[str, Raw] | None = None

    @property
    def message(self) -> str:
        """The words of the provider or of opencode."""
        words = (self.data or {}).get("message")
        try:
            return msgspec.json.decode(words or b'""', type=str) or self.name or ""
        except msgspec.MsgspecError:
            return self.name or ""


class Model(Struct, rename={"model_id": "modelID"}, gc=False):
    """The model of a session or of a prompt."""

    id: str | None = None
    model_id: str | None = None


class Revert(Struct, rename={"message_id": "messageID"}, gc=False):
    """The message from which on a session was reverted."""

    message_id: str | None = None


class Info(Struct, rename={"parent_id": "parentID", "model_id": "modelID"}, gc=False):
    """A message without its parts, or a session."""

    id: str | None = None
    role: str | None = None
    time: Time | None = None
    parent_id: str | None = None
    model_id: str | None = None
    model: Model | None = None
    tokens: _Tokens | None = None
    error: _Problem | None = None
    finish: str | None = None
    summary: Raw = Raw()
    directory: str | None = None
    title: str | None = None
    revert: Revert | None = None

    @property
    def at(self) -> int:
        """When it was made, in microseconds since 1970."""
        return ((self.time and self.time.created) or 0) * 1000

    @property
    def is_summary(self) -> bool:
        """Whether it is the summary of a compaction."""
        return bytes(self.summary) == b"true"

    @property
    def has_ended(self) -> bool:
        """Whether the model has answered for good, or the message failed."""
        return self.error is not None or self.finish not in (None, "tool-calls", "unknown")


class _FileDifference(Struct, gc=False):
    """How many lines an edit changed."""

    additions: Natural | None = None
    deletions: Natural | None = None


class _Metadata(Struct, gc=False):
    """What a tool says about its result."""

    filediff: _FileDifference | None = None


class ToolState(Struct, gc=False):
    """A tool call: its arguments, and its result when it has ended."""

    status: str | None = None
    input: Raw = Raw()
    output: str | None = None
    error: str | None = None
    metadata: _Metadata | None = None


class Part(Struct, rename={"message_id": "messageID", "call_id": "callID"}, gc=False):
    """A part of a message."""

    id: str | None = None
    message_id: str | None = None
    type: str | None = None
    text: str | None = None
    synthetic: bool | None = None
    ignored: bool | None = None
    call_id: str | None = None
    tool: str | None = None
    state: ToolState | None = None
    filename: str | None = None
    url: str | None = None
    auto: bool | None = None
    tail_start_id: str | None = None

    @property
    def is_of_sapwood(self) -> bool:
        """Whether Sapwood wrote this compaction."""
        return WRITER in (self.id or "")


class Data(Struct, rename={"message_id": "messageID", "part_id": "partID"}, gc=False):
    """What happened."""

    info: Info | None = None
    part: Part | None = None
    message_id: str | None = None
    part_id: str | None = None


class _Row(Struct, gc=False):
    """An event."""

    id: str | None = None
    type: str | None = None
    data: Data | None = None


decode_row = row_decoder(_Row)


def prompt_of(parts: list[Part]) -> list[PromptPart]:
    """The parts of a prompt. What opencode added by itself is a note."""
    found: list[PromptPart] = []
    for part in parts:
        if part.type == "text" and part.text and not part.ignored:
            found.append(Note("program", part.text) if part.synthetic else Text(part.text))
        elif part.type == "file":
            found.append(Text(f"[file: {part.filename or part.url or 'without a name'}]"))
    return found


def reply_of(parts: list[Part]) -> list[ReplyPart]:
    """The parts of a reply: thoughts, texts and tool calls."""
    found: list[ReplyPart] = []
    for part in parts:
        if part.type == "reasoning" and part.text:
            found.append(Thinking(part.text))
        elif part.type == "text" and part.text:
            found.append(Text(part.text))
        elif part.type == "tool" and part.call_id:
            arguments = raw_text(part.state.input) if part.state else ""
            found.append(ToolCall(part.call_id, part.tool or "", arguments or "{}"))
    return found


def result_of(state: ToolState | None) -> tuple[str, bool] | None:
    """The result of a call and whether it failed; None while it runs."""
    if state is None or state.status not in ("completed", "error"):
        return None
    failed = state.status == "error"
    return (state.error if failed else state.output) or "", failed


def usage_of(tokens: _Tokens | None) -> Usage | None:
    """The usage that the provider reported; None before it did."""
    if tokens is None or not (tokens.input or tokens.output):
        return None
    cache = tokens.cache or Cache()
    read, written = cache.read or 0, cache.write or 0
    return Usage(
        input=(tokens.input or 0) + read + written,
        output=(tokens.output or 0) + (tokens.reasoning or 0),
        cache_read=read,
        cache_write=written,
    )
