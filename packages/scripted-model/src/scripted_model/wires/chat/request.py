"""Converts a request of Chat Completions to a `ModelRequest` and to cache segments. Pure."""

from scripted_model.conversation import (
    MessagePart,
    ModelRequest,
    Role,
    Text,
    Tool,
    ToolCall,
    ToolResult,
    merge_messages,
)
from scripted_model.json_values import (
    Json,
    JsonObject,
    encode,
    is_integer,
    object_at,
    objects,
    objects_at,
    text_at,
)
from scripted_model.usage import Segment
from scripted_model.wires.wire import Post

_RULING = ("system", "developer")


def parse_request(post: Post) -> ModelRequest:
    """Converts a request to a `ModelRequest`."""
    body = post.body
    messages = objects_at(body, "messages")
    names = {
        text_at(call, "id"): text_at(object_at(call, text_at(call, "type")), "name")
        for message in messages
        for call in objects_at(message, "tool_calls")
    }
    limits = (body.get("max_completion_tokens"), body.get("max_tokens"))
    return ModelRequest(
        vendor="openai",
        wire="chat",
        model=text_at(body, "model"),
        system="\n\n".join(
            _text_of(message.get("content"))
            for message in messages
            if message.get("role") in _RULING
        ),
        messages=merge_messages(
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
    takes_text = tool.get("type") == "custom"
    return Tool(text_at(inner, "name"), object_at(inner, "parameters"), takes_text=takes_text)


def _text_of(content: Json) -> str:
    """Returns the text of a content, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(text_at(part, "text") for part in objects(content) if "text" in part)


def _shown(part: JsonObject) -> str:
    return text_at(part, "text") or f"[{text_at(part, 'type')}]"


def _schema(form: JsonObject) -> JsonObject | None:
    if form.get("type") == "json_object":
        return {"type": "object"}
    return object_at(object_at(form, "json_schema"), "schema") or None


def cache_segments(post: Post) -> list[Segment]:
    """Returns tools and response format, then messages."""
    body = post.body
    front = [body.get("tools"), body.get("response_format")]
    head = [Segment(encode(item)) for item in front if item is not None]
    return head + [Segment(encode(message)) for message in objects_at(body, "messages")]
