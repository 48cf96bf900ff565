"""Converts pydantic-ai's responses to recorded replies, for the integration with it."""

from collections.abc import Iterator

import msgspec
from msgspec import structs
from pydantic_ai.messages import (
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.usage import RequestUsage

from sapwood.core.content import RecordedReply, ReplyPart, Text, Thinking, ToolCall, Usage
from sapwood.models.model_routes import ModelRoute
from sapwood.models.wire.signatures import REDACTED, ReasoningItem, encode_reasoning


def reply_of(response: ModelResponse, route: ModelRoute) -> RecordedReply:
    """The reply, with its thinking and usage, and the model that gave it."""
    model = f"{route.provider}:{route.model}"
    parts = tuple(_with_distinct_ids(_parts(response, route)))
    return RecordedReply(parts, model, _usage(response.usage))


def _parts(response: ModelResponse, route: ModelRoute) -> list[ReplyPart]:
    match route.wire:
        case "responses":
            return _with_items(response, route)
        case "gemini":
            return _with_signatures(response, route)
        case "messages" | "chat":
            return [
                each
                for part in response.parts
                for each in _converted(part, route, _signature(part))
            ]


def _converted(part: object, route: ModelRoute, signature: str = "") -> Iterator[ReplyPart]:
    match part:
        case TextPart() if part.content.strip():
            yield Text(part.content)
        case ThinkingPart() if part.content or signature:
            yield Thinking(part.content, route.provider, signature)
        case ToolCallPart():
            yield ToolCall(part.tool_call_id, part.tool_name, _arguments_text(part.args) or "{}")
        case _:
            pass


def _signature(part: object) -> str:
    """For Anthropic the provider's signature, for a chat server the field of the thinking."""
    if not isinstance(part, ThinkingPart):
        return ""
    if part.signature and part.id == "redacted_thinking":
        return REDACTED + part.signature
    return part.signature or part.id or ""


def _with_signatures(response: ModelResponse, route: ModelRoute) -> list[ReplyPart]:
    """Google signs the part after a thought; the thought stores that signature."""
    parts: list[ReplyPart] = []
    for part in response.parts:
        converted = list(_converted(part, route))
        signature = (part.provider_details or {}).get("thought_signature")
        if converted and isinstance(signature, str) and not isinstance(part, ThinkingPart):
            last = parts[-1] if parts else None
            if isinstance(last, Thinking) and not last.signature:
                parts[-1] = structs.replace(last, signature=signature)
            else:
                parts.append(Thinking("", route.provider, signature))
        parts += converted
    return parts


def _with_items(response: ModelResponse, route: ModelRoute) -> list[ReplyPart]:
    """OpenAI wants reasoning back with the items it came with, so their ids are stored with it."""
    parts: list[ReplyPart] = []
    items: list[tuple[int, ReasoningItem]] = []
    for part in response.parts:
        converted = list(_converted(part, route, signature="later" if _has_item_id(part) else ""))
        match part:
            case ThinkingPart(id=str(name)) if converted:
                items.append((len(parts), ReasoningItem(name, part.signature or "")))
            case TextPart() if converted and items:
                phase = (part.provider_details or {}).get("phase")
                items[-1][1].texts.append((part.id or "", phase if isinstance(phase, str) else ""))
            case ToolCallPart(id=str(name)) if items:
                items[-1][1].calls[part.tool_call_id] = name
            case _:
                pass
        parts += converted
    for index, item in items:
        thinking = parts[index]
        if isinstance(thinking, Thinking):
            parts[index] = structs.replace(thinking, signature=encode_reasoning(item))
    return parts


def _has_item_id(part: object) -> bool:
    return isinstance(part, ThinkingPart) and bool(part.id)


def _with_distinct_ids(parts: list[ReplyPart]) -> Iterator[ReplyPart]:
    """Gives each tool call an id of its own; some servers repeat an id within one answer."""
    seen: set[str] = set()
    for part in parts:
        if isinstance(part, ToolCall):
            while part.id in seen:
                part = structs.replace(part, id=f"{part.id}-{len(seen)}")
            seen.add(part.id)
        yield part


def _arguments_text(args: object) -> str:
    """The arguments as the model wrote them, or as compact JSON if the wire format parsed them."""
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
