"""Encodes replies and errors as the Responses API does, as one object or as a stream. Pure."""

from collections.abc import Callable, Iterator, Sequence
from itertools import count

from scripted_model.conversation import ReplyPart, Text, Thinking, ToolCall
from scripted_model.json_values import Json, JsonObject, items_at, object_at, objects_at
from scripted_model.prepared_reply import Pieces, PreparedReply
from scripted_model.signatures import item_id, sign_text
from scripted_model.wires.openai import (
    cache_writes,
    error_of,
    error_response,
    openai_status,
    scripted_failure,
    text_input,
)
from scripted_model.wires.responses.request import has_trigger
from scripted_model.wires.wire import ErrorResponse, StreamEvent, named_event

_TOO_LONG = (
    "Your input exceeds the context window of this model. Please adjust your input and try again."
)


def response_object(
    prepared: PreparedReply, status: str, items: Sequence[JsonObject]
) -> JsonObject:
    """Returns the response object. Unlike the real one it does not repeat the tools."""
    body = prepared.request.body
    ended = status not in ("in_progress", "failed")
    return {
        "id": f"resp_{prepared.name}",
        "object": "response",
        "created_at": prepared.created,
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "metadata": object_at(body, "metadata"),
        "model": prepared.request.model,
        "output": [*items],
        "parallel_tool_calls": body.get("parallel_tool_calls") is not False,
        "previous_response_id": None,
        "prompt_cache_key": body.get("prompt_cache_key"),
        "reasoning": {"effort": None, "summary": None} | object_at(body, "reasoning"),
        "service_tier": "default",
        "store": body.get("store") is not False,
        "temperature": 1.0,
        "text": object_at(body, "text") or {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": body.get("truncation") or "disabled",
        "usage": _usage(prepared) if ended else None,
        "user": None,
        **(prepared.request.reported if ended else {}),
    }


def _usage(prepared: PreparedReply) -> JsonObject:
    """Returns the usage object."""
    usage = prepared.usage
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read,
            "cache_write_tokens": cache_writes(prepared),
        },
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.thinking},
        "total_tokens": usage.input + usage.output,
    }


def _output_items(prepared: PreparedReply) -> list[JsonObject]:
    """Returns one item per part."""
    items: list[JsonObject] = []
    thought = False
    for index, part in enumerate(prepared.parts):
        thinks = isinstance(part, Thinking)
        name = item_id("", prepared.name, index, thought=thought and not thinks)
        items.append(_item(prepared, part, name))
        thought = thought or (thinks and index == 0)
    return items


def _item(prepared: PreparedReply, part: ReplyPart, name: str) -> JsonObject:
    match part:
        case Text(text=text) if prepared.request.wants_compaction:
            return {"id": f"cmp{name}", "type": "compaction", "encrypted_content": _encrypted(text)}
        case Text(text=text):
            return _message(text, f"msg{name}")
        case Thinking(text=text):
            return _reasoning(prepared, text, f"rs{name}")
        case ToolCall():
            return _call(prepared, part, name)


def _message(text: str, name: str) -> JsonObject:
    said: JsonObject = {"type": "output_text", "annotations": [], "logprobs": [], "text": text}
    return {
        "id": name,
        "type": "message",
        "status": "completed",
        "role": "assistant",
        "content": [said],
    }


def _reasoning(prepared: PreparedReply, text: str, name: str) -> JsonObject:
    """Returns a reasoning item, with a summary and encrypted content if the client asked."""
    body = prepared.request.body
    settings = object_at(body, "reasoning")
    shown = settings.get("summary") or settings.get("generate_summary")
    item: JsonObject = {"id": name, "type": "reasoning", "summary": []}
    if shown:
        item["summary"] = [{"type": "summary_text", "text": text}]
    if "reasoning.encrypted_content" in items_at(body, "include"):
        item["encrypted_content"] = _encrypted(text)
    return item


def _call(prepared: PreparedReply, call: ToolCall, name: str) -> JsonObject:
    tool = prepared.request.tool(call.name)
    item: JsonObject = {"status": "completed", "call_id": call.id, "name": call.name}
    if tool is not None and tool.namespace:
        item["namespace"] = tool.namespace
    if tool is not None and tool.takes_text:
        return {
            "id": f"ctc{name}",
            "type": "custom_tool_call",
            "input": text_input(call.args),
        } | item
    return {"id": f"fc{name}", "type": "function_call", "arguments": call.args} | item


def _encrypted(text: str) -> str:
    return sign_text("openai", text)


def token_count(total: int) -> JsonObject:
    """Returns the response of `input_tokens`."""
    return {"object": "response.input_tokens", "input_tokens": total}


def response_body(prepared: PreparedReply) -> JsonObject:
    """Returns the response, or the compacted input."""
    items = _output_items(prepared)
    if prepared.request.wants_compaction and not has_trigger(prepared.request.body):
        return _compacted(prepared, items)
    return response_object(prepared, _status(prepared), items)


def stream_events(prepared: PreparedReply) -> Iterator[StreamEvent]:
    """Yields created, in progress, the items with their pieces, and completed."""
    numbers = count()

    def emit(kind: str, chars: int = 0, *, closing: bool = False, **data: Json) -> StreamEvent:
        event: JsonObject = {"type": kind, "sequence_number": next(numbers), **data}
        return named_event(kind, event, chars, closing=closing)

    yield emit("response.created", response=response_object(prepared, "in_progress", []))
    yield emit("response.in_progress", response=response_object(prepared, "in_progress", []))
    items = _output_items(prepared)
    pieces = Pieces.for_reply(prepared)
    for index, item in enumerate(items):
        yield from _item_events(emit, index, item, pieces)
    status = _status(prepared)
    final = response_object(prepared, status, items)
    yield emit(f"response.{status}", closing=True, response=final)


def _status(prepared: PreparedReply) -> str:
    return "incomplete" if prepared.stop == "length" else "completed"


def _compacted(prepared: PreparedReply, items: list[JsonObject]) -> JsonObject:
    """Returns the messages of the user as they are, and the summary."""
    said = [
        item for item in objects_at(prepared.request.body, "input") if item.get("role") == "user"
    ]
    output: list[Json] = [*said, *items]
    return {
        "id": f"resp_{prepared.name}",
        "object": "response.compaction",
        "created_at": prepared.created,
        "output": output,
        "usage": _usage(prepared),
    }


_Emit = Callable[..., StreamEvent]


def _item_events(
    emit: _Emit, index: int, item: JsonObject, pieces: Pieces
) -> Iterator[StreamEvent]:
    opened: JsonObject = {**item}
    match item["type"]:
        case "message":
            opened |= {"status": "in_progress", "content": []}
            inner = _text_events(emit, index, item, pieces)
        case "reasoning":
            opened |= {"summary": []}
            inner = _summary_events(emit, index, item, pieces)
        case "function_call":
            opened |= {"status": "in_progress", "arguments": ""}
            inner = _argument_events(emit, index, item, pieces)
        case "custom_tool_call":
            opened |= {"status": "in_progress", "input": ""}
            inner = _input_events(emit, index, item, pieces)
        case _:
            inner = iter(())
    yield emit("response.output_item.added", output_index=index, item=opened)
    yield from inner
    yield emit("response.output_item.done", output_index=index, item=item)


def _text_events(
    emit: _Emit, index: int, item: JsonObject, pieces: Pieces
) -> Iterator[StreamEvent]:
    part = objects_at(item, "content")[0]
    text = str(part["text"])
    place: JsonObject = {"item_id": item["id"], "output_index": index, "content_index": 0}
    yield emit("response.content_part.added", **place, part={**part, "text": ""})
    for piece in pieces.of(text):
        kind = "response.output_text.delta"
        yield emit(kind, len(piece), **place, delta=piece, logprobs=[])
    yield emit("response.output_text.done", **place, text=text, logprobs=[])
    yield emit("response.content_part.done", **place, part=part)


def _summary_events(
    emit: _Emit, index: int, item: JsonObject, pieces: Pieces
) -> Iterator[StreamEvent]:
    for number, part in enumerate(items_at(item, "summary")):
        place: JsonObject = {"item_id": item["id"], "output_index": index, "summary_index": number}
        text = str(part["text"]) if isinstance(part, dict) else ""
        empty: JsonObject = {"type": "summary_text", "text": ""}
        yield emit("response.reasoning_summary_part.added", **place, part=empty)
        for piece in pieces.of(text):
            kind = "response.reasoning_summary_text.delta"
            yield emit(kind, len(piece), **place, delta=piece)
        yield emit("response.reasoning_summary_text.done", **place, text=text)
        yield emit("response.reasoning_summary_part.done", **place, part=part)


def _argument_events(
    emit: _Emit, index: int, item: JsonObject, pieces: Pieces
) -> Iterator[StreamEvent]:
    place: JsonObject = {"item_id": item["id"], "output_index": index}
    args = str(item["arguments"])
    for piece in pieces.of(args):
        yield emit("response.function_call_arguments.delta", len(piece), **place, delta=piece)
    kind = "response.function_call_arguments.done"
    yield emit(kind, **place, name=item["name"], arguments=args)


def _input_events(
    emit: _Emit, index: int, item: JsonObject, pieces: Pieces
) -> Iterator[StreamEvent]:
    place: JsonObject = {"item_id": item["id"], "output_index": index}
    given = str(item["input"])
    for piece in pieces.of(given):
        yield emit("response.custom_tool_call_input.delta", len(piece), **place, delta=piece)
    yield emit("response.custom_tool_call_input.done", **place, input=given)


def context_length_error(prepared: PreparedReply, limit: int) -> ErrorResponse | list[StreamEvent]:
    """In a stream, the error comes after the first events. This API names no numbers."""
    del limit
    error = error_of(400, _TOO_LONG, "input", "context_length_exceeded")
    if not prepared.request.stream:
        return error_response(400, error, prepared.ids)
    started = response_object(prepared, "in_progress", [])
    opening = [
        _numbered_event("response.created", 0, {"response": started}),
        _numbered_event("response.in_progress", 1, {"response": started}),
    ]
    return opening + _failure(prepared, error, len(opening))


def stream_error_events(prepared: PreparedReply, status: int, sent: int) -> list[StreamEvent]:
    return _failure(prepared, scripted_failure(openai_status(status)), sent)


def _failure(prepared: PreparedReply, error: JsonObject, sent: int) -> list[StreamEvent]:
    ended = response_object(prepared, "failed", [])
    ended["error"] = {"code": error["code"], "message": error["message"]}
    return [
        _numbered_event("error", sent, {"error": error}),
        _numbered_event("response.failed", sent + 1, {"response": ended}),
    ]


def _numbered_event(kind: str, number: int, data: JsonObject) -> StreamEvent:
    return named_event(kind, {"type": kind, "sequence_number": number, **data})
