"""Writes a call in the format of Anthropic's Messages API. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from sapwood.core.content import File, Text, Thinking, ToolCall
from sapwood.core.model_calls import Failure
from sapwood.core.view import Message, ToolResult
from sapwood.core.view.request import SignedSummary
from sapwood.models.model_routes import ModelRoute
from sapwood.models.model_traits import ClaudeTraits, claude_traits, nearest_effort
from sapwood.models.wire.answer_schema import anthropic_schema, schema_prompt
from sapwood.models.wire.http_client import HttpPost
from sapwood.models.wire.message_parts import (
    arguments_object,
    call_id,
    model_parts,
    result_text,
    tool_name,
    user_content,
)
from sapwood.models.wire.signatures import REDACTED
from sapwood.models.wire.wire_call import WireCall, encode_body, encode_history, tool_schema

_VERSION = "2026-10-21"
"""This version has no fields for sampling: with any of them, every model refuses the request."""
_BINDING_BETA = "thinking-binding-controls-2026-08-01"
_COMPACTION_BETA = "compact-2026-09-04"
_MAX_INSTRUCTIONS = 16_384
_BUDGETS = {"minimal": 1_024, "low": 2_048, "medium": 10_000, "high": 16_384}
_LARGEST_BUDGET = 32_768
_ROOM = 4_096
"""Tokens for the answer besides those for thinking."""
_COUNTED = frozenset("model system thinking tool_choice tools output_config".split())
"""The fields that a question for the number of tokens may have."""
_OWN = frozenset({"anthropic_cache", "anthropic_cache_instructions", "anthropic_betas"})

_encode = msgspec.json.Encoder().encode


class _CacheMark(Struct):
    ttl: str = "5m"
    type: str = "ephemeral"


class _Text(Struct, tag_field="type", tag="text"):
    text: str
    cache_control: _CacheMark | UnsetType = UNSET


class _Source(Struct, tag_field="type", tag="base64"):
    media_type: str
    data: str


class _Image(Struct, tag_field="type", tag="image"):
    source: _Source


class _Document(Struct, tag_field="type", tag="document"):
    source: _Source


class _Thinking(Struct, tag_field="type", tag="thinking"):
    thinking: str
    signature: str


class _Redacted(Struct, tag_field="type", tag="redacted_thinking"):
    data: str


class _ToolUse(Struct, tag_field="type", tag="tool_use"):
    id: str
    name: str
    input: Raw


class _Result(Struct, tag_field="type", tag="tool_result"):
    tool_use_id: str
    content: list[_Text]
    is_error: bool


class _Compaction(Struct, tag_field="type", tag="compaction"):
    content: str
    signature: str


_Block = _Compaction | _Text | _Image | _Document | _Thinking | _Redacted | _ToolUse | _Result


class _Message(Struct):
    role: str
    content: list[_Block]


class _Tool(Struct):
    name: str
    description: str
    input_schema: Raw


def post_of(call: WireCall) -> HttpPost:
    """The request of a call. Raises `Failure` if the model cannot do what it asks for."""
    fields = {"model": call.route.model, "stream": True, **_settings(call, _traits(call))}
    after: dict[str, Any] = {}
    if call.hints.summarise:
        instructions = call.hints.summarise[:_MAX_INSTRUCTIONS]
        fields["compaction"] = {"type": "summarize", "instructions": instructions}
    elif call.hints.cache_key:
        after["diagnostics"] = {"previous_message_id": _previous(call)}
    body = encode_body(fields, "messages", _history(call), after)
    return HttpPost(_url(call), _headers(call, fields), body)


def count_of(call: WireCall) -> HttpPost:
    """The question how many tokens a call has."""
    fields = {"model": call.route.model, **_settings(call, _traits(call))}
    counted = {name: value for name, value in fields.items() if name in _COUNTED}
    body = encode_body(counted, "messages", _history(call))
    return HttpPost(f"{_url(call)}/count_tokens", _headers(call, counted), body)


def _traits(call: WireCall) -> ClaudeTraits:
    return claude_traits(call.route.model)


def _url(call: WireCall) -> str:
    return f"{call.route.url.rstrip('/')}/v1/messages"


def _headers(call: WireCall, fields: Mapping[str, Any]) -> dict[str, str]:
    betas = list(call.settings.get("anthropic_betas", ()))
    if "block_binding" in fields.get("thinking", {}):
        betas.append(_BINDING_BETA)
    first = next(iter(call.request.messages), None)
    if "compaction" in fields or (first and _signed_summary(first, call.route)):
        betas.append(_COMPACTION_BETA)
    headers = {"anthropic-version": _VERSION, "authorization": f"Bearer {call.key}"}
    return {**headers, "anthropic-beta": ",".join(betas)} if betas else headers


def _previous(call: WireCall) -> str | None:
    """The id of the reply before, if it was one of this API."""
    return call.hints.previous if call.hints.previous.startswith("msg_") else None


def _history(call: WireCall) -> list[bytes]:
    return encode_history(call, _encoded)


def _encoded(message: Message, route: ModelRoute, _: str) -> tuple[list[bytes], str]:
    return [_encode(_message(message, route))], ""


def _signed_summary(message: Message, route: ModelRoute) -> SignedSummary | None:
    """The summary at the beginning of a message, if it goes back as a block of this provider."""
    part = message.parts[0] if message.parts else None
    if not isinstance(part, SignedSummary) or part.provider != route.provider:
        return None
    return part if claude_traits(route.model).compacts else None


# Settings


def _settings(call: WireCall, traits: ClaudeTraits) -> dict[str, Any]:
    given = call.settings
    limit: int = given.get("max_tokens") or traits.max_tokens
    fields: dict[str, Any] = {"max_tokens": limit}
    lifetime = call.hints.lifetime
    if mark := _mark(given.get("anthropic_cache"), lifetime):
        fields["cache_control"] = mark
    fields |= _thinking(given.get("thinking"), traits)
    fields |= {
        name.removeprefix("anthropic_"): value
        for name, value in given.items()
        if name.startswith("anthropic_") and name not in _OWN
    }
    _fit_budget(fields, has_limit="max_tokens" in given)
    if (effort := fields.pop("effort", None)) is not None:
        fields["output_config"] = {"effort": effort}
    if given.get("stop_sequences"):
        fields["stop_sequences"] = given["stop_sequences"]
    fields |= _tools(call, fields.get("thinking", {}), traits)
    texts = call.system
    if call.schema is not None and traits.schemas:
        form = {"type": "json_schema", "schema": anthropic_schema(call.schema)}
        fields["output_config"] = {**fields.get("output_config", {}), "format": form}
    elif call.schema is not None:
        texts = [*texts, schema_prompt(call.schema)]
    if texts:
        mark = _mark(given.get("anthropic_cache_instructions"), lifetime)
        fields["system"] = _system(texts, mark)
    return fields


def _mark(setting: object, lifetime: str) -> _CacheMark | None:
    if not setting:
        return None
    return _CacheMark(setting if isinstance(setting, str) else lifetime)


def _system(texts: list[str], mark: _CacheMark | None) -> list[_Text]:
    """The system prompt. A mark on its last block also covers the tools before it."""
    blocks = [_Text(text) for text in texts]
    if mark is not None:
        blocks[-1].cache_control = mark
    return blocks


def _thinking(wanted: object, traits: ClaudeTraits) -> dict[str, Any]:
    if wanted is None:
        return {}
    if wanted is False:
        match traits.off:
            case "default":
                return {}
            case "least":
                return {"thinking": {"type": "adaptive"}, "effort": traits.efforts[0]}
            case kind:
                return {"thinking": {"type": kind}}
    fields: dict[str, Any] = {"thinking": {"type": "adaptive"}}
    if not traits.adaptive:
        budget = _BUDGETS.get("medium" if wanted is True else str(wanted), _LARGEST_BUDGET)
        fields = {"thinking": {"type": "enabled", "budget_tokens": budget}}
    if traits.efforts and wanted is not True:
        fields["effort"] = nearest_effort(str(wanted), traits.efforts)
    return fields


def _fit_budget(fields: dict[str, Any], *, has_limit: bool) -> None:
    """Makes the limit of the answer larger than the budget, or the budget smaller than it."""
    thinking: Mapping[str, Any] = fields.get("thinking", {})
    budget = thinking.get("budget_tokens")
    if budget is None:
        return
    if not has_limit:
        fields["max_tokens"] = max(fields["max_tokens"], budget + _ROOM)
    elif budget >= fields["max_tokens"]:
        smaller = fields["max_tokens"] - 1
        del fields["thinking"]
        if smaller >= _BUDGETS["minimal"]:
            fields["thinking"] = {**thinking, "budget_tokens": smaller}


def _tools(call: WireCall, thinking: Mapping[str, Any], traits: ClaudeTraits) -> dict[str, Any]:
    if not call.tools:
        return {}
    tools = [_Tool(tool.name, tool.description, tool_schema(tool)) for tool in call.tools]
    choice = _tool_choice(*call.tool_choice)
    forced = choice["type"] in ("any", "tool")
    if forced and (not traits.forces or thinking.get("type") == "enabled"):
        how = "" if not traits.forces else " while it thinks"
        raise Failure(
            "refused",
            f"{call.route.model} cannot be forced to call a tool{how}. Leave tool_choice at auto. "
            "Nothing was sent.",
        )
    if call.settings.get("parallel_tool_calls") is False and choice["type"] != "none":
        choice["disable_parallel_tool_use"] = True
    return {"tools": tools, "tool_choice": choice}


def _tool_choice(choice: str, name: str) -> dict[str, Any]:
    if name:
        return {"type": "tool", "name": name}
    return {"type": "any" if choice == "required" else choice}


# Messages


def _message(message: Message, route: ModelRoute) -> _Message:
    if message.role == "user":
        return _Message("user", list(_user_blocks(message, route)))
    return _Message("assistant", list(_model_blocks(message, route)))


def _user_blocks(message: Message, route: ModelRoute) -> Iterator[_Block]:
    """Results come first: the API does not find them after other content."""
    if (signed := _signed_summary(message, route)) is not None:
        yield _Compaction(signed.words, signed.signature)
        message = Message("user", message.parts[1:])
        if not message.parts:
            return
    for part in message.parts:
        if isinstance(part, ToolResult):
            text = _Text(result_text(part, "messages"))
            yield _Result(call_id(part.call), [text], part.error)
    for part in user_content(message, "messages"):
        yield _Text(part) if isinstance(part, str) else _file(part)


def _file(file: File) -> _Image | _Document:
    source = _Source(file.media_type, file.data)
    return _Image(source) if file.media_type.startswith("image/") else _Document(source)


def _model_blocks(message: Message, route: ModelRoute) -> Iterator[_Block]:
    for part in model_parts(message, route):
        match part:
            case Thinking() if part.signature.startswith(REDACTED):
                yield _Redacted(part.signature.removeprefix(REDACTED))
            case Thinking():
                yield _Thinking(part.text, part.signature)
            case Text():
                yield _Text(part.text)
            case ToolCall():
                yield _ToolUse(call_id(part.id), tool_name(part.name), arguments_object(part.args))
            case _:
                pass
