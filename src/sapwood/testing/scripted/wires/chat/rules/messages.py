"""Messages, each for itself: roles, fields, content, the form of tool calls."""

from collections.abc import Iterator

from sapwood.testing.scripted.jsontree import (
    Json,
    JsonObject,
    is_object,
    items_at,
    object_at,
    text_at,
)
from sapwood.testing.scripted.wires.chat.fields import (
    CALLS,
    CUSTOM_CALL,
    FUNCTION_CALL,
    MESSAGES,
    PARTS,
    PARTS_OF,
)
from sapwood.testing.scripted.wires.openai import length_violations, shape_violations
from sapwood.testing.scripted.wires.wire import Post, Violation

__all__ = ["message_violations"]

_ID_LENGTH = 40


def message_violations(post: Post) -> Iterator[Violation]:
    """What is wrong with a message taken alone."""
    for index, message in enumerate(items_at(post.body, "messages")):
        path = f"messages[{index}]"
        if not is_object(message):
            yield Violation(f"Invalid type for '{path}': expected an object.", path, "invalid_type")
            continue
        role = text_at(message, "role")
        form = MESSAGES.get(role)
        if form is None:
            supported = ", ".join(f"'{name}'" for name in MESSAGES)
            yield Violation(
                f"Invalid value: '{role}'. Supported values are: {supported}.",
                f"{path}.role",
                "invalid_value",
            )
            continue
        yield from shape_violations(message, form, path)
        yield from _content_violations(message, role, path)
        if "tool_calls" in message:
            yield from _calls_violations(message["tool_calls"], f"{path}.tool_calls")
        if role == "tool":
            yield from length_violations(
                message.get("tool_call_id"), _ID_LENGTH, f"{path}.tool_call_id"
            )


def _content_violations(message: JsonObject, role: str, path: str) -> Iterator[Violation]:
    content = message.get("content")
    spoken = any(message.get(name) for name in ("tool_calls", "function_call", "refusal", "audio"))
    if content is None and role == "assistant" and spoken:
        return
    if not isinstance(content, (str, list)):
        got = "null" if content is None else type(content).__name__
        yield Violation(
            f"Invalid value for 'content': expected a string, got {got}.",
            f"messages.{path.removeprefix('messages')}.content",
        )
    if isinstance(content, list):
        if not content:
            yield Violation(
                f"Invalid '{path}.content': empty array. Expected an array with minimum length 1, "
                "but got an empty array instead.",
                f"{path}.content",
                "empty_array",
            )
        for place, part in enumerate(content):
            yield from _part_violations(part, role, f"{path}.content[{place}]")


def _part_violations(part: Json, role: str, path: str) -> Iterator[Violation]:
    kind = text_at(part, "type") if is_object(part) else ""
    if not is_object(part) or kind not in PARTS_OF[role]:
        supported = " and ".join(f"'{name}'" for name in sorted(PARTS_OF[role]))
        yield Violation(
            f"Invalid value: '{kind}'. Supported values are: {supported}.", path, "invalid_value"
        )
        return
    yield from shape_violations(part, PARTS[kind], path)


def _calls_violations(calls: Json, path: str) -> Iterator[Violation]:
    if not isinstance(calls, list) or not calls:
        yield Violation(
            f"Invalid '{path}': empty array. Expected an array with minimum length 1, but got an "
            "empty array instead.",
            path,
            "empty_array",
        )
        return
    for place, call in enumerate(calls):
        yield from _call_violations(call, f"{path}[{place}]")


def _call_violations(call: Json, path: str) -> Iterator[Violation]:
    kind = text_at(call, "type") if is_object(call) else ""
    if not is_object(call) or kind not in CALLS:
        yield Violation(
            f"Invalid value: '{kind}'. Supported values are: 'function' and 'custom'.",
            f"{path}.type",
            "invalid_value",
        )
        return
    yield from shape_violations(call, CALLS[kind], path)
    yield from length_violations(call.get("id"), _ID_LENGTH, f"{path}.id")
    form = FUNCTION_CALL if kind == "function" else CUSTOM_CALL
    inner = object_at(call, kind)
    yield from shape_violations(inner, form, f"{path}.{kind}")
    argument = "arguments" if kind == "function" else "input"
    if not isinstance(inner.get(argument), str):
        where = f"{path}.{kind}.{argument}"
        yield Violation(f"Invalid type for '{where}': expected a string.", where, "invalid_type")
