"""Converts a request of the Gemini API to a `ModelRequest` and to cache segments. Pure."""

from scripted_model.conversation import (
    MessagePart,
    ModelRequest,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
    merge_messages,
)
from scripted_model.json_values import (
    JsonObject,
    encode,
    is_integer,
    is_object,
    object_at,
    objects_at,
    text_at,
)
from scripted_model.usage import Segment
from scripted_model.wires.gemini.fields import with_camel_case_names
from scripted_model.wires.wire import Post


def parse_request(post: Post) -> ModelRequest:
    """Converts a request to a `ModelRequest`."""
    body = with_camel_case_names(post.body)
    generation = object_at(body, "generationConfig")
    instruction = objects_at(object_at(body, "systemInstruction"), "parts")
    limit = generation.get("maxOutputTokens")
    return ModelRequest(
        vendor="google",
        wire="gemini",
        model=post.model,
        system="\n".join(text_at(part, "text") for part in instruction),
        messages=merge_messages(
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
    """Returns the result of a tool. Most clients wrap a text in an object with one key."""
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


def cache_segments(post: Post) -> list[Segment]:
    """Returns system instruction and tools, then contents."""
    body = with_camel_case_names(post.body)
    inner = object_at(body, "generateContentRequest") or body
    front = [inner.get("systemInstruction"), inner.get("tools")]
    head = [Segment(encode(part)) for part in front if part is not None]
    return head + [Segment(encode(content)) for content in objects_at(inner, "contents")]
