"""The rows of a Gemini CLI chat, as far as they are understood here.

A chat is a row of metadata and one row for each message; a row with the id of an earlier one
replaces it. Older versions wrote the whole chat as one object, which decodes as metadata with
messages.
"""

import msgspec
from msgspec import Raw, Struct

from sapwood.core.content import ReplyPart, Text, Thinking, ToolCall, Usage
from sapwood.programs.transcripts.row_file import Natural, raw_text, row_decoder


class Response(Struct, gc=False):
    """What a tool answered."""

    response: dict[str, Raw] | None = None


class _Part(Struct, rename="camel", gc=False):
    """A part of a message or of a tool's result."""

    text: str | None = None
    function_response: Response | None = None
    inline_data: Raw = Raw()


class _Call(Struct, rename="camel", gc=False):
    """A tool call with its result."""

    id: str | None = None
    name: str | None = None
    args: Raw = Raw()
    result: list[_Part] | str | _Part | None = None
    status: str | None = None
    agent_id: str | None = None


class Thought(Struct, gc=False):
    """A summary of what the model thought."""

    subject: str | None = None
    description: str | None = None


class _Tokens(Struct, gc=False):
    """What the provider reported for a message."""

    input: Natural | None = None
    output: Natural | None = None
    cached: Natural | None = None
    thoughts: Natural | None = None
    total: Natural | None = None


class GeminiMessage(Struct, rename="camel", gc=False):
    """One message: of the user, of the model, or of the program."""

    id: str | None = None
    type: str | None = None
    timestamp: str | None = None
    content: str | list[_Part] | _Part | None = None
    tool_calls: list[_Call] | None = None
    thoughts: list[Thought] | None = None
    tokens: _Tokens | None = None
    model: str | None = None


class _Metadata(Struct, rename="camel", gc=False):
    """Details of a chat. If it has messages, only these are in view from here on."""

    session_id: str | None = None
    summary: str | None = None
    directories: list[str] | None = None
    messages: list[GeminiMessage] | None = None


class GeminiRow(GeminiMessage, rename="camel", gc=False):
    """A row of any kind."""

    session_id: str | None = None
    summary: str | None = None
    messages: list[GeminiMessage] | None = None
    change: _Metadata | None = msgspec.field(name="$set", default=None)
    rewind_to: str | None = msgspec.field(name="$rewindTo", default=None)


decode_row = row_decoder(GeminiRow)


_CONTEXT = "<session_context>"
_ENDED = frozenset({"success", "error", "cancelled"})


def parts_of(message: GeminiMessage) -> list[ReplyPart]:
    """The parts of a reply: thoughts, text and tool calls."""
    thoughts = [
        f"{thought.subject or ''}\n{thought.description or ''}".strip()
        for thought in message.thoughts or ()
    ]
    return [
        *(Thinking(thought, "google") for thought in thoughts),
        Text(text_of(message.content)),
        *(_call(call) for call in message.tool_calls or () if call.id),
    ]


def _call(call: _Call) -> ToolCall:
    return ToolCall(call.id or "", call.name or "", raw_text(call.args) or "{}")


def result_of(call: _Call) -> tuple[str, bool] | None:
    """The result of a call and whether it failed; None while it runs."""
    if call.result is None and call.status not in _ENDED:
        return None
    return text_of(call.result), call.status in ("error", "cancelled")


def text_of(content: str | list[_Part] | _Part | None) -> str:
    """The text of a message or a result; a placeholder for an image."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content] if content else []
    return "\n\n".join(filter(None, map(_shown, parts)))


def _shown(part: _Part) -> str:
    if part.text is not None:
        return part.text
    if part.function_response and (response := part.function_response.response):
        return "\n\n".join(_plain(raw_text(value)) for value in response.values())
    return "[image]" if bytes(part.inline_data) else ""


def _plain(value: str) -> str:
    """The text of a JSON string; any other JSON unchanged."""
    try:
        return msgspec.json.decode(value, type=str)
    except msgspec.MsgspecError:
        return value


def is_own(message: GeminiMessage) -> bool:
    """Whether the program wrote a message of the user itself: its description of the folder, with
    which every chat begins, or the results of tools, which the calls have too.
    """
    content = message.content
    parts = content if isinstance(content, list) else []
    are_results = bool(parts) and all(each.function_response for each in parts)
    return message.type == "user" and (are_results or text_of(content).startswith(_CONTEXT))


def hash_of(message: GeminiMessage) -> int:
    """A hash of what a message says, valid within one process."""
    calls = tuple((call.id, call.status) for call in message.tool_calls or ())
    return hash((message.type, text_of(message.content), calls))


def usage_of(message: GeminiMessage) -> Usage | None:
    """The usage that the provider reported."""
    reported = message.tokens
    if reported is None:
        return None
    return Usage(
        input=reported.input or 0,
        output=(reported.output or 0) + (reported.thoughts or 0),
        cache_read=reported.cached or 0,
    )
