"""Converts a request of the Messages API to a `ModelRequest` and to cache segments. Pure."""

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
    is_object,
    object_at,
    objects,
    objects_at,
    text_at,
)
from scripted_model.usage import Segment
from scripted_model.wires.anthropic.compaction_validation import wants_compaction
from scripted_model.wires.anthropic.preserved_thinking import (
    blocks_of,
    transformations,
    without_cache_control,
)
from scripted_model.wires.wire import Post


def parse_request(post: Post) -> ModelRequest:
    """Converts a request to a `ModelRequest`."""
    body = post.body
    messages = objects_at(body, "messages")
    names = _names_of_calls(messages)
    system = [
        body.get("system"),
        *(m.get("content") for m in messages if m.get("role") == "system"),
    ]
    limit = body.get("max_tokens")
    return ModelRequest(
        vendor="anthropic",
        wire="anthropic",
        model=text_at(body, "model"),
        system="\n\n".join(filter(None, map(_text_of, system))),
        messages=merge_messages(
            (_role(message), _parts(message, names))
            for message in messages
            if message.get("role") != "system"
        ),
        tools=tuple(
            Tool(text_at(tool, "name"), object_at(tool, "input_schema"))
            for tool in objects_at(body, "tools")
        ),
        stream=body.get("stream") is True,
        body=body,
        limit=limit if is_integer(limit) else None,
        schema=_schema(body),
        must_think=object_at(body, "thinking").get("type") == "enabled",
        wants_compaction=wants_compaction(post),
        reported=transformations(post),
    )


def _role(message: JsonObject) -> Role:
    """The role of a message. A summary that stands alone is read as the user's."""
    blocks = blocks_of(message.get("content"))
    if len(blocks) == 1 and blocks[0].get("type") == "compaction":
        return "user"
    return "assistant" if message.get("role") == "assistant" else "user"


def _names_of_calls(messages: list[JsonObject]) -> dict[str, str]:
    return {
        text_at(block, "id"): text_at(block, "name")
        for message in messages
        for block in objects_at(message, "content")
        if block.get("type") == "tool_use"
    }


def _parts(message: JsonObject, names: dict[str, str]) -> list[MessagePart]:
    parts = (_part(block, names) for block in blocks_of(message.get("content")))
    return [part for part in parts if part is not None]


def _part(block: JsonObject, names: dict[str, str]) -> MessagePart | None:
    match block.get("type"):
        case "text":
            return Text(text_at(block, "text"))
        case "thinking":
            return Thinking(text_at(block, "thinking"), "anthropic", text_at(block, "signature"))
        case "tool_use":
            args = encode(block.get("input")).decode()
            return ToolCall(text_at(block, "id"), text_at(block, "name"), args)
        case "tool_result":
            call = text_at(block, "tool_use_id")
            text = _text_of(block.get("content"))
            return ToolResult(call, names.get(call, ""), text, block.get("is_error") is True)
        case "compaction":
            return Text(text_at(block, "content"))
        case "image" | "document" as kind:
            return Text(f"[{kind}]")
        case _:
            return None


def _text_of(content: Json) -> str:
    return "\n".join(text_at(block, "text") for block in blocks_of(content) if "text" in block)


def _schema(body: JsonObject) -> JsonObject | None:
    form = object_at(object_at(body, "output_config"), "format") or object_at(body, "output_format")
    return object_at(form, "schema") if form.get("type") == "json_schema" else None


def cache_segments(post: Post) -> list[Segment]:
    """Returns tools, system and messages, one segment per block, with its breakpoint."""
    body = post.body
    found = [_segment(tool, b"tool") for tool in objects_at(body, "tools")]
    found += [_segment(block, b"system") for block in blocks_of(body.get("system"))]
    # If these change, only the cache of tools and system stays valid.
    salt = encode([body.get("tool_choice"), body.get("thinking")])
    for message in objects_at(body, "messages"):
        role = text_at(message, "role").encode()
        found += [_segment(block, role + salt) for block in blocks_of(message.get("content"))]
    if found and (ttl := _cache_ttl(body)) is not None:
        last = found[-1]
        found[-1] = Segment(last.data, ttl, last.salt)
    return found


def _segment(block: JsonObject, salt: bytes) -> Segment:
    ttls = [_cache_ttl(block), *(_cache_ttl(inner) for inner in objects(block.get("content")))]
    ttl = next((ttl for ttl in ttls if ttl is not None), None)
    return Segment(encode(block if ttl is None else without_cache_control(block)), ttl, salt)


def _cache_ttl(tree: JsonObject) -> str | None:
    control = tree.get("cache_control")
    return (text_at(control, "ttl") or "5m") if is_object(control) else None
