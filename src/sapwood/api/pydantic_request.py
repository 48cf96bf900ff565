"""Converts Sapwood's messages to pydantic-ai's, for one provider, for the integration with it.

Thinking is left out if it came from another provider, has no signature, or has nothing after it:
the provider would treat it as plain text or refuse it. Nothing else is left out or invented.
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec
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

from sapwood.core.content import Text, Thinking, ToolCall
from sapwood.core.view import Block, Message, ToolResult
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
from sapwood.models.wire.signatures import REDACTED, ReasoningItem, decode_reasoning

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
            args=_arguments(part.args),
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


def _arguments(args: str) -> dict[str, object]:
    return msgspec.json.decode(arguments_object(args))
