"""The rows of a Claude Code transcript, as far as they are understood here."""

import msgspec
from msgspec import Raw, Struct

from sapwood.programs.transcripts.row_decoder import Natural, row_decoder


class Block(Struct, gc=False):
    """A part of a message: text, thinking, a tool call, a tool result, or something unknown."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    id: str | None = None
    name: str | None = None
    input: Raw = Raw()
    tool_use_id: str | None = None
    content: "str | list[Block] | None" = None
    is_error: bool | None = None


class Tokens(Struct, gc=False):
    """What the provider reported for a message."""

    input_tokens: Natural | None = None
    output_tokens: Natural | None = None
    cache_read_input_tokens: Natural | None = None
    cache_creation_input_tokens: Natural | None = None


class Message(Struct, gc=False):
    """A message of the API, or the part of one that a row holds."""

    id: str | None = None
    model: str | None = None
    content: str | list[Block] | None = None
    usage: Tokens | None = None
    stop_reason: str | None = None


class Segment(Struct, gc=False):
    """The first and last message that a compaction left in view."""

    head: str | None = msgspec.field(name="headUuid", default=None)
    tail: str | None = msgspec.field(name="tailUuid", default=None)


class Preserved(Struct, gc=False):
    """All messages that a compaction left in view, and the row that they follow."""

    uuids: list[str] | None = None
    anchor: str | None = msgspec.field(name="anchorUuid", default=None)


class Compaction(Struct, gc=False):
    """The metadata of a compaction."""

    trigger: str | None = None
    before: Natural | None = msgspec.field(name="preTokens", default=None)
    after: Natural | None = msgspec.field(name="postTokens", default=None)
    segment: Segment | None = msgspec.field(name="preservedSegment", default=None)
    preserved: Preserved | None = msgspec.field(name="preservedMessages", default=None)


class Attachment(Struct, gc=False):
    """Something that the program added; only used if the user typed it."""

    type: str | None = None
    prompt: str | None = None


class Hunk(Struct, gc=False):
    """Lines of a file around a change, each with a sign before it."""

    lines: list[str] = []


class Outcome(Struct, gc=False):
    """What the program stores of a tool's result beside the text for the model."""

    hunks: list[Hunk] | None = msgspec.field(name="structuredPatch", default=None)


class Row(Struct, rename="camel", gc=False):
    """A row of any type."""

    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    message: Message | None = None
    content: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_api_error_message: bool | None = None
    compact_metadata: Compaction | None = None
    attachment: Attachment | None = None
    tool_use_result: Outcome | str | list[Raw] | None = None
    summary: str | None = None
    custom_title: str | None = None
    ai_title: str | None = None
    written_by: str | None = None


decode_row = row_decoder(Row)


def patch_of(row: Row) -> tuple[int, int]:
    """The number of lines that an edit added and removed, if its result contains the patch."""
    outcome = row.tool_use_result
    hunks = outcome.hunks if isinstance(outcome, Outcome) else None
    signs = [line[:1] for hunk in hunks or () for line in hunk.lines]
    return signs.count("+"), signs.count("-")
