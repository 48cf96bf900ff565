"""The rows of a Gemini CLI chat, as far as they are understood here.

A chat is a row of metadata and one row for each message; a row with the id of an earlier one
replaces it. Older versions wrote the whole chat as one object, which decodes as metadata with
messages.
"""

import msgspec
from msgspec import Raw, Struct

from sapwood.programs.transcripts.row_decoder import Natural, row_decoder


class Response(Struct, gc=False):
    """What a tool answered."""

    response: dict[str, Raw] | None = None


class Part(Struct, rename="camel", gc=False):
    """A part of a message or of a tool's result."""

    text: str | None = None
    function_response: Response | None = None
    inline_data: Raw = Raw()


class Call(Struct, rename="camel", gc=False):
    """A tool call with its result."""

    id: str | None = None
    name: str | None = None
    args: Raw = Raw()
    result: list[Part] | str | Part | None = None
    status: str | None = None
    agent_id: str | None = None


class Thought(Struct, gc=False):
    """A summary of what the model thought."""

    subject: str | None = None
    description: str | None = None


class Tokens(Struct, gc=False):
    """What the provider reported for a message."""

    input: Natural | None = None
    output: Natural | None = None
    cached: Natural | None = None
    thoughts: Natural | None = None
    total: Natural | None = None


class Message(Struct, rename="camel", gc=False):
    """One message: of the user, of the model, or of the program."""

    id: str | None = None
    type: str | None = None
    timestamp: str | None = None
    content: str | list[Part] | Part | None = None
    tool_calls: list[Call] | None = None
    thoughts: list[Thought] | None = None
    tokens: Tokens | None = None
    model: str | None = None


class Metadata(Struct, rename="camel", gc=False):
    """Details of a chat. If it has messages, only these are in view from here on."""

    session_id: str | None = None
    summary: str | None = None
    last_updated: str | None = None
    directories: list[str] | None = None
    messages: list[Message] | None = None


class Row(Message, rename="camel", gc=False):
    """A row of any kind."""

    session_id: str | None = None
    summary: str | None = None
    last_updated: str | None = None
    messages: list[Message] | None = None
    change: Metadata | None = msgspec.field(name="$set", default=None)
    rewind_to: str | None = msgspec.field(name="$rewindTo", default=None)


decode_row = row_decoder(Row)
