"""The rows of a pi session, as far as they are understood here.

A session is a header and one row for each entry of a tree. An entry names its parent.
"""

import msgspec
from msgspec import Raw, Struct

from sapwood.core.content import ReplyPart, Text, Thinking, ToolCall, Usage
from sapwood.programs.transcripts.row_file import Natural, raw_text, row_decoder

WRITER = "sapwood"
"""The `customType` of entries that Sapwood appends."""

_SIGNERS = {"anthropic-messages": "anthropic", "bedrock-converse-stream": "anthropic"}
"""The provider whose signature a thought has, by the API that pi used."""


class Cost(Struct, gc=False):
    """The price of a call, in dollars."""

    total: float | int | None = None


class _Tokens(Struct, rename="camel", gc=False):
    """What the provider reported for a message; `input` is without cached tokens."""

    input: Natural | None = None
    output: Natural | None = None
    cache_read: Natural | None = None
    cache_write: Natural | None = None
    cache_write1h: Natural | None = None
    cost: Cost | None = None


class _Block(Struct, rename="camel", gc=False):
    """A part of a message."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    thinking_signature: str | None = None
    id: str | None = None
    name: str | None = None
    arguments: Raw = Raw()


class PiMessage(Struct, rename="camel", gc=False):
    """A message of any role."""

    role: str | None = None
    content: str | list[_Block] | None = None
    api: str | None = None
    provider: str | None = None
    model: str | None = None
    usage: _Tokens | None = None
    stop_reason: str | None = None
    error_message: str | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    is_error: bool | None = None
    command: str | None = None
    output: str | None = None
    exclude_from_context: bool | None = None


class _Mark(Struct, gc=False):
    """What an entry of Sapwood says: the id of the turn whose prompt follows."""

    turn: str | None = None


class PiRow(Struct, rename="camel", gc=False):
    """A row of any type. `copy_of` names the entry whose copy it is; only Sapwood writes it."""

    type: str | None = None
    id: str | None = None
    parent_id: str | None = None
    timestamp: str | None = None
    message: PiMessage | None = None
    cwd: str | None = None
    name: str | None = None
    provider: str | None = None
    model_id: str | None = None
    summary: str | None = None
    first_kept_entry_id: str | None = None
    tokens_before: Natural | None = None
    target_id: str | None = None
    replacement: Raw = Raw()
    content: str | list[_Block] | None = None
    custom_type: str | None = None
    data: _Mark | None = None
    copy_of: str | None = None
    written_by: str | None = None

    @property
    def role(self) -> str:
        """The role of the message; empty if the row has none."""
        return (self.message and self.message.role) or ""


decode_row = row_decoder(PiRow)


def parts_of(message: PiMessage) -> list[ReplyPart]:
    """The parts of a reply: thoughts, text and tool calls."""
    content = message.content
    if isinstance(content, str):
        return [Text(content)]
    return [part for block in content or () for part in _part(block, message.api or "")]


def _part(block: _Block, api: str) -> list[ReplyPart]:
    match block.type:
        case "text":
            return [Text(block.text or "")]
        case "thinking":
            signature = block.thinking_signature or ""
            return [Thinking(block.thinking or "", _SIGNERS.get(api, ""), signature)]
        case "toolCall" if block.id:
            return [ToolCall(block.id, block.name or "", raw_text(block.arguments) or "{}")]
        case _:
            return []


def text_of(content: str | list[_Block] | None) -> str:
    """The text of a message or a result; a placeholder for an image."""
    if isinstance(content, str):
        return content
    shown = ("[image]" if each.type == "image" else each.text or "" for each in content or ())
    return "\n\n".join(text for text in shown if text)


def usage_of(message: PiMessage) -> Usage | None:
    """The usage that the provider reported; None if it reported nothing."""
    reported = message.usage
    if reported is None or not (reported.input or reported.output or reported.cache_read):
        return None
    read, written = reported.cache_read or 0, reported.cache_write or 0
    dollars = (reported.cost and reported.cost.total) or 0
    return Usage(
        input=(reported.input or 0) + read + written,
        output=reported.output or 0,
        cache_read=read,
        cache_write=written,
        cost=round(max(0.0, dollars) * 1_000_000) if dollars < 1e9 else 0,
        cache_hour=reported.cache_write1h or 0,
    )


def is_omission(row: PiRow) -> bool:
    """Whether a `context_edit` takes its target out of the view instead of replacing it."""
    return bytes(row.replacement).strip() in (b"", b"null")


def encoded_row(fields: dict[str, object]) -> bytes:
    """A line of a session."""
    return msgspec.json.encode(fields) + b"\n"
