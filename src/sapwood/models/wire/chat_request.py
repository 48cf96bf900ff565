"""Writes a call in OpenAI's chat format, which many other servers speak too. Pure."""

from collections.abc import Iterator, Sequence
from itertools import count, repeat
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from sapwood.core.content import File, Text, Thinking, ToolCall
from sapwood.core.view import Message, ToolResult
from sapwood.models.model_routes import ModelRoute
from sapwood.models.model_traits import OpenAITraits, nearest_effort, openai_traits
from sapwood.models.wire.answer_schema import strict_schema
from sapwood.models.wire.chat_thinking import ChatThinking, decode_chat_thinking
from sapwood.models.wire.http_client import HttpPost
from sapwood.models.wire.message_parts import (
    arguments_object,
    call_id,
    is_own_thinking,
    model_parts,
    result_text,
    tool_name,
    user_content,
)
from sapwood.models.wire.wire_call import WireCall, encode_body, encode_history, tool_schema

_SAMPLING = ("temperature", "top_p", "presence_penalty", "frequency_penalty", "logit_bias")
_PLAIN = ("seed", "parallel_tool_calls", "service_tier")

_encode = msgspec.json.Encoder().encode


class _TextPart(Struct, tag_field="type", tag="text"):
    text: str


class _Url(Struct):
    url: str


class _ImagePart(Struct, tag_field="type", tag="image_url"):
    image_url: _Url


class _Audio(Struct):
    data: str
    format: str


class _AudioPart(Struct, tag_field="type", tag="input_audio"):
    input_audio: _Audio


class _Function(Struct):
    name: str
    arguments: str


class _Call(Struct, tag_field="type", tag="function"):
    id: str
    function: _Function
    extra_content: Raw | UnsetType = UNSET


class _Message(Struct):
    role: str
    content: str | list[_TextPart | _ImagePart | _AudioPart] | None
    tool_call_id: str | UnsetType = UNSET
    tool_calls: list[_Call] | UnsetType = UNSET
    reasoning: str | UnsetType = UNSET
    reasoning_content: str | UnsetType = UNSET
    reasoning_details: list[Raw] | UnsetType = UNSET


class _ToolFunction(Struct):
    name: str
    description: str
    parameters: Raw


class _Tool(Struct, tag_field="type", tag="function"):
    function: _ToolFunction


def post_of(call: WireCall) -> HttpPost:
    """The request of a call."""
    fields = {
        "model": call.route.model,
        "stream": True,
        "stream_options": {"include_usage": True},
        **_settings(call),
    }
    system = call.system
    if system and not call.route.catalogue:  # many servers accept one system message
        system = ["\n\n".join(system)]
    history = [
        *(_encode(_Message("system", text)) for text in system),
        *encode_history(call, _encoded),
    ]
    url = f"{call.route.url.rstrip('/')}/chat/completions"
    headers = {"authorization": f"Bearer {call.key}"}
    return HttpPost(url, headers, encode_body(fields, "messages", history))


# Settings


def _settings(call: WireCall) -> dict[str, Any]:
    given = call.settings
    is_openai = bool(call.route.catalogue)
    traits = openai_traits(call.route.model) if is_openai else OpenAITraits()
    fields = openai_sampling(call, traits, _SAMPLING)
    fields |= {name: given[name] for name in _PLAIN if name in given and _applies(name, call)}
    if given.get("max_tokens"):
        fields["max_completion_tokens" if is_openai else "max_tokens"] = given["max_tokens"]
    if given.get("stop_sequences"):
        fields["stop"] = given["stop_sequences"]
    if (effort := _effort(given.get("thinking"), traits)) is not None:
        fields["reasoning_effort"] = effort
    if call.schema is not None:
        schema, strict = strict_schema(call.schema)
        form = {"name": "answer", "schema": schema, "strict": strict and is_openai}
        fields["response_format"] = {"type": "json_schema", "json_schema": form}
    if is_openai and call.hints.cache_key:
        fields["prompt_cache_key"] = call.hints.cache_key
    if call.tools:
        fields["tools"] = [
            _Tool(_ToolFunction(tool.name, tool.description, tool_schema(tool)))
            for tool in call.tools
        ]
        choice, name = call.tool_choice
        forced = {"type": "function", "function": {"name": name}}
        fields["tool_choice"] = forced if name else choice
    return fields | {
        name.removeprefix("openai_"): value
        for name, value in given.items()
        if name.startswith("openai_") and name != "openai_reasoning_summary"
    }


def _applies(name: str, call: WireCall) -> bool:
    return name != "parallel_tool_calls" or bool(call.tools)


def openai_sampling(call: WireCall, traits: OpenAITraits, names: Sequence[str]) -> dict[str, Any]:
    """The settings for sampling, as far as the model takes them. None does while it reasons."""
    reasons = bool(traits.efforts) and bool(call.settings.get("thinking"))
    if not traits.samples or reasons:
        return {}
    return {name: call.settings[name] for name in names if name in call.settings}


def _effort(wanted: object, traits: OpenAITraits) -> str | None:
    if wanted is None or not traits.efforts:
        return None
    efforts = tuple(effort for effort in traits.efforts if effort != "max")  # not in this format
    return nearest_effort(wanted_effort(wanted), efforts)


def wanted_effort(wanted: object) -> str:
    """The effort that the parameter `thinking` asks for."""
    if isinstance(wanted, bool):
        return "medium" if wanted else "none"
    return str(wanted)


# Messages


def _encoded(message: Message, route: ModelRoute, field: str) -> tuple[list[bytes], str]:
    """The messages for a message, and the field in which the server thought so far."""
    if message.role == "user":
        return [_encode(each) for each in _user_messages(message)], field
    own = [p for p in message.parts if isinstance(p, Thinking) and is_own_thinking(p, route)]
    fields = (kept.field for part in own if (kept := decode_chat_thinking(part.signature)))
    field = field or next(filter(None, fields), "")
    return [_encode(_model_message(message, route, field))], field


def _user_messages(message: Message) -> Iterator[_Message]:
    for part in message.parts:
        if isinstance(part, ToolResult):
            text = result_text(part, "chat")
            yield _Message("tool", text, tool_call_id=call_id(part.call))
    content = _joined(user_content(message, "chat"))
    match content:
        case []:
            return
        case [str(text)]:
            yield _Message("user", text)
        case _:
            yield _Message("user", [_part(each) for each in content])


def _joined(content: list[str | File]) -> list[str | File]:
    """The content with texts that follow each other joined: many servers accept one text."""
    joined: list[str | File] = []
    for part in content:
        last = joined[-1] if joined else None
        if isinstance(part, str) and isinstance(last, str):
            joined[-1] = f"{last}\n\n{part}"
        else:
            joined.append(part)
    return joined


def _part(part: str | File) -> _TextPart | _ImagePart | _AudioPart:
    if isinstance(part, str):
        return _TextPart(part)
    if part.media_type.startswith("audio/"):
        return _AudioPart(_Audio(part.data, "wav" if part.media_type == "audio/wav" else "mp3"))
    return _ImagePart(_Url(f"data:{part.media_type};base64,{part.data}"))


def _model_message(message: Message, route: ModelRoute, field: str) -> _Message:
    """A message of the model. A server that thought wants the field in every later message."""
    parts = model_parts(message, route)
    calls: list[_Call] = []
    details: list[Raw] = []
    extras: Iterator[Raw | UnsetType] = repeat(UNSET)
    for part in parts:
        if isinstance(part, Thinking):
            kept = decode_chat_thinking(part.signature) or ChatThinking()
            details += kept.details
            extras = map(kept.calls.get, count(), repeat(UNSET))
        elif isinstance(part, ToolCall):
            function = _Function(tool_name(part.name), _arguments(part.args))
            calls.append(_Call(call_id(part.id), function, next(extras)))
    texts = [part.text for part in parts if isinstance(part, Text)]
    sent = _Message("assistant", "\n\n".join(texts) or None, tool_calls=calls or UNSET)
    if details:
        sent.reasoning_details = details
    if field:
        thoughts = [part.text for part in parts if isinstance(part, Thinking)]
        setattr(sent, field, "\n\n".join(thoughts))
    return sent


def _arguments(args: str) -> str:
    return bytes(arguments_object(args)).decode()
