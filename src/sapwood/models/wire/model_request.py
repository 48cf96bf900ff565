"""Converts Sapwood's messages to pydantic-ai's, for one provider.

Thinking is left out if it came from another provider, has no signature, or has nothing after it:
the provider would treat it as plain text or refuse it. Nothing else is left out or invented.
"""

import hashlib
import re
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
from pydantic_ai.tools import ToolDefinition

from sapwood.core.content import File, Text, Thinking, ToolCall
from sapwood.core.model_calls import ToolSpec
from sapwood.core.view import Block, Message, ToolResult
from sapwood.models.model_routes import ModelRoute
from sapwood.models.wire.signatures import REDACTED, ReasoningItem, decode_reasoning

__all__ = ["instructions", "model_messages", "system_of", "thinking_field", "tool_definitions"]

NO_TEXT = "[no words]"
"""Replaces a message that has no content left."""

_EMPTY = "[empty]"
_ERROR = "[error]\n"
_INVALID = "INVALID_JSON"
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_THINKING_FIELDS = frozenset({"reasoning", "reasoning_content"})


def system_of(route: ModelRoute) -> str:
    """The provider's name in pydantic-ai."""
    return route.account


def instructions(blocks: Iterable[Block]) -> list[InstructionPart]:
    """The system prompt and the pins as instructions, in order."""
    return [InstructionPart(content=block.text) for block in blocks if block.text.strip()]


def tool_definitions(tools: Iterable[ToolSpec]) -> list[ToolDefinition]:
    """The tools as pydantic-ai's definitions; strict ones would have their schemas rewritten."""
    return [
        ToolDefinition(
            name=tool.name,
            description=tool.description,
            parameters_json_schema=msgspec.json.decode(tool.schema or "{}"),
            strict=False,
        )
        for tool in tools
    ]


def thinking_field(messages: Iterable[Message], route: ModelRoute) -> str:
    """The field in which a chat server gets its thinking back, '' if it never sent any."""
    if route.wire != "chat":
        return ""
    own = (
        part.signature
        for each in messages
        for part in each.parts
        if type(part) is Thinking and _is_own(part, route)
    )
    return next(own, "")


def model_messages(
    messages: Sequence[Message], route: ModelRoute, start: int = 0
) -> list[ModelMessage]:
    """The messages from index `start` on, converted for the provider of the route."""
    field = thinking_field(messages, route)
    has_thought = bool(field) and any(_own_thinking(each, route) for each in messages[:start])
    mapped: list[ModelMessage] = []
    for message in messages[start:]:
        if message.role == "user":
            mapped.append(ModelRequest(parts=_user_parts(message, route)))
            continue
        has_thought = has_thought or bool(_own_thinking(message, route))
        parts = list(_assistant_parts(message, route))
        if field and has_thought and not any(isinstance(part, ThinkingPart) for part in parts):
            # A server that wants its thinking back wants the field in every later message.
            parts.insert(0, ThinkingPart("", id=field, provider_name=system_of(route)))
        mapped.append(ModelResponse(parts=parts))
    return mapped


# Messages of the user


def _user_parts(message: Message, route: ModelRoute) -> list[ModelRequestPart]:
    results: list[ModelRequestPart] = [
        _tool_return(part, route) for part in message.parts if isinstance(part, ToolResult)
    ]
    parts: list[str | BinaryContent] = []
    for part in message.parts:
        if isinstance(part, Text) and part.text.strip():
            parts.append(part.text)
        elif isinstance(part, File):
            parts.append(_file(part, route))
        elif isinstance(part, ToolResult):
            for file in part.files:
                parts += [f"[Returned by {part.name}, call {_id(part.call)}]", _file(file, route)]
    if not parts and not results:
        parts = [NO_TEXT]
    if route.wire == "chat":  # many servers accept one text, not a list
        parts = _joined_texts(parts)
    if parts:
        only = parts[0] if len(parts) == 1 and isinstance(parts[0], str) else parts
        results.append(UserPromptPart(only))
    return results


def _joined_texts(parts: list[str | BinaryContent]) -> list[str | BinaryContent]:
    """The parts with texts that follow each other joined."""
    joined: list[str | BinaryContent] = []
    for part in parts:
        last = joined[-1] if joined else None
        if isinstance(part, str) and isinstance(last, str):
            joined[-1] = f"{last}\n\n{part}"
        else:
            joined.append(part)
    return joined


_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_TAKEN = {
    "messages": _IMAGES | {"application/pdf"},
    "responses": _IMAGES | {"application/pdf"},
    "chat": _IMAGES | {"audio/wav", "audio/mpeg"},
    "gemini": (_IMAGES - {"image/gif"})
    | {"application/pdf", "audio/wav", "audio/mpeg", "video/mp4", "image/heic", "image/heif"},
}
"""The types of files that each wire format takes."""


def _file(file: File, route: ModelRoute) -> "str | BinaryContent":
    """A file as the provider takes it; else its text, or a line that says that it was not sent."""
    if file.media_type in _TAKEN[route.wire]:
        return BinaryContent(file.content, media_type=file.media_type)
    if words := file.words:
        return f"{file.text}\n{words}"
    return f"{file.text} It was not sent: this provider takes no files of this type."


def _tool_return(result: ToolResult, route: ModelRoute) -> ToolReturnPart:
    content = result.content or _EMPTY
    native = route.wire in ("messages", "gemini")
    if result.error and not native:
        content = _ERROR + content
    return ToolReturnPart(
        tool_name=_name(result.name),
        content=content,
        tool_call_id=_id(result.call),
        outcome="failed" if result.error and native else "success",
    )


# Messages of the model


def _assistant_parts(message: Message, route: ModelRoute) -> Iterator[ModelResponsePart]:
    parts = list(message.parts)
    while route.wire != "chat" and parts and isinstance(parts[-1], Thinking):
        parts.pop()
    message_parts = _AssistantParts(route)
    is_empty = True
    for part in parts:
        match part:
            case Thinking():
                yield from message_parts.thinking(part)
            case Text() if part.text.strip():
                is_empty = False
                yield message_parts.text(part)
            case File():  # no provider takes files in messages of the model
                is_empty = False
                yield TextPart(part.text)
            case ToolCall():
                is_empty = False
                yield message_parts.call(part)
            case _:
                pass
    if is_empty:
        yield TextPart(NO_TEXT)


class _AssistantParts:
    """Converts one message of the model, with the ids that its provider wants back."""

    def __init__(self, route: ModelRoute) -> None:
        self._route = route
        self._system = system_of(route)
        self._texts: list[tuple[str, str]] = []
        self._calls: dict[str, str] = {}
        self._sent_items: set[str] = set()

    def thinking(self, part: Thinking) -> Iterator[ThinkingPart]:
        if not _is_own(part, self._route):
            return
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
            tool_name=_name(part.name),
            args=_arguments_object(part.args),
            tool_call_id=_id(part.id),
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
    return [part for part in message.parts if isinstance(part, Thinking) and _is_own(part, route)]


def _is_own(part: Thinking, route: ModelRoute) -> bool:
    if part.provider != route.provider or not part.signature:
        return False
    return route.wire != "chat" or part.signature in _THINKING_FIELDS


def _arguments_object(args: str) -> dict[str, object]:
    """The arguments as an object, which every provider accepts, even if they are not valid JSON."""
    if not args.strip():
        return {}
    try:
        return msgspec.json.decode(args, type=dict[str, object])
    except msgspec.DecodeError:
        return {_INVALID: args}


def _id(id: str) -> str:
    """A call id that every provider accepts; equal ids stay equal."""
    if _ID.fullmatch(id):
        return id
    return "call_" + hashlib.blake2b(id.encode(), digest_size=12).hexdigest()


def _name(name: str) -> str:
    """A tool name that every provider accepts; a model may have invented the name."""
    if _NAME.fullmatch(name):
        return name
    return "_" + re.sub(r"[^A-Za-z0-9_-]", "_", name)[:63]
