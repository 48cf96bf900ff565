"""Writes a call in the format of Gemini's `streamGenerateContent`. Pure."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from sapwood.core.content import File, Text, Thinking, ToolCall
from sapwood.core.view import Message, ToolResult
from sapwood.models.model_routes import ModelRoute
from sapwood.models.model_traits import GeminiTraits, gemini_traits, nearest_effort
from sapwood.models.wire.answer_schema import gemini_schema, schema_prompt
from sapwood.models.wire.http_client import HttpPost
from sapwood.models.wire.message_parts import (
    arguments_object,
    call_id,
    model_parts,
    result_text,
    tool_name,
    user_content,
)
from sapwood.models.wire.wire_call import WireCall, encode_body, encode_history, tool_schema

_UNSIGNED = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
"""The documented signature for a call that this provider did not sign."""
_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY", "named": "ANY"}
_BUDGETS = {"minimal": 128, "low": 2_048, "medium": 8_192}
_LARGEST_BUDGET = 24_576
_GENERATION = {
    "max_tokens": "maxOutputTokens",
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "seed": "seed",
    "stop_sequences": "stopSequences",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
    "google_thinking_config": "thinkingConfig",
    "google_video_resolution": "mediaResolution",
    "google_logprobs": "responseLogprobs",
    "google_top_logprobs": "logprobs",
}

_encode = msgspec.json.Encoder().encode


class _Blob(Struct, rename="camel"):
    mime_type: str
    data: str


class _FunctionCall(Struct):
    id: str
    name: str
    args: Raw


class _FunctionResponse(Struct):
    id: str
    name: str
    response: dict[str, str]


class _Part(Struct, rename="camel"):
    text: str | UnsetType = UNSET
    thought: bool | UnsetType = UNSET
    inline_data: _Blob | UnsetType = UNSET
    function_call: _FunctionCall | UnsetType = UNSET
    function_response: _FunctionResponse | UnsetType = UNSET
    thought_signature: str | UnsetType = UNSET


class _Content(Struct):
    role: str
    parts: list[_Part]


class _Declaration(Struct, rename="camel"):
    name: str
    description: str
    parameters_json_schema: dict[str, Any]


def post_of(call: WireCall) -> HttpPost:
    """The request of a call."""
    body = encode_body(_fields(call), "contents", _history(call))
    return _post(call, "streamGenerateContent?alt=sse", body)


def count_of(call: WireCall) -> HttpPost:
    """The question how many tokens a call has."""
    fields = {"model": f"models/{call.route.model}", **_fields(call)}
    body = encode_body(fields, "contents", _history(call))
    return _post(call, "countTokens", b'{"generateContentRequest":' + body + b"}")


def _post(call: WireCall, method: str, body: bytes) -> HttpPost:
    path = f"/v1/models/{quote(call.route.model, safe='')}:{method}"
    return HttpPost(call.route.url.rstrip("/") + path, {"x-goog-api-key": call.key}, body)


def _history(call: WireCall) -> list[bytes]:
    return encode_history(call, _encoded)


def _encoded(message: Message, route: ModelRoute, _: str) -> tuple[list[bytes], str]:
    return [_encode(content) for content in _contents(message, route)], ""


# Settings


def _fields(call: WireCall) -> dict[str, Any]:
    given = call.settings
    traits = gemini_traits(call.route.model)
    generation = {field: given[name] for name, field in _GENERATION.items() if name in given}
    if "thinkingConfig" not in generation and (config := _thinking(given.get("thinking"), traits)):
        generation["thinkingConfig"] = config
    texts = call.system
    if call.schema is not None and (traits.combines or not call.tools):
        generation["responseMimeType"] = "application/json"
        generation["responseJsonSchema"] = gemini_schema(call.schema)
    elif call.schema is not None:
        texts = [*texts, schema_prompt(call.schema)]
    fields: dict[str, Any] = {}
    if texts:
        fields["systemInstruction"] = {"parts": [_Part(text) for text in texts]}
    fields |= _tools(call)
    if "service_tier" in given:
        fields["serviceTier"] = given["service_tier"]
    if generation:
        fields["generationConfig"] = generation
    return fields | {
        _camel(name.removeprefix("google_")): value
        for name, value in given.items()
        if name.startswith("google_") and name not in _GENERATION
    }


def _camel(name: str) -> str:
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), name)


def _thinking(wanted: object, traits: GeminiTraits) -> dict[str, Any]:
    if wanted is None or (not traits.levels and traits.least_budget is None):
        return {}
    if wanted is True:
        return {"includeThoughts": True}
    effort = "none" if wanted is False else str(wanted)
    shown = {"includeThoughts": True} if wanted else {}
    if traits.levels:
        return {**shown, "thinkingLevel": nearest_effort(effort, traits.levels).upper()}
    budget = _BUDGETS.get(effort, _LARGEST_BUDGET) if wanted else traits.least_budget
    return {**shown, "thinkingBudget": budget}


def _tools(call: WireCall) -> dict[str, Any]:
    if not call.tools:
        return {}
    declared = [
        _Declaration(
            tool.name,
            tool.description,
            gemini_schema(msgspec.json.decode(tool_schema(tool), type=dict[str, Any])),
        )
        for tool in call.tools
    ]
    choice, name = call.tool_choice
    config: dict[str, Any] = {"mode": _MODES[choice]}
    if name:
        config["allowedFunctionNames"] = [name]
    return {
        "tools": [{"functionDeclarations": declared}],
        "toolConfig": {"functionCallingConfig": config},
    }


# Messages


def _contents(message: Message, route: ModelRoute) -> Iterator[_Content]:
    if message.role == "assistant":
        yield _Content("model", _model_parts(message, route))
        return
    results = [_result(part) for part in message.parts if isinstance(part, ToolResult)]
    if results:
        yield _Content("user", results)
    if content := user_content(message, "gemini"):
        yield _Content("user", [_user_part(each) for each in content])


def _result(result: ToolResult) -> _Part:
    field = "error" if result.error else "return_value"
    response = {field: result_text(result, "gemini")}
    return _Part(
        function_response=_FunctionResponse(call_id(result.call), tool_name(result.name), response)
    )


def _user_part(part: str | File) -> _Part:
    return (
        _Part(part)
        if isinstance(part, str)
        else _Part(inline_data=_Blob(part.media_type, part.data))
    )


def _model_parts(message: Message, route: ModelRoute) -> list[_Part]:
    """Google signs the part after a thought. The first call of a message must have a signature."""
    parts: list[_Part] = []
    signature = ""
    has_call = False
    for part in model_parts(message, route):
        match part:
            case Thinking():
                signature = part.signature
                if part.text:
                    parts.append(_Part(part.text, thought=True))
                continue
            case Text():
                parts.append(_Part(part.text))
            case ToolCall():
                args = arguments_object(part.args)
                made = _FunctionCall(call_id(part.id), tool_name(part.name), args)
                parts.append(_Part(function_call=made))
                signature = signature or ("" if has_call else _UNSIGNED)
                has_call = True
            case _:
                continue
        if signature:
            parts[-1].thought_signature, signature = signature, ""
    return parts
