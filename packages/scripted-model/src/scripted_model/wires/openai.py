"""Functions that both APIs of OpenAI share: errors, rules for functions and for caching. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping

from scripted_model.conversation import ModelRequest
from scripted_model.json_schema import schema_problem, strict_schema_problem
from scripted_model.json_values import Json, JsonObject, decode, is_object, object_at, text_at
from scripted_model.prepared_reply import PreparedReply
from scripted_model.signatures import IdGenerator
from scripted_model.wires.wire import ErrorResponse, Shape, Violation, retry_headers

_NAME = re.compile(r"[a-zA-Z0-9_-]+")
# Models whose cache has breakpoints, options and a price of what is written to it.
_BREAKPOINTS = re.compile(r"gpt-(?:5\.[6-9]|[6-9])")
_MAX_KEY = 64
_MESSAGES = {
    429: "Rate limit reached for requests. Please try again later.",
    500: "The server had an error while processing your request. Sorry about that!",
    503: "The server is currently overloaded with other requests. Sorry about that!",
}
_CODES = {429: "rate_limit_exceeded", 500: "server_error", 503: "server_is_overloaded"}


def invalid_request_error(violation: Violation, ids: IdGenerator) -> ErrorResponse:
    error = error_of(violation.status, violation.message, violation.param, violation.code)
    return error_response(violation.status, error, ids)


def wrong_key_error(ids: IdGenerator) -> ErrorResponse:
    message = "Incorrect API key provided. You can find your API key in your account settings."
    return error_response(401, error_of(401, message, code="invalid_api_key"), ids)


def unknown_model_error(model: str, ids: IdGenerator) -> ErrorResponse:
    message = f"The model `{model}` does not exist or you do not have access to it."
    return error_response(404, error_of(404, message, code="model_not_found"), ids)


def openai_status(status: int) -> int:
    """The status that these APIs send instead of 529, which only Anthropic has."""
    return 503 if status == 529 else status


def scripted_error(status: int, retry_after: float, ids: IdGenerator) -> ErrorResponse:
    status = openai_status(status)
    return error_response(status, scripted_failure(status), ids, retry_headers(status, retry_after))


def scripted_failure(status: int) -> JsonObject:
    """Returns the error object of a failure that the script asks for."""
    message = _MESSAGES.get(status, f"The script asked for status {status}.")
    return error_of(status, message, code=_CODES.get(status))


def new_call_id(request: ModelRequest, ids: IdGenerator) -> str:
    """Returns a tool call id in the form of the API."""
    del request  # ids have the same form for every model
    return f"call_{ids.letters(24)}"


def error_of(
    status: int, message: str, param: str | None = None, code: str | None = None
) -> JsonObject:
    """Returns the error object."""
    kind = {429: "requests", 500: "server_error", 503: "server_error"}.get(status)
    return {
        "message": message,
        "type": kind or "invalid_request_error",
        "param": param,
        "code": code,
    }


def error_response(
    status: int, error: JsonObject, ids: IdGenerator, headers: dict[str, str] | None = None
) -> ErrorResponse:
    """Returns the error as a response."""
    request = {"x-request-id": f"req_{ids.hexadecimal()}"}
    return ErrorResponse(status, {"error": error}, {**request, **(headers or {})})


def missing_field(path: str) -> Violation:
    """The violation for a required field that is absent."""
    return Violation(f"Missing required parameter: '{path}'.", path, "missing_required_parameter")


def wrong_type(path: str, expected: str = "a string") -> Violation:
    """The violation for a value of another type."""
    return Violation(f"Invalid type for '{path}': expected {expected}.", path, "invalid_type")


def wrong_value(value: str, supported: str, param: str) -> Violation:
    """The violation for a value that is not among the supported ones."""
    message = f"Invalid value: '{value}'. Supported values are: {supported}."
    return Violation(message, param, "invalid_value")


def empty_array(path: str) -> Violation:
    """The violation for an array without items."""
    return Violation(
        f"Invalid '{path}': empty array. Expected an array with minimum length 1, but got an "
        "empty array instead.",
        path,
        "empty_array",
    )


def quoted(names: Iterable[str]) -> str:
    """The names as error messages list them."""
    return ", ".join(f"'{name}'" for name in names)


def part_violations(
    part: Json,
    role: str,
    path: str,
    parts_of: Mapping[str, frozenset[str]],
    forms: dict[str, Shape],
) -> Iterator[Violation]:
    """Yields the broken rules for one part of the content of a message."""
    kind = text_at(part, "type") if is_object(part) else ""
    if not is_object(part) or kind not in parts_of[role]:
        yield wrong_value(kind, " and ".join(f"'{name}'" for name in sorted(parts_of[role])), path)
        return
    yield from shape_violations(part, forms[kind], path)


def shape_violations(tree: JsonObject, form: Shape, path: str) -> Iterator[Violation]:
    """Yields missing and unknown fields of the object at this path. The body has the path `''`."""
    prefix = f"{path}." if path else ""
    if (missing := form.missing(tree)) is not None:
        yield missing_field(f"{prefix}{missing}")
    if (unknown := form.unknown(tree)) is not None:
        name = f"{prefix}{unknown}"
        yield Violation(f"Unknown parameter: '{name}'.", name, "unknown_parameter")


def length_violations(value: Json, max_length: int, path: str) -> Iterator[Violation]:
    """Yields a violation if the value is not a string, or is too long."""
    if not isinstance(value, str):
        yield wrong_type(path)
    elif len(value) > max_length:
        yield Violation(
            f"Invalid '{path}': string too long. Expected a string with maximum length "
            f"{max_length}, but got a string with length {len(value)} instead.",
            path,
            "string_above_max_length",
        )


def cache_violations(
    body: JsonObject, options: Shape, lifetimes: tuple[str, ...]
) -> Iterator[Violation]:
    """Yields the broken rules for the settings of the prompt cache."""
    if body.get("prompt_cache_key") is not None:
        yield from length_violations(body["prompt_cache_key"], _MAX_KEY, "prompt_cache_key")
    if body.get("prompt_cache_options") is None:
        return
    name = "prompt_cache_options"
    given = object_at(body, name)
    if not _BREAKPOINTS.match(text_at(body, "model")):
        yield Violation(
            f"Unsupported parameter: '{name}' is not supported with this model.",
            name,
            "unsupported_parameter",
        )
    yield from shape_violations(given, options, name)
    for field, values in (("mode", ("implicit", "explicit")), ("ttl", lifetimes)):
        if field in given and given[field] not in values:
            yield Violation(
                f"Invalid value for '{name}.{field}'.", f"{name}.{field}", "invalid_value"
            )


def cache_writes(prepared: PreparedReply) -> int:
    """The tokens written to the cache, as far as the model reports them."""
    return prepared.usage.cache_write if _BREAKPOINTS.match(prepared.request.model) else 0


def function_violations(function: JsonObject, path: str) -> Iterator[Violation]:
    """Yields the broken rules for the name and the schema of a function."""
    name = text_at(function, "name")
    yield from length_violations(name, 64, f"{path}.name")
    if not _NAME.fullmatch(name):
        yield Violation(
            f"Invalid '{path}.name': string does not match pattern. Expected a string that matches "
            "the pattern '^[a-zA-Z0-9_-]+$'.",
            f"{path}.name",
            "invalid_value",
        )
    parameters = function.get("parameters")
    if parameters is None:
        return
    problem = _parameters_problem(parameters, strict=function.get("strict") is True)
    if problem is not None:
        yield Violation(
            f"Invalid schema for function '{name}': {problem}",
            f"{path}.parameters",
            "invalid_function_parameters",
        )


def _parameters_problem(parameters: Json, *, strict: bool) -> str | None:
    if not is_object(parameters) or parameters.get("type") != "object":
        kind = parameters.get("type") if is_object(parameters) else None
        return f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'."
    if (problem := schema_problem(parameters)) is not None:
        return f"{problem}."
    return strict_schema_problem(parameters) if strict else None


def text_input(args: str) -> str:
    """Returns the input of a tool that takes text: the argument `input`, or else all arguments.

    >>> text_input('{"input": "*** Begin Patch"}'), text_input('{"a": 1}')
    ('*** Begin Patch', '{"a": 1}')
    """
    tree = decode(args)
    given = tree.get("input") if is_object(tree) else None
    return given if isinstance(given, str) else args
