"""Writes a call in the format of OpenAI's Responses API. Pure."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from sapwood.core.content import File, Text, Thinking, ToolCall
from sapwood.core.view import Message, ToolResult
from sapwood.models.model_routes import ModelRoute
from sapwood.models.model_traits import OpenAITraits, nearest_effort, openai_traits
from sapwood.models.wire.answer_schema import strict_schema
from sapwood.models.wire.chat_request import openai_sampling, wanted_effort
from sapwood.models.wire.http_client import HttpPost
from sapwood.models.wire.message_parts import (
    arguments_object,
    call_id,
    model_parts,
    result_text,
    tool_name,
    user_content,
)
from sapwood.models.wire.signatures import ReasoningItem, decode_reasoning
from sapwood.models.wire.wire_call import WireCall, encode_body, encode_history, tool_schema

_NESTED = {
    "openai_reasoning_effort": ("reasoning", "effort"),
    "openai_reasoning_summary": ("reasoning", "summary"),
    "openai_reasoning_context": ("reasoning", "context"),
    "openai_text_verbosity": ("text", "verbosity"),
}

_COUNTED = frozenset("model instructions reasoning text tools tool_choice".split())
"""The fields that a question for the number of tokens may have."""

_encode = msgspec.json.Encoder().encode


class _InputText(Struct, tag_field="type", tag="input_text"):
    text: str


class _InputImage(Struct, tag_field="type", tag="input_image"):
    image_url: str
    detail: str = "auto"


class _InputFile(Struct, tag_field="type", tag="input_file"):
    filename: str
    file_data: str


class _Said(Struct):
    """A message of the user, or one of the model that came without an id."""

    role: str
    content: str | list[_InputText | _InputImage | _InputFile]
    phase: str | UnsetType = UNSET


class _OutputText(Struct, tag_field="type", tag="output_text"):
    text: str
    annotations: tuple[()] = ()


class _OutputMessage(Struct, tag_field="type", tag="message"):
    id: str
    content: list[_OutputText]
    role: str = "assistant"
    status: str = "completed"
    phase: str | UnsetType = UNSET


class _Summary(Struct, tag_field="type", tag="summary_text"):
    text: str


class _Reasoning(Struct, tag_field="type", tag="reasoning"):
    id: str
    summary: list[_Summary]
    encrypted_content: str


class _FunctionCall(Struct, tag_field="type", tag="function_call"):
    call_id: str
    name: str
    arguments: str
    id: str | UnsetType = UNSET


class _Output(Struct, tag_field="type", tag="function_call_output"):
    call_id: str
    output: str


class _Tool(Struct, tag_field="type", tag="function"):
    name: str
    description: str
    parameters: Raw
    strict: bool = False


def post_of(call: WireCall) -> HttpPost:
    """The request of a call."""
    traits = openai_traits(call.route.model)
    fields: dict[str, Any] = {"model": call.route.model, "stream": True}
    fields |= _settings(call, traits)
    after: dict[str, Any] = {}
    if traits.diagnoses and call.hints.previous.startswith("resp_"):
        compared = {"comparison_response_id": call.hints.previous}
        after["prompt_cache_options"] = fields.pop("prompt_cache_options", {}) | compared
    return _post(call, "", encode_body(fields, "input", _history(call), after))


def count_of(call: WireCall) -> HttpPost:
    """The question how many tokens a call has."""
    fields = {"model": call.route.model, **_settings(call, openai_traits(call.route.model))}
    counted = {name: value for name, value in fields.items() if name in _COUNTED}
    return _post(call, "/input_tokens", encode_body(counted, "input", _history(call)))


def _post(call: WireCall, path: str, body: bytes) -> HttpPost:
    url = f"{call.route.url.rstrip('/')}/responses{path}"
    return HttpPost(url, {"authorization": f"Bearer {call.key}"}, body)


def _history(call: WireCall) -> list[bytes]:
    return encode_history(call, _encoded)


def _encoded(message: Message, route: ModelRoute, _: str) -> tuple[list[bytes], str]:
    return [_encode(item) for item in _items(message, route)], ""


# Settings


def _settings(call: WireCall, traits: OpenAITraits) -> dict[str, Any]:
    given = call.settings
    fields = openai_sampling(call, traits, ("temperature", "top_p"))
    if call.system:
        fields["instructions"] = "\n\n".join(call.system)
    if given.get("max_tokens"):
        fields["max_output_tokens"] = given["max_tokens"]
    if "service_tier" in given:
        fields["service_tier"] = given["service_tier"]
    if traits.efforts:
        fields["include"] = ["reasoning.encrypted_content"]
    if traits.spans_turns:
        fields["reasoning"] = {"context": "all_turns"}
    if traits.efforts and given.get("thinking") is not None:
        effort = nearest_effort(wanted_effort(given["thinking"]), traits.efforts)
        fields["reasoning"] = {**fields.get("reasoning", {}), "effort": effort}
    if call.schema is not None:
        schema, strict = strict_schema(call.schema)
        form = {"type": "json_schema", "name": "answer", "schema": schema, "strict": strict}
        fields["text"] = {"format": form}
    fields |= _tools(call)
    if call.hints.cache_key:
        fields["prompt_cache_key"] = call.hints.cache_key
    for name, value in given.items():
        if name in _NESTED:
            field, inner = _NESTED[name]
            fields[field] = {**fields.get(field, {}), inner: value}
        elif name.startswith("openai_"):
            fields[name.removeprefix("openai_")] = value
    return fields


def _tools(call: WireCall) -> dict[str, Any]:
    if not call.tools:
        return {}
    choice, name = call.tool_choice
    fields: dict[str, Any] = {
        "tools": [_Tool(tool.name, tool.description, tool_schema(tool)) for tool in call.tools],
        "tool_choice": {"type": "function", "name": name} if name else choice,
    }
    if "parallel_tool_calls" in call.settings:
        fields["parallel_tool_calls"] = call.settings["parallel_tool_calls"]
    return fields


# Messages


def _items(message: Message, route: ModelRoute) -> Iterator[Struct]:
    if message.role == "user":
        return _user_items(message)
    return _ModelItems().of(message, route)


def _user_items(message: Message) -> Iterator[Struct]:
    for part in message.parts:
        if isinstance(part, ToolResult):
            yield _Output(call_id(part.call), result_text(part, "responses"))
    content = user_content(message, "responses")
    match content:
        case []:
            return
        case [str(text)]:
            yield _Said("user", text)
        case _:
            yield _Said("user", [_part(each) for each in content])


def _part(part: str | File) -> _InputText | _InputImage | _InputFile:
    if isinstance(part, str):
        return _InputText(part)
    url = f"data:{part.media_type};base64,{part.data}"
    if part.media_type.startswith("image/"):
        return _InputImage(url)
    return _InputFile(part.name or "file.pdf", url)


class _ModelItems:
    """Converts one message of the model, with the ids that OpenAI wants back."""

    def __init__(self) -> None:
        self._texts: list[tuple[str, str]] = []
        self._calls: dict[str, str] = {}
        self._sent: dict[str, _Reasoning] = {}

    def of(self, message: Message, route: ModelRoute) -> Iterator[Struct]:
        items: list[Struct] = []
        for part in model_parts(message, route):
            match part:
                case Thinking():
                    items += self._reasoning(part)
                case Text():
                    items.append(self._text(part.text))
                case ToolCall():
                    items.append(self._call(part))
                case _:
                    pass
        return iter(items)

    def _reasoning(self, part: Thinking) -> list[_Reasoning]:
        """A new reasoning item, or none if the part belongs to one that is there."""
        item = decode_reasoning(part.signature)
        if item is None or not (item.data or item.id in self._sent):
            return []
        self._texts = list(item.texts)
        self._calls |= item.calls
        return self._summarized(item, [_Summary(part.text)] if part.text else [])

    def _summarized(self, item: ReasoningItem, summary: list[_Summary]) -> list[_Reasoning]:
        if item.id in self._sent:
            self._sent[item.id].summary += summary
            return []
        self._sent[item.id] = _Reasoning(item.id, summary, item.data)
        return [self._sent[item.id]]

    def _text(self, text: str) -> _OutputMessage | _Said:
        id, phase = self._texts.pop(0) if self._texts else ("", "")
        if not id:
            return _Said("assistant", text, phase or UNSET)
        return _OutputMessage(id, [_OutputText(text)], phase=phase or UNSET)

    def _call(self, part: ToolCall) -> _FunctionCall:
        args = bytes(arguments_object(part.args)).decode()
        id = self._calls.get(part.id) or UNSET
        return _FunctionCall(call_id(part.id), tool_name(part.name), args, id)
