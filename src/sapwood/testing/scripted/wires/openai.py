"""What both of OpenAI's formats share: the form of errors, and the rules for functions. Pure."""

import re
from collections.abc import Iterator

from sapwood.testing.scripted.jsontree import Json, JsonObject, is_object, text_at
from sapwood.testing.scripted.signing import Mint
from sapwood.testing.scripted.wires.retrying import retry_headers
from sapwood.testing.scripted.wires.schemas import schema_problem, strict_schema_problem
from sapwood.testing.scripted.wires.shape import Shape
from sapwood.testing.scripted.wires.wire import Refusal, Violation

__all__ = [
    "error_of",
    "failed",
    "failure_code",
    "failure_words",
    "function_violations",
    "invalid",
    "length_violations",
    "refusal",
    "shape_violations",
    "unauthorized",
    "unknown_model",
]

_NAME = re.compile(r"[a-zA-Z0-9_-]+")
_WORDS = {
    429: "Rate limit reached for requests. Please try again later.",
    500: "The server had an error while processing your request. Sorry about that!",
    503: "The server is currently overloaded with other requests. Sorry about that!",
}


def invalid(violation: Violation, mint: Mint) -> Refusal:
    error = error_of(violation.status, violation.message, violation.param, violation.code)
    return refusal(violation.status, error, mint)


def unauthorized(mint: Mint) -> Refusal:
    message = "Incorrect API key provided. You can find your API key in your account settings."
    return refusal(401, error_of(401, message, code="invalid_api_key"), mint)


def unknown_model(model: str, mint: Mint) -> Refusal:
    message = f"The model `{model}` does not exist or you do not have access to it."
    return refusal(404, error_of(404, message, code="model_not_found"), mint)


def failed(status: int, retry_after: float, mint: Mint) -> Refusal:
    status = 503 if status == 529 else status  # what Anthropic says with 529
    error = error_of(status, failure_words(status), code=failure_code(status))
    return refusal(status, error, mint, retry_headers(status, retry_after))


def failure_words(status: int) -> str:
    return _WORDS.get(status, f"The script asked for status {status}.")


def failure_code(status: int) -> str | None:
    return {429: "rate_limit_exceeded", 500: "server_error", 503: "server_is_overloaded"}.get(
        status
    )


def error_of(
    status: int, message: str, param: str | None = None, code: str | None = None
) -> JsonObject:
    """The error object."""
    kind = {429: "requests", 500: "server_error", 503: "server_error"}.get(status)
    return {
        "message": message,
        "type": kind or "invalid_request_error",
        "param": param,
        "code": code,
    }


def refusal(
    status: int, error: JsonObject, mint: Mint, headers: dict[str, str] | None = None
) -> Refusal:
    """The error as a response."""
    request = {"x-request-id": f"req_{mint.hexadecimal()}"}
    return Refusal(status, {"error": error}, {**request, **(headers or {})})


def shape_violations(tree: JsonObject, form: Shape, path: str) -> Iterator[Violation]:
    """Fields that are missing or unknown in an object at a path, `''` being the whole."""
    prefix = f"{path}." if path else ""
    if (missing := form.missing(tree)) is not None:
        name = f"{prefix}{missing}"
        yield Violation(
            f"Missing required parameter: '{name}'.", name, "missing_required_parameter"
        )
    if (unknown := form.unknown(tree)) is not None:
        name = f"{prefix}{unknown}"
        yield Violation(f"Unknown parameter: '{name}'.", name, "unknown_parameter")


def length_violations(value: Json, most: int, path: str) -> Iterator[Violation]:
    """A text must be one, and not too long."""
    if not isinstance(value, str):
        yield Violation(f"Invalid type for '{path}': expected a string.", path, "invalid_type")
    elif len(value) > most:
        yield Violation(
            f"Invalid '{path}': string too long. Expected a string with maximum length {most}, but "
            f"got a string with length {len(value)} instead.",
            path,
            "string_above_max_length",
        )


def function_violations(function: JsonObject, path: str) -> Iterator[Violation]:
    """The name and the schema of a function."""
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
