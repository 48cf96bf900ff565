"""The rows of a Claude Code transcript, as far as they are understood here, and what they say."""

import msgspec
from msgspec import Raw, Struct

from sapwood.core.content import ReplyPart, Text, Thinking, ToolCall, Usage
from sapwood.programs.transcripts.row_file import Natural, raw_text, row_decoder


class ClaudeBlock(Struct, gc=False):
    """A part of a message: text, thinking, a tool call, a tool result, or something unknown."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    id: str | None = None
    name: str | None = None
    input: Raw = Raw()
    tool_use_id: str | None = None
    content: "str | list[ClaudeBlock] | None" = None
    is_error: bool | None = None


class CacheWrites(Struct, gc=False):
    """How many tokens were written to the cache for an hour."""

    ephemeral_1h_input_tokens: Natural | None = None


class ClaudeTokens(Struct, gc=False):
    """What the provider reported for a message."""

    input_tokens: Natural | None = None
    output_tokens: Natural | None = None
    cache_read_input_tokens: Natural | None = None
    cache_creation_input_tokens: Natural | None = None
    cache_creation: CacheWrites | None = None


class ClaudeMessage(Struct, gc=False):
    """A message of the API, or the part of one that a row holds."""

    id: str | None = None
    model: str | None = None
    content: str | list[ClaudeBlock] | None = None
    usage: ClaudeTokens | None = None
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


class StoredOutcome(Struct, gc=False):
    """What the program stores of a tool's result beside the text for the model."""

    hunks: list[Hunk] | None = msgspec.field(name="structuredPatch", default=None)


MESSAGE_TYPES = frozenset({"user", "assistant", "attachment", "system"})
"""The rows that make up what the model is given. Some rows of the type `system` are sent too, such
as the output of a local command."""


class LinkRow(Struct, rename="camel", gc=False):
    """The fields of a row that link it to others, and its place in the file.

    A transcript may have tens of megabytes, so a change of the session decodes only these.
    """

    type: str = ""
    uuid: str | None = None
    parent_uuid: str | None = None
    subtype: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    compact_metadata: Compaction | None = None
    leaf_uuid: str | None = None
    explicit: bool | None = None
    version: str | None = None
    closes_turn: bool | None = None
    attachment: Attachment | None = None
    start: int = msgspec.field(name=" start", default=0)
    end: int = msgspec.field(name=" end", default=0)

    @property
    def is_boundary(self) -> bool:
        """Whether the history before this row was replaced here."""
        return self.type == "system" and self.subtype == "compact_boundary"

    @property
    def is_message(self) -> bool:
        """Whether the row may be kept: any row of the main conversation but a boundary.

        A row that Sapwood wrote to close a turn without an answer is none.
        """
        is_own = self.is_sidechain or self.is_compact_summary or self.closes_turn
        return self.type in MESSAGE_TYPES and not self.is_boundary and not is_own

    @property
    def is_queued_prompt(self) -> bool:
        """Whether the user typed this while the model was working."""
        return self.attachment is not None and self.attachment.type == "queued_command"

    @property
    def is_spoken(self) -> bool:
        """Whether the row is a message of the user or of the model in the main conversation."""
        return self.is_message and self.type in ("user", "assistant")


WRITER = "sapwood"
"""What `writtenBy` says in a row that Sapwood wrote."""


class ClaudeRow(LinkRow, rename="camel", gc=False):
    """A row of any type, with what it says."""

    session_id: str | None = None
    agent_id: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    message: ClaudeMessage | None = None
    content: str | None = None
    is_api_error_message: bool | None = None
    tool_use_result: StoredOutcome | str | list[Raw] | None = None
    summary: str | None = None
    custom_title: str | None = None
    ai_title: str | None = None
    written_by: str | None = None


class _BlockKind(Struct, gc=False):
    type: str = ""


class _BlockKinds(Struct, gc=False):
    content: str | list[_BlockKind] | None = None


class _ResultRow(Struct, gc=False):
    message: _BlockKinds | None = None


decode_link_row = row_decoder(LinkRow)
decode_row = row_decoder(ClaudeRow)
_decode_kinds = row_decoder(_ResultRow)


def has_only_results(row: bytes) -> bool:
    """Whether a row holds results of tool calls and nothing else. Does not decode the results."""
    if b'"tool_result"' not in row:
        return False
    decoded = _decode_kinds(row)
    content = decoded.message.content if decoded and decoded.message else None
    return bool(content) and all(
        isinstance(block, _BlockKind) and block.type == "tool_result" for block in content
    )


def patch_of(row: ClaudeRow) -> tuple[int, int]:
    """The number of lines that an edit added and removed, if its result contains the patch."""
    outcome = row.tool_use_result
    hunks = outcome.hunks if isinstance(outcome, StoredOutcome) else None
    signs = [line[:1] for hunk in hunks or () for line in hunk.lines]
    return signs.count("+"), signs.count("-")


Content = str | list[ClaudeBlock] | None


def parts_of(content: Content) -> list[ReplyPart]:
    """The parts of a reply: text, thinking and tool calls. Other blocks are skipped."""
    if isinstance(content, str):
        return [Text(content)]
    found: list[ReplyPart] = []
    for block in content or ():
        if block.type == "text" and block.text:
            found.append(Text(block.text))
        elif block.type == "thinking" and block.thinking:
            found.append(Thinking(block.thinking, "anthropic", block.signature or ""))
        elif block.type == "tool_use" and block.id:
            args = raw_text(block.input) or "{}"
            found.append(ToolCall(block.id, block.name or "", args))
    return found


def text_of(content: Content) -> str:
    """The text of a message or a result; a placeholder for an image."""
    if isinstance(content, str):
        return content
    return "\n\n".join(filter(None, map(shown, content or ())))


def shown(block: ClaudeBlock) -> str:
    """The text of one block."""
    if block.text is not None:
        return block.text
    return f"[{block.type}]" if block.type in ("image", "document") else ""


def hash_of(message: ClaudeMessage | None) -> int:
    """A hash of what a message says, valid within one process."""
    content = message.content if message else None
    if not isinstance(content, list):
        return hash(content)
    return hash(tuple([_identity(block) for block in content]))


def _identity(block: ClaudeBlock) -> tuple[str | None, ...]:
    result = block.content if isinstance(block.content, str) else text_of(block.content)
    return block.type, block.id, block.text, block.thinking, block.tool_use_id, result


def usage_of(message: ClaudeMessage) -> Usage | None:
    """The usage that the provider reported; its input excludes cached tokens, so they are added."""
    reported = message.usage
    if reported is None:
        return None
    read, written = reported.cache_read_input_tokens or 0, reported.cache_creation_input_tokens or 0
    return Usage(
        input=(reported.input_tokens or 0) + read + written,
        output=reported.output_tokens or 0,
        cache_read=read,
        cache_write=written,
        cache_hour=reported.cache_creation.ephemeral_1h_input_tokens or 0
        if reported.cache_creation
        else 0,
    )
