"""Neutral messages as pydantic-ai's, for one provider.

What another provider thought is left out, and so is thinking that nobody signed or that nothing
follows: a provider would take it for words, or refuse it. Nothing else is left out or made up.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from pydantic_ai.messages import (
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

from sapwood.core.calling import ToolSpec
from sapwood.core.content import Text, Thinking, ToolCall
from sapwood.core.view import Block, Message, ToolResult
from sapwood.models.names import Route
from sapwood.models.wire.seals import WITHHELD, Reasoning, opened

__all__ = ["asked", "instructions", "offered", "system_of", "thinking_field"]

SILENT = "[no words]"
"""Stands for a message that is left without any."""

_EMPTY = "[empty]"
_ERROR = "[error]\n"
_INVALID = "INVALID_JSON"
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_IN_A_FIELD = frozenset({"reasoning", "reasoning_content"})


def system_of(route: Route) -> str:
    """The name under which pydantic-ai knows the provider."""
    return route.account


def instructions(blocks: Iterable[Block]) -> list[InstructionPart]:
    """The system prompt and the pins, in order."""
    return [InstructionPart(content=block.text) for block in blocks if block.text.strip()]


def offered(tools: Iterable[ToolSpec]) -> list[ToolDefinition]:
    """The tools, with their schemas as they are: strict modes would rewrite them."""
    return [
        ToolDefinition(
            name=tool.name,
            description=tool.description,
            parameters_json_schema=msgspec.json.decode(tool.schema or "{}"),
            strict=False,
        )
        for tool in tools
    ]


def thinking_field(messages: Iterable[Message], route: Route) -> str:
    """The field in which a chat server gets its thinking back, if it ever sent any."""
    if route.wire != "chat":
        return ""
    return next((part.signature for each in messages for part in _own_thinking(each, route)), "")


def asked(messages: Sequence[Message], route: Route, start: int = 0) -> list[ModelMessage]:
    """The messages from `start` on."""
    begun = any(_own_thinking(each, route) for each in messages[:start])
    field = thinking_field(messages, route)
    mapped: list[ModelMessage] = []
    for message in messages[start:]:
        if message.role == "user":
            mapped.append(ModelRequest(parts=_said_to(message, route)))
            continue
        begun = begun or bool(_own_thinking(message, route))
        parts = list(_said_by(message, route))
        if field and begun and not any(isinstance(part, ThinkingPart) for part in parts):
            # A server that wants its thinking back wants the field in every call from then on.
            parts.insert(0, ThinkingPart("", id=field, provider_name=system_of(route)))
        mapped.append(ModelResponse(parts=parts))
    return mapped


# What the user's side says


def _said_to(message: Message, route: Route) -> list[ModelRequestPart]:
    results: list[ModelRequestPart] = [
        _returned(part, route) for part in message.parts if isinstance(part, ToolResult)
    ]
    texts = [part.text for part in message.parts if isinstance(part, Text) and part.text.strip()]
    if not texts and not results:
        texts = [SILENT]
    if len(texts) > 1 and route.wire == "chat":
        texts = ["\n\n".join(texts)]  # many servers take a text, not a list of texts
    if texts:
        results.append(UserPromptPart(texts[0] if len(texts) == 1 else texts))
    return results


def _returned(result: ToolResult, route: Route) -> ToolReturnPart:
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


# What the model said


def _said_by(message: Message, route: Route) -> Iterator[ModelResponsePart]:
    parts = list(message.parts)
    while route.wire != "chat" and parts and isinstance(parts[-1], Thinking):
        parts.pop()
    own = _Own(route)
    silent = True
    for part in parts:
        match part:
            case Thinking():
                yield from own.thought(part)
            case Text() if part.text.strip():
                silent = False
                yield own.text(part)
            case ToolCall():
                silent = False
                yield own.call(part)
            case _:
                pass
    if silent:
        yield TextPart(SILENT)


class _Own:
    """One message of the model, with what its provider wants back beside the words."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self._system = system_of(route)
        self._texts: list[tuple[str, str]] = []
        self._calls: dict[str, str] = {}
        self._held: set[str] = set()

    def thought(self, part: Thinking) -> Iterator[ThinkingPart]:
        if not _is_own(part, self._route):
            return
        match self._route.wire:
            case "messages" if part.signature.startswith(WITHHELD):
                data = part.signature.removeprefix(WITHHELD)
                yield self._thinking("", signature=data, id="redacted_thinking")
            case "messages" | "gemini":
                yield self._thinking(part.text, signature=part.signature)
            case "chat":
                yield self._thinking(part.text, id=part.signature)
            case "responses":
                item = opened(part.signature)
                if item is not None and (item.data or item.id in self._held):
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
            args=_object(part.args),
            tool_call_id=_id(part.id),
            id=name,
            provider_name=self._system if name else None,
        )

    def _reasoning(self, text: str, item: Reasoning) -> ThinkingPart:
        self._held.add(item.id)
        self._texts = list(item.texts)
        self._calls |= item.calls
        return self._thinking(text, signature=item.data or None, id=item.id)

    def _thinking(
        self, text: str, signature: str | None = None, id: str | None = None
    ) -> ThinkingPart:
        return ThinkingPart(text, id=id, signature=signature, provider_name=self._system)


def _own_thinking(message: Message, route: Route) -> list[Thinking]:
    return [part for part in message.parts if isinstance(part, Thinking) and _is_own(part, route)]


def _is_own(part: Thinking, route: Route) -> bool:
    if part.provider != route.provider or not part.signature:
        return False
    return route.wire != "chat" or part.signature in _IN_A_FIELD


def _object(args: str) -> dict[str, object]:
    """Arguments as the object that every provider takes, also when the model wrote none."""
    if not args.strip():
        return {}
    try:
        return msgspec.json.decode(args, type=dict[str, object])
    except msgspec.DecodeError:
        return {_INVALID: args}


def _id(id: str) -> str:
    """A call's id as every provider takes it; the same one always gives the same."""
    if _ID.fullmatch(id):
        return id
    return "call_" + hashlib.blake2b(id.encode(), digest_size=12).hexdigest()


def _name(name: str) -> str:
    """A tool's name as every provider takes it: a model may call what was never offered."""
    if _NAME.fullmatch(name):
        return name
    return "_" + re.sub(r"[^A-Za-z0-9_-]", "_", name)[:63]
