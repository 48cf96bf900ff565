"""The lines that Claude Code writes to its client, as far as they are understood here."""

import msgspec
from msgspec import Raw, Struct

from sapwood.programs.claude_code.rows import Message, Outcome, Tokens
from sapwood.programs.transcripts.row_decoder import row_decoder


class ContentBlock(Struct, gc=False):
    """The block that begins in a message."""

    type: str = ""
    name: str = ""


class StreamDelta(Struct, gc=False):
    """A piece of a block, or the end of a message."""

    type: str = ""
    text: str = ""
    thinking: str = ""
    partial_json: str = ""
    stop_reason: str | None = None


class StreamMessage(Struct, gc=False):
    """The message that begins."""

    id: str = ""
    model: str = ""


class StreamEvent(Struct, gc=False):
    """An event of the model's own stream."""

    type: str = ""
    message: StreamMessage | None = None
    content_block: ContentBlock | None = None
    delta: StreamDelta | None = None
    usage: Tokens | None = None


class ToolQuestion(Struct, gc=False):
    """A request of the program to its client: may this tool run?"""

    subtype: str = ""
    tool_name: str = ""
    tool_use_id: str = ""
    input: Raw = Raw(b"{}")


class ControlAnswer(Struct, gc=False):
    """The answer to a request of the client."""

    subtype: str = ""
    request_id: str = ""
    error: str | None = None
    response: Raw = Raw(b"{}")


class StreamRow(Struct, gc=False):
    """A line of any type."""

    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    parent_tool_use_id: str | None = None
    is_replay: bool | None = msgspec.field(name="isReplay", default=None)
    message: Message | None = None
    event: StreamEvent | None = None
    request_id: str | None = None
    request: ToolQuestion | None = None
    response: ControlAnswer | None = None
    tool_use_result: Outcome | str | list[Raw] | None = None
    is_error: bool | None = None
    result: str | None = None
    errors: list[str] | None = None
    terminal_reason: str | None = None
    total_cost_usd: float | None = None


decode_stream_row = row_decoder(StreamRow)
