"""From a request of the Chat Completions API to the neutral one, and to what a cache sees. Pure."""

from sapwood.core.content import Text, ToolCall
from sapwood.core.view import ToolResult
from sapwood.testing.scripted.asked import Asked, MessagePart, Role, Tool, alternating
from sapwood.testing.scripted.jsontree import (
    Json,
    JsonObject,
    encode,
    is_integer,
    object_at,
    objects,
    objects_at,
    text_at,
)
from sapwood.testing.scripted.usage import Segment
from sapwood.testing.scripted.wires.wire import Post

__all__ = ["read", "segments"]

_RULING = ("system", "developer")


def read(post: Post) -> Asked:
    """The neutral request."""
    body = post.body
    messages = objects_at(body, "messages")
    names = {
        text_at(call, "id"): text_at(object_at(call, text_at(call, "type")), "name")
        for message in messages
        for call in objects_at(message, "tool_calls")
    }
    limits = (body.get("max_completion_tokens"), body.get("max_tokens"))
    return Asked(
        vendor="openai",
        wire="chat",
        model=text_at(body, "model"),
        system="\n\n".join(
            _text_of(message.get("content"))
            for message in messages
            if message.get("role") in _RULING
        ),
        messages=alternating(
            _spoken(message, names) for message in messages if message.get("role") not in _RULING
        ),
        tools=tuple(_tool(tool) for tool in objects_at(body, "tools")),
        stream=body.get("stream") is True,
        body=body,
        limit=next((limit for limit in limits if is_integer(limit)), None),
        schema=_schema(object_at(body, "response_format")),
    )


def _spoken(message: JsonObject, names: dict[str, str]) -> tuple[Role, list[MessagePart]]:
    text = _text_of(message.get("content"))
    said: list[MessagePart] = [Text(text)] if text else []
    match message.get("role"):
        case "assistant":
            return "assistant", [*said, *map(_call, objects_at(message, "tool_calls"))]
        case "tool":
            call = text_at(message, "tool_call_id")
            return "user", [ToolResult(call, names.get(call, ""), text)]
        case _:
            shown: list[MessagePart] = [
                Text(_shown(part)) for part in objects(message.get("content"))
            ]
            return "user", shown or said


def _call(call: JsonObject) -> ToolCall:
    inner = object_at(call, text_at(call, "type"))
    args = text_at(inner, "arguments") or text_at(inner, "input")
    return ToolCall(text_at(call, "id"), text_at(inner, "name"), args)


def _tool(tool: JsonObject) -> Tool:
    inner = object_at(tool, text_at(tool, "type"))
    free = tool.get("type") == "custom"
    return Tool(text_at(inner, "name"), object_at(inner, "parameters"), free=free)


def _text_of(content: Json) -> str:
    """The text of a content, alone or in parts."""
    if isinstance(content, str):
        return content
    return "\n".join(text_at(part, "text") for part in objects(content) if "text" in part)


def _shown(part: JsonObject) -> str:
    return text_at(part, "text") or f"[{text_at(part, 'type')}]"


def _schema(form: JsonObject) -> JsonObject | None:
    if form.get("type") == "json_object":
        return {"type": "object"}
    return object_at(object_at(form, "json_schema"), "schema") or None


def segments(post: Post) -> list[Segment]:
    """Tools and the form of the reply, then messages."""
    body = post.body
    front = [body.get("tools"), body.get("response_format")]
    head = [Segment(encode(item)) for item in front if item is not None]
    return head + [Segment(encode(message)) for message in objects_at(body, "messages")]
