"""Rules of the Messages API for single messages: roles, fields, types, empty text, ids. Pure."""

import re
from collections.abc import Iterator

from scripted_model.json_values import Json, JsonObject, is_object, items_at, object_at, text_at
from scripted_model.wires.anthropic import fields
from scripted_model.wires.wire import Post, Shape, Violation

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_ROLE_OF = {
    "tool_use": "assistant",
    "thinking": "assistant",
    "redacted_thinking": "assistant",
    "server_tool_use": "assistant",
    "tool_result": "user",
}
_EMPTY = "text content blocks must be non-empty"
_BLANK = "text content blocks must contain non-whitespace text"


def message_violations(post: Post) -> Iterator[Violation]:
    """Yields the broken rules for single messages."""
    known = {**fields.BLOCKS, **fields.BETA_BLOCKS} if fields.has_beta(post) else fields.BLOCKS
    for index, block in enumerate(items_at(post.body, "system")):
        if is_object(block):
            yield from fields.shape_violations(block, fields.BLOCKS["text"], f"system.{index}")
    messages = items_at(post.body, "messages")
    for index, message in enumerate(messages):
        if not is_object(message):
            yield Violation(f"messages.{index}: Input should be a valid dictionary")
            continue
        yield from _message_violations(message, index, beta=fields.has_beta(post))
        content = message.get("content")
        last = index == len(messages) - 1
        yield from _content_violations(message, content, index, last=last)
        if isinstance(content, list):
            for place, block in enumerate(content):
                path = f"messages.{index}.content.{place}"
                yield from _block_violations(block, text_at(message, "role"), path, known)


def _message_violations(message: JsonObject, index: int, *, beta: bool) -> Iterator[Violation]:
    role = message.get("role")
    form = fields.MESSAGES.get(role) if isinstance(role, str) else None
    if form is None:
        named = f'"{role}"' if isinstance(role, str) else "missing"
        yield Violation(
            f"messages.{index}.role: Input should be 'user', 'assistant' or 'system', not {named}"
        )
        return
    yield from fields.shape_violations(message, form, f"messages.{index}")
    for name in ("clear_at", "output_config"):
        if name in message and not beta:
            yield Violation(f"messages.{index}.{name}: Extra inputs are not permitted")


def _content_violations(
    message: JsonObject, content: Json, index: int, *, last: bool
) -> Iterator[Violation]:
    """A message must have content. Only the last message of the assistant may be empty."""
    role = message.get("role")
    if not content and role == "system" and message.get("output_config"):
        return  # settings for the turn, without text
    if not isinstance(content, (str, list)):
        yield Violation(f"messages.{index}.content: Input should be a valid list")
    elif not content and not (last and role == "assistant"):
        who = "user messages" if role == "user" else "all messages"
        tail = "" if role == "user" else " except for the optional final assistant message"
        yield Violation(f"messages.{index}: {who} must have non-empty content{tail}")
    elif isinstance(content, str) and content and not content.strip():
        yield Violation(f"messages: {_BLANK}")


def _block_violations(
    block: Json, role: str, path: str, known: dict[str, Shape]
) -> Iterator[Violation]:
    if not is_object(block):
        yield Violation(f"{path}: Input should be a valid dictionary")
        return
    kind = text_at(block, "type")
    form = known.get(kind)
    if form is None:
        tags = ", ".join(f"'{tag}'" for tag in sorted(known))
        yield Violation(
            f"{path}: Input tag '{kind}' found using 'type' does not match any of the expected "
            f"tags: {tags}"
        )
        return
    if role == "system" and kind not in fields.SYSTEM_BLOCKS:
        yield Violation(f"{path}: `{kind}` blocks are not allowed in `system` messages")
    wanted = _ROLE_OF.get(kind, role)
    if wanted != role:
        yield Violation(f"{path}: `{kind}` blocks can only be in `{wanted}` messages")
    yield from fields.shape_violations(block, form, f"{path}.{kind}")
    yield from _value_violations(block, kind, path)


def _value_violations(block: JsonObject, kind: str, path: str) -> Iterator[Violation]:
    match kind:
        case "text":
            yield from _text_violations(block, path)
        case "tool_use":
            yield from _id_violations(block, "id", f"{path}.tool_use")
            if not is_object(block.get("input")):
                yield Violation(f"{path}.tool_use.input: Input should be a valid dictionary")
        case "tool_result":
            yield from _id_violations(block, "tool_use_id", f"{path}.tool_result")
            yield from _result_violations(block, f"{path}.tool_result")
        case "image" | "document":
            source = object_at(block, "source")
            form = fields.SOURCES.get(text_at(source, "type"))
            if form is None:
                yield Violation(f"{path}.{kind}.source: Input should be a valid source")
            else:
                yield from fields.shape_violations(source, form, f"{path}.{kind}.source")
        case _:
            pass


def _text_violations(block: JsonObject, path: str) -> Iterator[Violation]:
    text = block.get("text")
    if not isinstance(text, str):
        yield Violation(f"{path}.text.text: Input should be a valid string")
    elif not text:
        if block.get("cache_control"):
            yield Violation(f"{path}.text: cache_control cannot be set for empty text blocks")
        yield Violation(f"messages: {_EMPTY}")
    elif not text.strip():
        yield Violation(f"messages: {_BLANK}")


def _result_violations(block: JsonObject, path: str) -> Iterator[Violation]:
    content = block.get("content")
    if content is not None and not isinstance(content, (str, list)):
        yield Violation(f"{path}.content: Input should be a valid list")
    if block.get("is_error") is True and not content:
        yield Violation(f"{path}: content cannot be empty if `is_error` is true")
    for place, inner in enumerate(content if isinstance(content, list) else []):
        kind = text_at(inner, "type") if is_object(inner) else ""
        if not is_object(inner) or kind not in fields.RESULT_BLOCKS:
            yield Violation(f"{path}.content.{place}: Input tag '{kind}' is not expected here")
        else:
            form = {**fields.BLOCKS, **fields.BETA_BLOCKS}[kind]
            yield from fields.shape_violations(inner, form, f"{path}.content.{place}.{kind}")
            if kind == "text":
                yield from _text_violations(inner, f"{path}.content.{place}")


def _id_violations(block: JsonObject, name: str, path: str) -> Iterator[Violation]:
    if not _ID.fullmatch(text_at(block, name)):
        yield Violation(f"{path}.{name}: String should match pattern '^[a-zA-Z0-9_-]+$'")
