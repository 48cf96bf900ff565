"""What an OpenAI client sends for a response: parameters, prompts, earlier turns, results."""

from collections.abc import Mapping, Sequence
from typing import TypeVar, get_args

import msgspec
from msgspec import Struct

from sapwood.core.content import (
    File,
    Note,
    PromptPart,
    RecordedReply,
    RecordedResult,
    ReplyPart,
    Text,
    ToolCall,
)
from sapwood.core.turn_params import CallerTool, Effort, TurnParams
from sapwood_server.problems import Problem

_Fields = dict[str, object]
_T = TypeVar("_T")
_PROMPT_ROLES = ("user", "system", "developer")


_HINTS = frozenset(
    "include service_tier prompt_cache_key prompt_cache_retention safety_identifier "
    "stream_options".split()
)
"""Fields of the API that change no answer here, so they are accepted."""
_NOT_POSSIBLE = frozenset(("prompt", "max_tool_calls", "top_logprobs", "context_management"))
"""Fields of the API that would change the answer, and cannot."""


class ResponseRequest(Struct, frozen=True):
    """The body of `POST /v1/responses`. An unknown field is refused, as OpenAI does."""

    input: str | list[_Fields] = ""
    model: str | None = None
    conversation: str | _Fields | None = None
    previous_response_id: str | None = None
    instructions: str | None = None
    temperature: float | None = None
    max_output_tokens: int | None = None
    tools: list[_Fields] | None = None
    tool_choice: str | _Fields | None = None
    reasoning: _Fields | None = None
    text: _Fields | None = None
    metadata: dict[str, str] | None = None
    stream: bool | None = None
    background: bool | None = None
    store: bool | None = None
    user: str | None = None
    truncation: str | None = None
    top_p: float | None = None
    parallel_tool_calls: bool | None = None
    id: str | None = None

    @classmethod
    def read(cls, body: Mapping[str, object]) -> "ResponseRequest":
        """The request that a body is. Raises `Problem`, also for a field without effect."""
        for name in body.keys() - {*cls.__struct_fields__} - _HINTS:
            if name not in _NOT_POSSIBLE:
                raise bad_request(name, f"Unknown parameter: '{name}'.", "unknown_parameter")
            if body[name]:
                detail = f"Unsupported parameter: '{name}'. Leave it out."
                raise bad_request(name, detail, "unsupported_parameter")
        return as_type(body, cls, "body")

    def require_possible(self) -> None:
        """Raises `Problem` for a field that would have no effect, so that none is ignored."""
        if self.truncation not in (None, "auto"):
            raise bad_request(
                "truncation",
                "Long conversations are trimmed to the window of the model. Send auto, or leave "
                "'truncation' out.",
            )
        if self.top_p not in (None, 1):
            raise bad_request("top_p", "'top_p' cannot be changed. Use 'temperature' instead.")
        if self.store is not False:
            return
        if self.background:
            raise bad_request("store", "A response in the background must be stored.")
        if self.conversation_id or self.previous_response_id:
            raise bad_request(
                "store",
                "A response in a stored conversation is stored. Leave 'store' out, or send the "
                "whole input without a conversation.",
            )

    @property
    def conversation_id(self) -> str:
        """The conversation that is named; empty if none is."""
        if isinstance(self.conversation, dict):
            return _string(self.conversation, "id", "conversation")
        return self.conversation or ""

    def params(self) -> TurnParams:
        """The parameters of the turn. Raises `Problem`."""
        effort = (self.reasoning or {}).get("effort")
        return TurnParams(
            temperature=self.temperature,
            effort=None if effort is None else _effort(effort),
            max_tokens=self.max_output_tokens,
            tool_choice=self._tool_choice(),
            output_schema=self._output_schema(),
            caller_tools=tuple(map(_tool, self.tools)) if self.tools else None,
            parallel_tool_calls=self.parallel_tool_calls,
        )

    def _tool_choice(self) -> str | None:
        match self.tool_choice:
            case None | "auto":
                return None
            case {"type": "function", "name": str(name)}:
                return name
            case "none" | "required":
                return self.tool_choice
            case _:
                raise bad_request(
                    "tool_choice", "'tool_choice' must be auto, none, required or a function."
                )

    def _output_schema(self) -> str | None:
        wanted = as_type((self.text or {}).get("format") or {}, _Fields, "text.format")
        match wanted.get("type", "text"):
            case "text":
                return None
            case "json_schema":
                schema = as_type(wanted.get("schema"), _Fields, "text.format.schema")
                return msgspec.json.encode(schema).decode()
            case _:
                raise bad_request("text.format", "'text.format' must be text or json_schema.")


class InputTurn(Struct):
    """A turn that the client sent: its prompt, then replies and results."""

    prompt: list[PromptPart]
    items: list[RecordedReply | RecordedResult]

    @property
    def calls(self) -> set[str]:
        """The ids of the calls in its replies."""
        replies = (each for each in self.items if isinstance(each, RecordedReply))
        return {part.id for reply in replies for part in reply.parts if isinstance(part, ToolCall)}

    @property
    def open_calls(self) -> set[str]:
        """The ids of the calls without a result."""
        return self.calls - {each.call for each in self.items if isinstance(each, RecordedResult)}

    @property
    def is_answered(self) -> bool:
        """Whether it ends with a reply without calls."""
        last = self.items[-1] if self.items else None
        return isinstance(last, RecordedReply) and not any(
            isinstance(part, ToolCall) for part in last.parts
        )


class ResponseInput(Struct):
    """The input of a request in its order: results of open calls, earlier turns, the last turn.

    `system` are instructions among the messages.
    """

    results: list[RecordedResult]
    turns: list[InputTurn]
    system: list[str]


def bad_request(param: str, detail: str, code: str = "invalid_value") -> Problem:
    """A request that cannot be carried out as it is. `param` is the field that is wrong."""
    return Problem(400, "Bad request", detail, fields={"param": param, "code": code})


def as_type(value: object, kind: type[_T], name: str) -> _T:
    """The value as this type. Raises `Problem`."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise bad_request(name, f"'{name}' is not valid: {error}.") from None


def _effort(value: object) -> Effort:
    for known in get_args(Effort):
        if value == known:
            return known
    raise bad_request("reasoning.effort", f"'{value}' is not a valid effort.")


def read_input(given: str | Sequence[Mapping[str, object]]) -> ResponseInput:
    """Reads the input of a request. Raises `Problem` for what is not supported."""
    if isinstance(given, str):
        turns = [InputTurn([Text(given)], [])] if given else []
        return ResponseInput([], turns, [])
    found = ResponseInput([], [], [])
    for number, item in enumerate(given):
        _add(found, dict(item), f"input[{number}]")
    return found


def _add(found: ResponseInput, item: _Fields, place: str) -> None:
    last = found.turns[-1] if found.turns else None
    match item.get("type", "message"):
        case "message":
            _add_message(found, item, place)
        case "function_call":
            call = ToolCall(
                _string(item, "call_id", place),
                _string(item, "name", place),
                _string(item, "arguments", place),
            )
            _add_reply(_answered(last, place), (call,))
        case "function_call_output":
            result = _result(item, place)
            if last is not None and result.call in last.calls:
                last.items.append(result)
            elif last is None:
                found.results.append(result)
            else:
                raise bad_request(
                    place, f"No function call has the call_id '{result.call}'. Send results first."
                )
        case "reasoning":
            pass  # the log has the reasoning of its own replies
        case kind:
            raise bad_request(place, f"Items of type '{kind}' are not supported.")


def _add_message(found: ResponseInput, item: _Fields, place: str) -> None:
    role = item.get("role")
    last = found.turns[-1] if found.turns else None
    parts = _content(item.get("content", ""), f"{place}.content")
    if role == "assistant":
        said = tuple(part for part in parts if isinstance(part, Text | File))
        _add_reply(_answered(last, place), said)
        return
    if role not in _PROMPT_ROLES:
        raise bad_request(f"{place}.role", "'role' must be user, assistant, system or developer.")
    if role != "user":
        texts = [part.text for part in parts if isinstance(part, Text)]
        if last is None:
            found.system += texts
            return
        parts = [Note("program", text) for text in texts]
    if last is None or last.items:
        last = InputTurn([], [])
        found.turns.append(last)
    last.prompt += parts


def _answered(turn: InputTurn | None, place: str) -> InputTurn:
    if turn is None:
        raise bad_request(place, "A reply must follow a user message.")
    return turn


def _add_reply(turn: InputTurn, parts: tuple[ReplyPart, ...]) -> None:
    """Adds parts to the last reply, or a new reply after a result."""
    last = turn.items[-1] if turn.items else None
    if isinstance(last, RecordedReply):
        turn.items[-1] = RecordedReply((*last.parts, *parts))
    else:
        turn.items.append(RecordedReply(parts))


def _result(item: _Fields, place: str) -> RecordedResult:
    parts = _content(item.get("output", ""), f"{place}.output")
    return RecordedResult(
        _string(item, "call_id", place),
        "\n".join(part.text for part in parts if isinstance(part, Text)),
        files=tuple(part for part in parts if isinstance(part, File)),
    )


def _content(given: object, place: str) -> list[PromptPart]:
    if isinstance(given, str):
        return [Text(given)]
    parts = as_type(given, list[_Fields], place)
    return [_part(part, f"{place}[{number}]") for number, part in enumerate(parts)]


def _part(part: _Fields, place: str) -> PromptPart:
    match part.get("type"):
        case "input_text" | "output_text" | "text":
            return Text(_string(part, "text", place))
        case "refusal":
            return Text(_string(part, "refusal", place))
        case "input_image":
            return _file(part.get("image_url"), "", f"{place}.image_url")
        case "input_file":
            name = part.get("filename")
            return _file(
                part.get("file_data"), name if isinstance(name, str) else "", f"{place}.file_data"
            )
        case kind:
            raise bad_request(place, f"Parts of type '{kind}' are not supported.")


def _file(address: object, name: str, place: str) -> File:
    """A file from its data URL. No other address is fetched."""
    if not isinstance(address, str) or not address.startswith("data:"):
        raise bad_request(
            place, "Send images and files as data URLs (data:image/png;base64,…).", "invalid_url"
        )
    file = File.from_data_url(address, name)
    if file is None:
        raise bad_request(
            place, "The data URL is not base64, or it is too large.", "invalid_base64_image"
        )
    return file


def _tool(fields: _Fields) -> CallerTool:
    if fields.get("type") != "function":
        raise bad_request(
            "tools",
            f"Tools of type '{fields.get('type')}' are not supported. Use function tools.",
            "unsupported_value",
        )
    schema = fields.get("parameters")
    about = fields.get("description")
    return CallerTool(
        _string(fields, "name", "tools"),
        about if isinstance(about, str) else "",
        msgspec.json.encode(schema if schema is not None else {"type": "object"}).decode(),
    )


def _string(fields: Mapping[str, object], name: str, place: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise bad_request(f"{place}.{name}", f"'{place}.{name}' must be a string.")
    return value
