"""Converts requests of Sapwood to messages of pydantic-ai, and its responses to recorded replies.

It follows the rules of Sapwood's own model calls, with the route of a model that pydantic-ai calls.
Needs the extra `pydantic-ai`. Thinking is left out if it came from another provider, has no
signature, or has nothing after it: the provider would treat it as plain text or refuse it. Nothing
else is left out or invented.
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec import structs

from sapwood.config.providers import Wire
from sapwood.core.content import RecordedReply, ReplyPart, Text, Thinking, ToolCall, Usage
from sapwood.core.view import Block, Message, Request, ToolResult
from sapwood.models.model_routes import ModelRoute
from sapwood.models.wire.message_parts import (
    arguments_object,
    call_id,
    is_own_thinking,
    model_parts,
    result_text,
    tool_name,
    user_content,
)
from sapwood.models.wire.signatures import (
    REDACTED,
    ReasoningItem,
    decode_reasoning,
    encode_reasoning,
)
from sapwood_frameworks.conversation import framework_missing

try:
    from pydantic_ai.messages import (
        BinaryContent,
        InstructionPart,
        ModelMessage,
        ModelRequest,
        ModelRequestPart,
        ModelResponse,
        ModelResponsePart,
        TextPart,
        ThinkingPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )
    from pydantic_ai.models import Model
    from pydantic_ai.usage import RequestUsage
except ModuleNotFoundError as missing:
    raise framework_missing("pydantic-ai", missing) from missing


_WIRES: tuple[tuple[str, Wire, str], ...] = (
    ("Responses", "responses", "openai"),
    ("Anthropic", "messages", "anthropic"),
    ("Google", "gemini", "google"),
)
"""What the name of a class of models contains, its wire format, and its provider in Sapwood."""


def route_of(model: Model) -> ModelRoute:
    """The route of a model. A class that is not known speaks the chat format."""
    names = " ".join(each.__name__ for each in type(model).__mro__)
    for part, wire, provider in _WIRES:
        if part in names:
            return _route(model, wire, provider)
    return _route(model, "chat", "openai-chat" if model.system == "openai" else model.system)


def _route(model: Model, wire: Wire, provider: str) -> ModelRoute:
    return ModelRoute(
        provider, model.model_name, wire, "", provider, model.system, "", catalogue=""
    )


def history_of(request: Request, model: Model) -> list[ModelMessage]:
    """The messages of a request, as pydantic-ai sends them to a model."""
    return model_messages(request.messages, route_of(model))


def instructions_of(request: Request) -> list[InstructionPart]:
    """The system texts and pins of a request."""
    return instructions(request.system)


def recorded_reply(response: ModelResponse, model: Model) -> RecordedReply:
    """The reply of a model, with its thinking, usage and the model that gave it."""
    return reply_of(response, route_of(model))


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


_Content = str | BinaryContent


def _system_of(route: ModelRoute) -> str:
    """The provider's name in pydantic-ai."""
    return route.account


def instructions(blocks: Iterable[Block]) -> list[InstructionPart]:
    """The system prompt and the pins as instructions, in order."""
    return [InstructionPart(content=block.text) for block in blocks if block.text.strip()]


def _thinking_field(messages: Iterable[Message], route: ModelRoute) -> str:
    """The field in which a chat server gets its thinking back, '' if it never sent any."""
    if route.wire != "chat":
        return ""
    own = (
        part.signature
        for each in messages
        for part in each.parts
        if type(part) is Thinking and is_own_thinking(part, route)
    )
    return next(own, "")


def model_messages(messages: Sequence[Message], route: ModelRoute) -> list[ModelMessage]:
    """The messages, converted for the provider of the route."""
    field = _thinking_field(messages, route)
    has_thought = False
    mapped: list[ModelMessage] = []
    for message in messages:
        if message.role == "user":
            mapped.append(ModelRequest(parts=_user_parts(message, route)))
            continue
        has_thought = has_thought or bool(_own_thinking(message, route))
        parts = list(_assistant_parts(message, route))
        if field and has_thought and not any(isinstance(part, ThinkingPart) for part in parts):
            # A server that wants its thinking back wants the field in every later message.
            parts.insert(0, ThinkingPart("", id=field, provider_name=_system_of(route)))
        mapped.append(ModelResponse(parts=parts))
    return mapped


# Messages of the user


def _user_parts(message: Message, route: ModelRoute) -> list[ModelRequestPart]:
    parts: list[ModelRequestPart] = [
        _tool_return(part, route) for part in message.parts if isinstance(part, ToolResult)
    ]
    content = [
        part if isinstance(part, str) else BinaryContent(part.content, media_type=part.media_type)
        for part in user_content(message, route.wire)
    ]
    if route.wire == "chat":  # many servers accept one text, not a list
        content = _joined_texts(content)
    if content:
        only = content[0] if len(content) == 1 and isinstance(content[0], str) else content
        parts.append(UserPromptPart(only))
    return parts


def _joined_texts(parts: list[_Content]) -> list[_Content]:
    """The parts with texts that follow each other joined."""
    joined: list[_Content] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, str) and isinstance(last, str):
            joined[-1] = f"{last}\n\n{part}"
        else:
            joined.append(part)
    return joined


def _tool_return(result: ToolResult, route: ModelRoute) -> ToolReturnPart:
    native = route.wire in ("messages", "gemini")
    return ToolReturnPart(
        tool_name=tool_name(result.name),
        content=result_text(result, route.wire),
        tool_call_id=call_id(result.call),
        outcome="failed" if result.error and native else "success",
    )


# Messages of the model


def _assistant_parts(message: Message, route: ModelRoute) -> Iterator[ModelResponsePart]:
    converted = _AssistantParts(route)
    for part in model_parts(message, route):
        match part:
            case Thinking():
                yield from converted.thinking(part)
            case Text():
                yield converted.text(part)
            case ToolCall():
                yield converted.call(part)
            case _:
                pass


class _AssistantParts:
    """Converts one message of the model, with the ids that its provider wants back."""

    def __init__(self, route: ModelRoute) -> None:
        self._route = route
        self._system = _system_of(route)
        self._texts: list[tuple[str, str]] = []
        self._calls: dict[str, str] = {}
        self._sent_items: set[str] = set()

    def thinking(self, part: Thinking) -> Iterator[ThinkingPart]:
        match self._route.wire:
            case "messages" if part.signature.startswith(REDACTED):
                data = part.signature.removeprefix(REDACTED)
                yield self._thinking("", signature=data, id="redacted_thinking")
            case "messages" | "gemini":
                yield self._thinking(part.text, signature=part.signature)
            case "chat":
                yield self._thinking(part.text, id=part.signature)
            case "responses":
                item = decode_reasoning(part.signature)
                if item is not None and (item.data or item.id in self._sent_items):
                    yield self._reasoning(part.text, item)

    def text(self, part: Text) -> TextPart:
        if not self._texts:
            return TextPart(part.text)
        name, phase = self._texts.pop(0)
        return TextPart(
            part.text,
            id=name or None,
            provider_name=self._system,
            provider_details={"phase": phase} if phase else None,
        )

    def call(self, part: ToolCall) -> ToolCallPart:
        name = self._calls.get(part.id)
        return ToolCallPart(
            tool_name=tool_name(part.name),
            args=msgspec.json.decode(arguments_object(part.args)),
            tool_call_id=call_id(part.id),
            id=name,
            provider_name=self._system if name else None,
        )

    def _reasoning(self, text: str, item: ReasoningItem) -> ThinkingPart:
        self._sent_items.add(item.id)
        self._texts = list(item.texts)
        self._calls |= item.calls
        return self._thinking(text, signature=item.data or None, id=item.id)

    def _thinking(
        self, text: str, signature: str | None = None, id: str | None = None
    ) -> ThinkingPart:
        return ThinkingPart(text, id=id, signature=signature, provider_name=self._system)


def _own_thinking(message: Message, route: ModelRoute) -> list[Thinking]:
    return [
        part
        for part in message.parts
        if isinstance(part, Thinking) and is_own_thinking(part, route)
    ]
