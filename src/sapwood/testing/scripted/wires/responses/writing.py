"""From a reply to what the Responses API sends, as one object or as a stream. Pure."""

from collections.abc import Callable, Iterator
from itertools import count

from sapwood.testing.scripted.asked import Asked
from sapwood.testing.scripted.jsontree import Json, JsonObject, items_at, objects_at
from sapwood.testing.scripted.signing import Mint
from sapwood.testing.scripted.wires.pieces import Pieces
from sapwood.testing.scripted.wires.responses.frame import frame, usage_of
from sapwood.testing.scripted.wires.responses.items import items_of
from sapwood.testing.scripted.wires.responses.reading import has_trigger
from sapwood.testing.scripted.wires.sse import named_event
from sapwood.testing.scripted.wires.wire import Answer, Event

__all__ = ["call_id", "counted", "events", "whole"]


def call_id(asked: Asked, mint: Mint) -> str:
    """An id as the API makes them."""
    del asked  # every model's look the same
    return f"call_{mint.letters(24)}"


def counted(total: int) -> JsonObject:
    """The answer of `input_tokens`."""
    return {"object": "response.input_tokens", "input_tokens": total}


def whole(answer: Answer) -> JsonObject:
    """The response, or the compacted input."""
    items = items_of(answer)
    if answer.asked.compacts and not has_trigger(answer.asked.body):
        return _compacted(answer, items)
    return frame(answer, _status(answer), items)


def events(answer: Answer) -> Iterator[Event]:
    """Created, in progress, the items with their pieces, completed."""
    numbers = count()

    def emit(kind: str, chars: int = 0, *, closing: bool = False, **data: Json) -> Event:
        event: JsonObject = {"type": kind, "sequence_number": next(numbers), **data}
        return named_event(kind, event, chars, closing=closing)

    yield emit("response.created", response=frame(answer, "in_progress", []))
    yield emit("response.in_progress", response=frame(answer, "in_progress", []))
    items = items_of(answer)
    pieces = Pieces.for_answer(answer)
    for index, item in enumerate(items):
        yield from _item_events(emit, index, item, pieces)
    status = _status(answer)
    final = frame(answer, status, items)
    yield emit(f"response.{status}", closing=True, response=final)


def _status(answer: Answer) -> str:
    return "incomplete" if answer.stop == "length" else "completed"


def _compacted(answer: Answer, items: list[JsonObject]) -> JsonObject:
    """What the user said, word for word, and the summary."""
    said = [item for item in objects_at(answer.asked.body, "input") if item.get("role") == "user"]
    output: list[Json] = [*said, *items]
    return {
        "id": f"resp_{answer.name}",
        "object": "response.compaction",
        "created_at": answer.created,
        "output": output,
        "usage": usage_of(answer.spent),
    }


_Emit = Callable[..., Event]


def _item_events(emit: _Emit, index: int, item: JsonObject, pieces: Pieces) -> Iterator[Event]:
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


def _text_events(emit: _Emit, index: int, item: JsonObject, pieces: Pieces) -> Iterator[Event]:
    part = objects_at(item, "content")[0]
    text = str(part["text"])
    place: JsonObject = {"item_id": item["id"], "output_index": index, "content_index": 0}
    yield emit("response.content_part.added", **place, part={**part, "text": ""})
    for piece in pieces.of(text):
        kind = "response.output_text.delta"
        yield emit(kind, len(piece), **place, delta=piece, logprobs=[])
    yield emit("response.output_text.done", **place, text=text, logprobs=[])
    yield emit("response.content_part.done", **place, part=part)


def _summary_events(emit: _Emit, index: int, item: JsonObject, pieces: Pieces) -> Iterator[Event]:
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


def _argument_events(emit: _Emit, index: int, item: JsonObject, pieces: Pieces) -> Iterator[Event]:
    place: JsonObject = {"item_id": item["id"], "output_index": index}
    args = str(item["arguments"])
    for piece in pieces.of(args):
        yield emit("response.function_call_arguments.delta", len(piece), **place, delta=piece)
    kind = "response.function_call_arguments.done"
    yield emit(kind, **place, name=item["name"], arguments=args)


def _input_events(emit: _Emit, index: int, item: JsonObject, pieces: Pieces) -> Iterator[Event]:
    place: JsonObject = {"item_id": item["id"], "output_index": index}
    given = str(item["input"])
    for piece in pieces.of(given):
        yield emit("response.custom_tool_call_input.delta", len(piece), **place, delta=piece)
    yield emit("response.custom_tool_call_input.done", **place, input=given)
