"""Rules of the Gemini API for contents: parts, order, function calls, signatures. Pure."""

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from itertools import zip_longest

from scripted_model.json_values import (
    Json,
    JsonObject,
    is_object,
    items_at,
    object_at,
    objects_at,
    text_at,
)
from scripted_model.signatures import signed_text
from scripted_model.wires.gemini import fields
from scripted_model.wires.gemini.fields import field_violations, signs_calls, snake_case
from scripted_model.wires.wire import Post, Violation

_STRUCT = "type.googleapis.com/google.protobuf.Struct"
_CALL = "Please ensure that function call turn comes immediately after"
_RESPONSE = "Please ensure that function response turn comes immediately after"
_NUMBER = "Please ensure that the number of function response parts is equal to the number of"
# Placeholders that Google accepts for calls of other models.
_PLACEHOLDERS = frozenset(
    {"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"}
)


def content_violations(post: Post) -> Iterator[Violation]:
    """Yields the broken rules for single contents."""
    instruction = object_at(post.body, "systemInstruction")
    if instruction:
        yield from _content_violations(instruction, "systemInstruction")
    for index, content in enumerate(items_at(post.body, "contents")):
        if not is_object(content):
            yield Violation(f"Invalid value at 'contents[{index}]' (type.googleapis.com/Content)")
            continue
        if content.get("role", "user") not in ("user", "model"):
            yield Violation("Please use a valid role: user, model.")
        yield from _content_violations(content, f"contents[{index}]")


def _content_violations(content: JsonObject, path: str) -> Iterator[Violation]:
    yield from field_violations(content, fields.CONTENT, path)
    parts = items_at(content, "parts")
    if not parts:
        yield Violation(
            f"* GenerateContentRequest.{snake_case(path)}.parts: contents.parts must not be empty."
        )
    for place, part in enumerate(parts):
        where = f"{path}.parts[{place}]"
        if is_object(part):
            yield from _part_violations(part, where, str(content.get("role", "user")))
        else:
            yield Violation(f"Invalid value at '{snake_case(where)}' (type.googleapis.com/Part)")


def _part_violations(part: JsonObject, path: str, role: str) -> Iterator[Violation]:
    yield from field_violations(part, fields.PART, path)
    data = [name for name in part if name in fields.DATA]
    # At the end of a stream, an empty text may have only a signature.
    empty = part.get("text") == "" and "thoughtSignature" not in part
    if len(data) != 1 or empty:
        yield Violation(
            f"* GenerateContentRequest.{snake_case(path)}.data: required oneof field 'data' must "
            "have one initialized field"
        )
        return
    kind = data[0]
    if kind == "text":
        if not isinstance(part["text"], str):
            yield Violation(f"Invalid value at '{snake_case(path)}.text' (TYPE_STRING)")
        return
    inner = object_at(part, kind)
    yield from field_violations(inner, fields.PARTS[kind], f"{path}.{kind}")
    if kind == "functionCall":
        yield from _struct_violations(inner.get("args", {}), f"{path}.{kind}.args")
    if kind == "functionResponse":
        yield from _struct_violations(inner["response"], f"{path}.{kind}.response")
    if kind in ("functionCall", "functionResponse"):
        owner = "model" if kind == "functionCall" else "user"
        if role != owner:
            yield Violation(
                f"Please ensure that {snake_case(kind).replace('_', ' ')} parts are in a turn of "
                f"the {owner} role."
            )


def _struct_violations(value: Json, path: str) -> Iterator[Violation]:
    if not is_object(value):
        yield Violation(f"Invalid value at '{snake_case(path)}' ({_STRUCT})", snake_case(path))


def order_violations(post: Post) -> Iterator[Violation]:
    """Yields the broken rules for the order of contents, and for function responses."""
    contents = objects_at(post.body, "contents")
    if not contents:
        return
    for before, content in zip([None, *contents], contents, strict=False):
        calls = _named(content, "functionCall")
        if calls and (before is None or _role(before) != "user"):
            yield Violation(f"{_CALL} a user turn or after a function response turn.")
        yield from _response_violations(content, before)
    yield from _open_violations(contents)
    if _role(contents[0]) != "user":
        yield Violation("Please ensure that multiturn requests alternate between user and model.")
    if _role(contents[-1]) != "user" and post.action == "reply":
        yield Violation(
            "Please ensure that multiturn requests end with a user role or a function response."
        )


def _response_violations(content: JsonObject, before: JsonObject | None) -> Iterator[Violation]:
    responses = _named(content, "functionResponse")
    if not responses:
        return
    calls = _named(before, "functionCall") if before else []
    if not calls:
        yield Violation(f"{_RESPONSE} a function call turn.")
    elif sorted(_names(calls)) != sorted(_names(responses)):
        yield Violation(f"{_NUMBER} function call parts of the function call turn.")
    known = {text_at(call, "id") for call in calls if "id" in call}
    for response in responses:
        if known and "id" in response and text_at(response, "id") not in known:
            yield Violation(
                f"Function response id '{text_at(response, 'id')}' matches no function call of "
                "the function call turn."
            )


def _open_violations(contents: list[JsonObject]) -> Iterator[Violation]:
    """Yields a violation for function calls without a response."""
    for content, after in zip_longest(contents, contents[1:]):
        if _named(content, "functionCall") and not (after and _named(after, "functionResponse")):
            yield Violation(f"{_NUMBER} function call parts of the function call turn.")


def _role(content: JsonObject) -> str:
    return text_at(content, "role") or "user"


def _named(content: JsonObject, kind: str) -> list[JsonObject]:
    return [object_at(part, kind) for part in objects_at(content, "parts") if kind in part]


def _names(calls: list[JsonObject]) -> list[str]:
    return [text_at(call, "name") for call in calls]


def signature_violations(post: Post) -> Iterator[Violation]:
    """Yields the broken rules for thought signatures."""
    contents = objects_at(post.body, "contents")
    for content in contents:
        for part in objects_at(content, "parts"):
            signature = text_at(part, "thoughtSignature")
            if signature and not _is_valid(signature):
                yield Violation("Corrupted thought signature.")
    if signs_calls(post.model):
        yield from _missing_violations(contents)


def _is_valid(signature: str) -> bool:
    return (
        signature in _PLACEHOLDERS
        or signed_text("google", signature) is not None
        or any(_is_encoded(signature, placeholder) for placeholder in _PLACEHOLDERS)
    )


def _is_encoded(signature: str, placeholder: str) -> bool:
    """Whether the signature is this placeholder in base64, as some libraries send it."""
    data = placeholder.encode()
    return signature in (b64encode(data).decode(), urlsafe_b64encode(data).decode())


def _missing_violations(contents: list[JsonObject]) -> Iterator[Violation]:
    """The first call of each step after the last text of the user must have a signature."""
    for index in range(len(contents) - 1, -1, -1):
        parts = objects_at(contents[index], "parts")
        if text_at(contents[index], "role") != "model":
            if any("functionResponse" not in part for part in parts):
                return
            continue
        call = next((part for part in parts if "functionCall" in part), None)
        if call is not None and not text_at(call, "thoughtSignature"):
            name = text_at(object_at(call, "functionCall"), "name")
            yield Violation(
                "Function call is missing a thought_signature in functionCall parts. This is "
                "required for tools to work correctly, and missing thought_signature may lead to "
                f"degraded model performance. Additional data, function call `default_api:{name}` "
                f", position {index + 1}."
            )
