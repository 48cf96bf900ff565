"""The rows of a Codex rollout, as far as they are understood here.

A reader decodes a row as a whole. A change of the history gives items of the model's API back to
Codex word for word, so there the payload stays bytes, and `decode_item` looks into it.
"""

import re

import msgspec
from msgspec import Raw, Struct

from sapwood.programs.transcripts.row_file import Natural, row_decoder


class Content(Struct, gc=False):
    """A part of a message, of reasoning, or of a tool's output."""

    type: str = ""
    text: str | None = None


class CodexTokens(Struct, gc=False):
    """What the provider reported; its input counts everything sent, cached or not."""

    input_tokens: Natural | None = None
    cached_input_tokens: Natural | None = None
    cache_write_input_tokens: Natural | None = None
    output_tokens: Natural | None = None
    total_tokens: Natural | None = None


class _Info(Struct, gc=False):
    """How large the context was at the last call, and how large it may become."""

    last: CodexTokens | None = msgspec.field(name="last_token_usage", default=None)
    window: Natural | None = msgspec.field(name="model_context_window", default=None)


class Output(Struct, gc=False):
    """The output of a tool, as older versions wrap it."""

    content: str | None = None
    output: str | None = None
    success: bool | None = None
    metadata: "_Exit | None" = None


class _Exit(Struct, gc=False):
    """How a command ended."""

    exit_code: int | None = None


class _Action(Struct, gc=False):
    """What a local shell call runs."""

    command: list[str] | None = None


class HistoryBase(Struct, gc=False):
    """What a file continues: the first bytes of another file, named by its thread or segment."""

    thread_id: str | None = None
    end_byte_offset: Natural | None = None


class CompletedItem(Struct, gc=False):
    """What Codex reports as done in a turn. A client has given `client_id` to its prompt."""

    type: str = ""
    client_id: str | None = None


class Item(Struct, gc=False):
    """A payload of any type: of the session, the turn, a response item, an event, a compaction."""

    type: str | None = None
    id: str | None = None
    role: str | None = None
    content: list[Content] | str | None = None
    name: str | None = None
    arguments: str | None = None
    input: str | None = None
    call_id: str | None = None
    output: str | Output | list[Content] | None = None
    action: _Action | None = None
    summary: list[Content] | str | None = None
    message: str | None = None
    reason: str | None = None
    cwd: str | None = None
    model: str | None = None
    info: _Info | None = None
    model_context_window: Natural | None = None
    num_turns: Natural | None = None
    replacement_history: list[Raw] | None = None
    history_base: HistoryBase | None = None
    source: Raw = Raw()
    turn_id: str | None = None
    item: CompletedItem | None = None
    history_mode: str | None = None
    cli_version: str | None = None
    full: bool | None = None
    usage: CodexTokens | None = None

    @property
    def is_users(self) -> bool:
        """Whether it is a message in the user's name."""
        return self.type == "message" and self.role == "user"


class CodexRow(Struct, gc=False):
    """A row: when, of which type, and what it carries."""

    type: str = ""
    timestamp: str | None = None
    payload: Item | None = None


class RawRow(Struct, gc=False):
    """A row whose payload is not decoded."""

    type: str = ""
    payload: Raw = Raw(b"{}")


decode_row = row_decoder(CodexRow)
decode_raw_row = row_decoder(RawRow)
decode_item = row_decoder(Item)
decode_output = row_decoder(Output)

_HEAD = 400
_EVENTS = re.compile(
    rb'"type":\s?"(?:token_count|task_started|task_complete|turn_aborted|thread_rolled_back'
    rb'|UserMessage)"'
)
_ORDINAL = re.compile(rb'"ordinal":\s?(\d{1,15})')


def is_noise(row: bytes) -> bool:
    """Whether a row has nothing to do with the conversation; found without decoding it."""
    head = row[:_HEAD]
    return b'"event_msg"' in head and not _EVENTS.search(head)


def ordinal_of(row: bytes) -> int | None:
    """The number of a row in its thread; None if it has none, as in older files."""
    found = _ORDINAL.search(row[:_HEAD])
    return int(found[1]) if found else None
