"""Contents and their parts, each for itself: roles, fields, data."""

from collections.abc import Iterator

from sapwood.testing.scripted.jsontree import (
    Json,
    JsonObject,
    is_object,
    items_at,
    object_at,
)
from sapwood.testing.scripted.wires.gemini.fields import CONTENT, DATA, PART, PARTS
from sapwood.testing.scripted.wires.gemini.naming import snake
from sapwood.testing.scripted.wires.gemini.rules.fields import field_violations
from sapwood.testing.scripted.wires.wire import Post, Violation

__all__ = ["part_violations"]

_STRUCT = "type.googleapis.com/google.protobuf.Struct"


def part_violations(post: Post) -> Iterator[Violation]:
    """What is wrong with a content taken alone."""
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
    yield from field_violations(content, CONTENT, path)
    parts = items_at(content, "parts")
    if not parts:
        yield Violation(
            f"* GenerateContentRequest.{snake(path)}.parts: contents.parts must not be empty."
        )
    for place, part in enumerate(parts):
        where = f"{path}.parts[{place}]"
        if is_object(part):
            yield from _part_violations(part, where, str(content.get("role", "user")))
        else:
            yield Violation(f"Invalid value at '{snake(where)}' (type.googleapis.com/Part)")


def _part_violations(part: JsonObject, path: str, role: str) -> Iterator[Violation]:
    yield from field_violations(part, PART, path)
    data = [name for name in part if name in DATA]
    # The end of a stream may be an empty text that only carries a signature.
    empty = part.get("text") == "" and "thoughtSignature" not in part
    if len(data) != 1 or empty:
        yield Violation(
            f"* GenerateContentRequest.{snake(path)}.data: required oneof field 'data' must have "
            "one initialized field"
        )
        return
    kind = data[0]
    if kind == "text":
        if not isinstance(part["text"], str):
            yield Violation(f"Invalid value at '{snake(path)}.text' (TYPE_STRING)")
        return
    inner = object_at(part, kind)
    yield from field_violations(inner, PARTS[kind], f"{path}.{kind}")
    if kind == "functionCall":
        yield from _struct_violations(inner.get("args", {}), f"{path}.{kind}.args")
    if kind == "functionResponse":
        yield from _struct_violations(inner["response"], f"{path}.{kind}.response")
    if kind in ("functionCall", "functionResponse"):
        owner = "model" if kind == "functionCall" else "user"
        if role != owner:
            yield Violation(
                f"Please ensure that {snake(kind).replace('_', ' ')} parts are in a turn of the "
                f"{owner} role."
            )


def _struct_violations(value: Json, path: str) -> Iterator[Violation]:
    if not is_object(value):
        yield Violation(f"Invalid value at '{snake(path)}' ({_STRUCT})", snake(path))
