"""Converts a request of the Responses API to a `ModelRequest` and to cache segments. Pure."""

from collections.abc import Iterator

from scripted_model.conversation import (
    MessagePart,
    ModelRequest,
    Role,
    Text,
    Thinking,
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
from scripted_model.signatures import signed_text
from scripted_model.usage import Segment
from scripted_model.wires.responses.fields import OUTPUTS, RESULTS, kind_of
from scripted_model.wires.wire import Post

_RULING = ("system", "developer")


def parse_request(post: Post) -> ModelRequest:
    """Converts a request to a `ModelRequest`."""
    body = post.body
    items = _items(body)
    names = {text_at(item, "call_id"): text_at(item, "name") for item in items if item.get("name")}
    ruling = [_text_of(item.get("content")) for item in items if item.get("role") in _RULING]
    limit = body.get("max_output_tokens")
    return ModelRequest(
        vendor="openai",
        wire="responses",
        model=text_at(body, "model"),
        system="\n\n".join(filter(None, [text_at(body, "instructions"), *ruling])),
        messages=merge_messages(spoken for item in items for spoken in _spoken(item, names)),
        tools=tuple(_tools(objects_at(body, "tools"))),
        stream=body.get("stream") is True,
        body=body,
        limit=limit if is_integer(limit) else None,
        schema=_schema(object_at(object_at(body, "text"), "format")),
        wants_compaction=post.action == "compact" or has_trigger(body),
    )


def has_trigger(body: JsonObject) -> bool:
    """Whether the input contains the item that asks for a compaction."""
    return any(item.get("type") == "compaction_trigger" for item in objects_at(body, "input"))


def _items(body: JsonObject) -> list[JsonObject]:
    """Returns the items of the input. A string is the short form of one message of the user."""
    given = body.get("input")
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    return objects(given)


def _spoken(item: JsonObject, names: dict[str, str]) -> Iterator[tuple[Role, list[MessagePart]]]:
    kind = kind_of(item)
    if kind == "message":
        if item.get("role") not in _RULING:
            yield _message(item)
    elif kind == "reasoning":
        summary = "\n".join(text_at(part, "text") for part in objects_at(item, "summary"))
        yield "assistant", [Thinking(summary, "openai", text_at(item, "encrypted_content"))]
    elif kind == "compaction":
        yield "user", [Text(signed_text("openai", text_at(item, "encrypted_content")) or "")]
    elif kind in RESULTS:
        args = text_at(item, "arguments") or text_at(item, "input") or "{}"
        yield "assistant", [ToolCall(text_at(item, "call_id"), text_at(item, "name"), args)]
    elif kind in OUTPUTS:
        call = text_at(item, "call_id") or text_at(item, "id")
        yield "user", [ToolResult(call, names.get(call, ""), _text_of(item.get("output")))]


def _message(item: JsonObject) -> tuple[Role, list[MessagePart]]:
    content = item.get("content")
    texts = [content] if isinstance(content, str) else [_shown(part) for part in objects(content)]
    parts: list[MessagePart] = [Text(text) for text in texts if text]
    return ("assistant" if item.get("role") == "assistant" else "user"), parts


def _shown(part: JsonObject) -> str:
    return text_at(part, "text") or text_at(part, "refusal") or f"[{text_at(part, 'type')}]"


def _text_of(content: Json) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(text_at(part, "text") for part in objects(content) if "text" in part)


def _tools(tools: list[JsonObject], namespace: str = "") -> Iterator[Tool]:
    for tool in tools:
        if tool.get("type") == "namespace":
            yield from _tools(objects_at(tool, "tools"), text_at(tool, "name"))
        elif "name" in tool:
            schema, takes_text = object_at(tool, "parameters"), tool.get("type") == "custom"
            yield Tool(text_at(tool, "name"), schema, namespace, takes_text)


def _schema(form: JsonObject) -> JsonObject | None:
    match form.get("type"):
        case "json_schema":
            return object_at(form, "schema")
        case "json_object":
            return {"type": "object"}
        case _:
            return None


def cache_segments(post: Post) -> list[Segment]:
    """Returns tools, text format and instructions, then items."""
    body = post.body
    front = [body.get("tools"), body.get("text"), body.get("instructions")]
    head = [Segment(encode(part)) for part in front if part is not None]
    return head + [Segment(encode(item)) for item in _items(body)]
