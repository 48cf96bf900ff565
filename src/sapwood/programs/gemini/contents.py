"""Converts the contents of Gemini's messages."""

import msgspec

from sapwood.core.content import ReplyPart, Text, Thinking, ToolCall, Usage
from sapwood.programs.gemini.rows import Call, Message, Part
from sapwood.programs.transcripts.row_decoder import raw_text

_ENDED = frozenset({"success", "error", "cancelled"})


def parts_of(message: Message) -> list[ReplyPart]:
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


def _call(call: Call) -> ToolCall:
    return ToolCall(call.id or "", call.name or "", raw_text(call.args) or "{}")


def result_of(call: Call) -> tuple[str, bool] | None:
    """The result of a call and whether it failed; None while it runs."""
    if call.result is None and call.status not in _ENDED:
        return None
    return text_of(call.result), call.status in ("error", "cancelled")


def text_of(content: str | list[Part] | Part | None) -> str:
    """The text of a message or a result; a placeholder for an image."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content] if content else []
    return "\n\n".join(filter(None, map(_shown, parts)))


def _shown(part: Part) -> str:
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


def hash_of(message: Message) -> int:
    """A hash of what a message says, valid within one process."""
    calls = tuple((call.id, call.status) for call in message.tool_calls or ())
    return hash((message.type, text_of(message.content), calls))


def usage_of(message: Message) -> Usage | None:
    """The usage that the provider reported."""
    reported = message.tokens
    if reported is None:
        return None
    return Usage(
        input=reported.input or 0,
        output=(reported.output or 0) + (reported.thoughts or 0),
        cache_read=reported.cached or 0,
    )
