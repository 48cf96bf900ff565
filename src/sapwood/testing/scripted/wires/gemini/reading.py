"""From a request of the Gemini API to the neutral one, and to what a cache sees. Pure."""

from sapwood.core.content import Text, Thinking, ToolCall
from sapwood.core.view import ToolResult
from sapwood.testing.scripted.asked import Asked, MessagePart, Tool, alternating
from sapwood.testing.scripted.jsontree import (
    JsonObject,
    encode,
    is_integer,
    is_object,
    object_at,
    objects_at,
    text_at,
)
from sapwood.testing.scripted.usage import Segment
from sapwood.testing.scripted.wires.gemini.naming import camelled
from sapwood.testing.scripted.wires.wire import Post

__all__ = ["read", "segments"]


def read(post: Post) -> Asked:
    """The neutral request."""
    body = camelled(post.body)
    generation = object_at(body, "generationConfig")
    instruction = objects_at(object_at(body, "systemInstruction"), "parts")
    limit = generation.get("maxOutputTokens")
    return Asked(
        vendor="google",
        wire="gemini",
        model=post.model,
        system="\n".join(text_at(part, "text") for part in instruction),
        messages=alternating(
            ("assistant" if content.get("role") == "model" else "user", _parts(content))
            for content in objects_at(body, "contents")
        ),
        tools=tuple(
            Tool(
                text_at(declaration, "name"),
                object_at(declaration, "parametersJsonSchema")
                or object_at(declaration, "parameters"),
            )
            for tool in objects_at(body, "tools")
            for declaration in objects_at(tool, "functionDeclarations")
        ),
        stream=post.streams,
        body=body,
        limit=limit if is_integer(limit) else None,
        schema=_schema(generation),
    )


def _parts(content: JsonObject) -> list[MessagePart]:
    return [_part(part) for part in objects_at(content, "parts")]


def _part(part: JsonObject) -> MessagePart:
    signature = text_at(part, "thoughtSignature")
    if "functionCall" in part:
        call = object_at(part, "functionCall")
        args = encode(call.get("args") or {}).decode()
        return ToolCall(text_at(call, "id"), text_at(call, "name"), args)
    if "functionResponse" in part:
        response = object_at(part, "functionResponse")
        return ToolResult(text_at(response, "id"), text_at(response, "name"), _result(response))
    if part.get("thought") is True:
        return Thinking(text_at(part, "text"), "google", signature)
    if "text" in part:
        return Text(text_at(part, "text"))
    return Text(f"[{next(iter(part), 'part')}]")


def _result(response: JsonObject) -> str:
    """What a tool gave back. Most clients wrap a text in an object of one key."""
    given = object_at(response, "response")
    values = list(given.values())
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    return encode(given).decode()


def _schema(generation: JsonObject) -> JsonObject | None:
    for name in ("responseJsonSchema", "responseSchema"):
        value = generation.get(name)
        if is_object(value):
            return value
    return {"type": "object"} if generation.get("responseMimeType") == "application/json" else None


def segments(post: Post) -> list[Segment]:
    """System instruction and tools, then contents."""
    body = camelled(post.body)
    inner = object_at(body, "generateContentRequest") or body
    front = [inner.get("systemInstruction"), inner.get("tools")]
    head = [Segment(encode(part)) for part in front if part is not None]
    return head + [Segment(encode(content)) for content in objects_at(inner, "contents")]
