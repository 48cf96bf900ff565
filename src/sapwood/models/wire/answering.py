"""pydantic-ai's events and responses as neutral deltas and answers."""

from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec import structs
from pydantic_ai.messages import (
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.usage import RequestUsage

from sapwood.core.calling import Answer, Delta
from sapwood.core.content import ReplyPart, Text, Thinking, ToolCall, Usage
from sapwood.models.names import Route
from sapwood.models.wire.seals import WITHHELD, Reasoning, sealed

__all__ = ["Ending", "Listener", "answered", "ending_of", "reason_of"]

Ending = Literal["done", "length", "refused", "broken", "cut"]
"""How an answer ended; `cut` means that nobody said it was over."""

_ENDINGS: dict[str | None, Ending] = {
    "stop": "done",
    "tool_call": "done",
    "length": "length",
    "content_filter": "refused",
    "error": "broken",
}
_SAID = ("finish_reason", "block_reason", "refusal")


class Listener:
    """Turns the events of one stream into deltas; knows which call a piece belongs to."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}

    def heard(self, event: ModelResponseStreamEvent) -> Delta | None:
        """The delta of an event, if it has words."""
        match event:
            case PartStartEvent(part=TextPart() as part):
                return _piece("text", part.content)
            case PartStartEvent(part=ThinkingPart() as part):
                return _piece("thinking", part.content)
            case PartStartEvent(index=index, part=ToolCallPart() as part):
                self._names[index] = part.tool_name
                return Delta("call", _written(part.args), part.tool_name)
            case PartDeltaEvent(delta=TextPartDelta() as delta):
                return _piece("text", delta.content_delta)
            case PartDeltaEvent(delta=ThinkingPartDelta() as delta):
                return _piece("thinking", delta.content_delta or "")
            case PartDeltaEvent(index=index, delta=ToolCallPartDelta() as delta):
                return _piece("call", _written(delta.args_delta), self._names.get(index, ""))
            case _:
                return None


def _piece(kind: Literal["text", "thinking", "call"], text: str, name: str = "") -> Delta | None:
    return Delta(kind, text, name) if text else None


def reason_of(response: ModelResponse) -> str:
    """What the provider gave as the reason of the end, in its own words."""
    details = response.provider_details or {}
    return next((str(details[key]) for key in _SAID if details.get(key)), "")


def ending_of(response: ModelResponse) -> Ending:
    """How the answer ended. A stream that just stops was cut, whatever it held."""
    details = response.provider_details or {}
    if not any(details.get(key) for key in _SAID):
        return "cut"
    return _ENDINGS.get(response.finish_reason, "done")


def answered(response: ModelResponse, route: Route, ending: Ending) -> Answer:
    """The whole message."""
    known = response.model_name if route.catalogue else None
    model = f"{route.provider}:{known or route.model}"
    ended = ending if ending in ("length", "refused") else "done"
    parts = tuple(_distinct(_parts(response, route)))
    return Answer(parts, model, _usage(response.usage), ended)


def _parts(response: ModelResponse, route: Route) -> list[ReplyPart]:
    match route.wire:
        case "responses":
            return _with_items(response, route)
        case "gemini":
            return _with_signatures(response, route)
        case "messages" | "chat":
            return [
                said for part in response.parts for said in _said(part, route, _signature(part))
            ]


def _said(part: object, route: Route, signature: str = "") -> Iterator[ReplyPart]:
    match part:
        case TextPart() if part.content.strip():
            yield Text(part.content)
        case ThinkingPart() if part.content or signature:
            yield Thinking(part.content, route.provider, signature)
        case ToolCallPart():
            yield ToolCall(part.tool_call_id, part.tool_name, _written(part.args) or "{}")
        case _:
            pass


def _signature(part: object) -> str:
    """Of Anthropic's thinking its signature, of a chat server's the field that it came in."""
    if not isinstance(part, ThinkingPart):
        return ""
    if part.signature and part.id == "redacted_thinking":
        return WITHHELD + part.signature
    return part.signature or part.id or ""


def _with_signatures(response: ModelResponse, route: Route) -> list[ReplyPart]:
    """Google signs what follows a thought, so the thought before a signed part keeps it."""
    parts: list[ReplyPart] = []
    for part in response.parts:
        said = list(_said(part, route))
        signature = (part.provider_details or {}).get("thought_signature")
        if said and isinstance(signature, str) and not isinstance(part, ThinkingPart):
            last = parts[-1] if parts else None
            if isinstance(last, Thinking) and not last.signature:
                parts[-1] = structs.replace(last, signature=signature)
            else:
                parts.append(Thinking("", route.provider, signature))
        parts += said
    return parts


def _with_items(response: ModelResponse, route: Route) -> list[ReplyPart]:
    """OpenAI wants reasoning back with the very items that it came with: it keeps their names."""
    parts: list[ReplyPart] = []
    items: list[tuple[int, Reasoning]] = []
    for part in response.parts:
        said = list(_said(part, route, signature="later" if _has_item(part) else ""))
        match part:
            case ThinkingPart(id=str(name)) if said:
                items.append((len(parts), Reasoning(name, part.signature or "")))
            case TextPart() if said and items:
                phase = (part.provider_details or {}).get("phase")
                items[-1][1].texts.append((part.id or "", phase if isinstance(phase, str) else ""))
            case ToolCallPart(id=str(name)) if items:
                items[-1][1].calls[part.tool_call_id] = name
            case _:
                pass
        parts += said
    for index, item in items:
        thinking = parts[index]
        if isinstance(thinking, Thinking):
            parts[index] = structs.replace(thinking, signature=sealed(item))
    return parts


def _has_item(part: object) -> bool:
    return isinstance(part, ThinkingPart) and bool(part.id)


def _distinct(parts: list[ReplyPart]) -> Iterator[ReplyPart]:
    """Some servers number the calls of one answer alike; a result must find its own."""
    seen: set[str] = set()
    for part in parts:
        if isinstance(part, ToolCall):
            while part.id in seen:
                part = structs.replace(part, id=f"{part.id}-{len(seen)}")
            seen.add(part.id)
        yield part


def _written(args: object) -> str:
    """Arguments as the model wrote them; where the wire has an object, as compact JSON."""
    if not args:
        return ""
    return args if isinstance(args, str) else msgspec.json.encode(args).decode()


def _usage(usage: RequestUsage) -> Usage | None:
    if not usage.input_tokens and not usage.output_tokens:
        return None
    return Usage(
        input=usage.input_tokens,
        output=usage.output_tokens,
        cache_read=usage.cache_read_tokens,
        cache_write=usage.cache_write_tokens,
    )
