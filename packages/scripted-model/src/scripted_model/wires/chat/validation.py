"""Rules of the Chat Completions API: fields, messages, tool results and tools. Pure."""

import re
from collections.abc import Callable, Iterator

from scripted_model.json_values import (
    Json,
    JsonObject,
    encode,
    is_object,
    items_at,
    object_at,
    objects_at,
    text_at,
)
from scripted_model.wires.chat import fields
from scripted_model.wires.openai import (
    cache_violations,
    empty_array,
    function_violations,
    length_violations,
    missing_field,
    part_violations,
    quoted,
    shape_violations,
    wrong_type,
    wrong_value,
)
from scripted_model.wires.wire import Post, Violation

_REASONING = re.compile(r"(?:o[1-9]|gpt-[5-9])")
_ID_LENGTH = 40


def top_level_violations(post: Post) -> Iterator[Violation]:
    """Yields the broken rules for top-level fields."""
    body = post.body
    for name in fields.TOP.required:
        if name not in body:
            yield missing_field(name)
    for name in body:
        if name not in fields.TOP.allowed | post.allowed:
            yield Violation(f"Unrecognized request argument supplied: {name}")
    messages = body.get("messages")
    if not isinstance(messages, list):
        yield wrong_type("messages", "an array of objects")
    elif not messages:
        yield empty_array("messages")
    if not isinstance(body.get("model"), str):
        yield wrong_type("model")
    yield from cache_violations(body, fields.CACHE_OPTIONS, ("30m",))
    yield from _stream_violations(post)
    yield from _limit_violations(post)
    yield from _format_violations(post)


def _stream_violations(post: Post) -> Iterator[Violation]:
    options = post.body.get("stream_options")
    if options is None:
        return
    if post.body.get("stream") is not True:
        yield Violation(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            "stream_options",
        )
    elif is_object(options):
        yield from shape_violations(options, fields.STREAM_OPTIONS, "stream_options")


def _limit_violations(post: Post) -> Iterator[Violation]:
    if post.body.get("max_tokens") is None:
        return
    if post.body.get("max_completion_tokens") is not None:
        yield Violation(
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
            "max_tokens",
        )
    if _REASONING.match(text_at(post.body, "model")):
        yield Violation(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            "max_tokens",
            "unsupported_parameter",
        )


def _format_violations(post: Post) -> Iterator[Violation]:
    kind = object_at(post.body, "response_format").get("type")
    if kind == "json_object" and b"json" not in encode(post.body.get("messages")).lower():
        yield Violation(
            "'messages' must contain the word 'json' in some form, to use 'response_format' of "
            "type 'json_object'.",
            "messages",
        )


def message_violations(post: Post) -> Iterator[Violation]:
    """Yields the broken rules for single messages."""
    for index, message in enumerate(items_at(post.body, "messages")):
        path = f"messages[{index}]"
        if not is_object(message):
            yield wrong_type(path, "an object")
            continue
        role = text_at(message, "role")
        form = fields.MESSAGES.get(role)
        if form is None:
            yield wrong_value(role, quoted(fields.MESSAGES), f"{path}.role")
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
            yield empty_array(f"{path}.content")
        for place, part in enumerate(content):
            yield from part_violations(
                part, role, f"{path}.content[{place}]", fields.PARTS_OF, fields.PARTS
            )


def _calls_violations(calls: Json, path: str) -> Iterator[Violation]:
    if not isinstance(calls, list) or not calls:
        yield empty_array(path)
        return
    for place, call in enumerate(calls):
        yield from _call_violations(call, f"{path}[{place}]")


def _call_violations(call: Json, path: str) -> Iterator[Violation]:
    kind = text_at(call, "type") if is_object(call) else ""
    if not is_object(call) or kind not in fields.CALLS:
        yield wrong_value(kind, "'function' and 'custom'", f"{path}.type")
        return
    yield from shape_violations(call, fields.CALLS[kind], path)
    yield from length_violations(call.get("id"), _ID_LENGTH, f"{path}.id")
    form = fields.FUNCTION_CALL if kind == "function" else fields.CUSTOM_CALL
    inner = object_at(call, kind)
    yield from shape_violations(inner, form, f"{path}.{kind}")
    argument = "arguments" if kind == "function" else "input"
    if not isinstance(inner.get(argument), str):
        yield wrong_type(f"{path}.{kind}.{argument}")


def tool_result_violations(post: Post) -> Iterator[Violation]:
    """Yields a violation unless each tool call is followed by exactly one result."""
    open_calls: list[str] = []
    answered: dict[str, int] = {}
    messages = objects_at(post.body, "messages")
    for index, message in enumerate(messages):
        if message.get("role") == "tool":
            call = text_at(message, "tool_call_id")
            yield from _stray_violations(call, index, open_calls, answered)
            answered[call] = index
            continue
        yield from _unanswered_violations(open_calls, answered, index)
        open_calls = [text_at(call, "id") for call in objects_at(message, "tool_calls")]
        answered = {}
    yield from _unanswered_violations(open_calls, answered, len(messages))


def _stray_violations(
    call: str, index: int, open_calls: list[str], answered: dict[str, int]
) -> Iterator[Violation]:
    if not open_calls:
        yield Violation(
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding "
            "message with 'tool_calls'.",
            f"messages.[{index}].role",
        )
    elif call in answered:
        yield Violation(
            f"Invalid parameter: Duplicate value for 'tool_call_id' of '{call}', in "
            f"messages[{answered[call]}] and messages[{index}].",
            f"messages.[{index}].tool_call_id",
        )
    elif call not in open_calls:
        yield Violation(
            f"Invalid parameter: 'tool_call_id' of '{call}' not found in 'tool_calls' of previous "
            "message.",
            f"messages.[{index}].tool_call_id",
        )


def _unanswered_violations(
    open_calls: list[str], answered: dict[str, int], index: int
) -> Iterator[Violation]:
    missing = [call for call in open_calls if call not in answered]
    if missing:
        yield Violation(
            "An assistant message with 'tool_calls' must be followed by tool messages responding "
            "to each 'tool_call_id'. The following tool_call_ids did not have response messages: "
            f"{', '.join(missing)}",
            f"messages.[{index}].role",
        )


def tool_violations(post: Post) -> Iterator[Violation]:
    """Yields the broken rules for tools."""
    tools = post.body.get("tools")
    if tools == []:
        yield empty_array("tools")
    names: set[str] = set()
    for index, tool in enumerate(items_at(post.body, "tools")):
        if is_object(tool):
            yield from _tool_violations(tool, f"tools[{index}]")
            names.add(text_at(object_at(tool, text_at(tool, "type")), "name"))
    if post.body.get("tool_choice") is not None and not tools and not post.body.get("functions"):
        yield Violation("'tool_choice' is only allowed when 'tools' are specified.", "tool_choice")
    yield from _choice_violations(object_at(post.body, "tool_choice"), names)


def _tool_violations(tool: JsonObject, path: str) -> Iterator[Violation]:
    kind = text_at(tool, "type")
    if kind not in fields.TOOLS:
        yield wrong_value(kind, "'function' and 'custom'", f"{path}.type")
        return
    yield from shape_violations(tool, fields.TOOLS[kind], path)
    inner = object_at(tool, kind)
    yield from shape_violations(
        inner, fields.FUNCTION if kind == "function" else fields.CUSTOM, f"{path}.{kind}"
    )
    yield from function_violations(inner, f"{path}.{kind}")


def _choice_violations(choice: JsonObject, names: set[str]) -> Iterator[Violation]:
    kind = text_at(choice, "type")
    if kind in fields.TOOLS and text_at(object_at(choice, kind), "name") not in names:
        name = text_at(object_at(choice, kind), "name")
        yield Violation(
            f"Invalid value: '{name}'. The tool named in 'tool_choice' is not among 'tools'.",
            "tool_choice",
            "invalid_value",
        )


_RULES: tuple[Callable[[Post], Iterator[Violation]], ...] = (
    top_level_violations,
    message_violations,
    tool_result_violations,
    tool_violations,
)


def first_violation(post: Post) -> Violation | None:
    """Returns the first rule that the request breaks. Later rules rely on the earlier ones."""
    return next((found for rule in _RULES for found in rule(post)), None)
