"""From a request of the Messages API to the neutral one, and to what a cache sees. Pure."""

from collections.abc import Iterator

from sapwood.core.content import Text, Thinking, ToolCall
from sapwood.core.view import ToolResult
from sapwood.testing.scripted.asked import Asked, MessagePart, Tool, alternating
from sapwood.testing.scripted.jsontree import (
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
from sapwood.testing.scripted.usage import Segment
from sapwood.testing.scripted.wires.wire import Post

__all__ = ["read", "segments"]


def read(post: Post) -> Asked:
    """The neutral request."""
    body = post.body
    messages = objects_at(body, "messages")
    names = _names_of_calls(messages)
    system = [
        body.get("system"),
        *(m.get("content") for m in messages if m.get("role") == "system"),
    ]
    limit = body.get("max_tokens")
    return Asked(
        vendor="anthropic",
        wire="anthropic",
        model=text_at(body, "model"),
        system="\n\n".join(filter(None, map(_text_of, system))),
        messages=alternating(
            ("assistant" if message.get("role") == "assistant" else "user", _parts(message, names))
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
        thinks=object_at(body, "thinking").get("type") == "enabled",
    )


def _names_of_calls(messages: list[JsonObject]) -> dict[str, str]:
    return {
        text_at(block, "id"): text_at(block, "name")
        for message in messages
        for block in objects_at(message, "content")
        if block.get("type") == "tool_use"
    }


def _parts(message: JsonObject, names: dict[str, str]) -> list[MessagePart]:
    parts = (_part(block, names) for block in _blocks(message.get("content")))
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
        case "image" | "document" as kind:
            return Text(f"[{kind}]")
        case _:
            return None


def _text_of(content: Json) -> str:
    return "\n".join(text_at(block, "text") for block in _blocks(content) if "text" in block)


def _blocks(content: Json) -> list[JsonObject]:
    """Text alone is short for a list of one block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return objects(content)


def _schema(body: JsonObject) -> JsonObject | None:
    form = object_at(object_at(body, "output_config"), "format") or object_at(body, "output_format")
    return object_at(form, "schema") if form.get("type") == "json_schema" else None


def segments(post: Post) -> list[Segment]:
    """Tools, then system, then messages, each block by itself, with its breakpoint."""
    body = post.body
    found = [_segment(tool, b"tool") for tool in objects_at(body, "tools")]
    found += [_segment(block, b"system") for block in _blocks(body.get("system"))]
    # A change of these leaves the cache of tools and system whole, and no more than that.
    salt = encode([body.get("tool_choice"), body.get("thinking")])
    for message in objects_at(body, "messages"):
        role = text_at(message, "role").encode()
        found += [_segment(block, role + salt) for block in _blocks(message.get("content"))]
    if found and (mark := _mark(body)) is not None:
        last = found[-1]
        found[-1] = Segment(last.data, mark, last.salt)
    return found


def _segment(block: JsonObject, salt: bytes) -> Segment:
    marks = [_mark(block), *(_mark(inner) for inner in objects(block.get("content")))]
    mark = next((mark for mark in marks if mark is not None), None)
    return Segment(encode(block if mark is None else _unmarked(block)), mark, salt)


def _mark(tree: JsonObject) -> str | None:
    control = tree.get("cache_control")
    return (text_at(control, "ttl") or "5m") if is_object(control) else None


def _unmarked(block: JsonObject) -> JsonObject:
    """A breakpoint that moves on leaves the text before it the same."""
    bare = {name: value for name, value in block.items() if name != "cache_control"}
    if isinstance(bare.get("content"), list):
        bare["content"] = [_unmarked(inner) for inner in _inner(bare["content"])]
    return bare


def _inner(content: Json) -> Iterator[JsonObject]:
    yield from objects(content)
