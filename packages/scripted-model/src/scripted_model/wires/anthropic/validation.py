"""Rules of the Messages API for top-level fields, tools and cache breakpoints. Pure."""

import re
from collections.abc import Callable, Iterator

from scripted_model.json_schema import schema_problem
from scripted_model.json_values import (
    Json,
    JsonObject,
    is_integer,
    is_object,
    items_at,
    object_at,
    objects,
    objects_at,
    text_at,
)
from scripted_model.wires.anthropic import fields
from scripted_model.wires.anthropic.compaction_validation import (
    binding_violations,
    compaction_violations,
)
from scripted_model.wires.anthropic.history_validation import (
    order_violations,
    thinking_violations,
    tool_result_violations,
)
from scripted_model.wires.anthropic.message_validation import message_violations
from scripted_model.wires.wire import Post, Violation

_TYPES: dict[str, tuple[type, str]] = {
    "model": (str, "string"),
    "messages": (list, "list"),
    "tools": (list, "list"),
    "stop_sequences": (list, "list"),
    "stream": (bool, "boolean"),
    "metadata": (dict, "dictionary"),
    "thinking": (dict, "dictionary"),
    "tool_choice": (dict, "dictionary"),
}
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_MAX_BREAKPOINTS = 4


def top_level_violations(post: Post) -> Iterator[Violation]:
    """Yields the broken rules for top-level fields."""
    if not post.headers.get("anthropic-version"):
        yield Violation("anthropic-version: header is required")
    yield from _field_violations(post)
    for name, (kind, said) in _TYPES.items():
        value = post.body.get(name)
        if value is not None and not isinstance(value, kind):
            yield Violation(f"{name}: Input should be a valid {said}")
    for name, form in fields.NESTED.items():
        if (unknown := form.unknown(object_at(post.body, name))) is not None:
            yield Violation(f"{name}.{unknown}: Extra inputs are not permitted")
    if post.action == "reply":
        yield from _limit_violations(post.body.get("max_tokens"))
    if not post.body.get("messages"):
        yield Violation("messages: at least one message is required")
    yield from _system_violations(post.body.get("system"))
    yield from _temperature_violations(post)
    yield from _diagnostics_violations(post.body.get("diagnostics"))


def _diagnostics_violations(diagnostics: Json) -> Iterator[Violation]:
    if diagnostics is None:
        return
    if not is_object(diagnostics):
        yield Violation("diagnostics: Input should be a valid dictionary")
    elif (unknown := fields.DIAGNOSTICS.unknown(diagnostics)) is not None:
        yield Violation(f"diagnostics.{unknown}: Extra inputs are not permitted")
    elif not isinstance(diagnostics.get("previous_message_id"), str | None):
        yield Violation("diagnostics.previous_message_id: Input should be a valid string")


def _field_violations(post: Post) -> Iterator[Violation]:
    form = fields.TOP if post.action == "reply" else fields.TOP_COUNT
    beta = fields.TOP_BETA if fields.has_beta(post) else frozenset[str]()
    samples = post.action == "reply" and fields.has_sampling(post)
    sampling = fields.TOP_SAMPLING if samples else frozenset[str]()
    allowed = form.allowed | post.allowed | beta | sampling
    for name in form.required:
        if name not in post.body:
            yield Violation(f"{name}: Field required")
    for name in post.body:
        if name not in allowed:
            yield Violation(f"{name}: Extra inputs are not permitted")


def _limit_violations(limit: Json) -> Iterator[Violation]:
    if not is_integer(limit):
        yield Violation("max_tokens: Input should be a valid integer")
    elif limit < 0:
        yield Violation("max_tokens: Input should be greater than or equal to 0")


def _system_violations(system: Json) -> Iterator[Violation]:
    if system is None or isinstance(system, str):
        return
    if not isinstance(system, list):
        yield Violation("system: Input should be a valid list")
        return
    for index, block in enumerate(system):
        if not is_object(block) or block.get("type") != "text":
            yield Violation(f"system.{index}.type: Input should be 'text'")
        elif not text_at(block, "text"):
            yield Violation("system: text content blocks must be non-empty")


def _temperature_violations(post: Post) -> Iterator[Violation]:
    temperature = post.body.get("temperature")
    if temperature is None:
        return
    if not isinstance(temperature, (int, float)) or not 0 <= temperature <= 1:
        yield Violation("temperature: range: 0..1")
    elif temperature != 1 and object_at(post.body, "thinking").get("type") == "enabled":
        yield Violation("`temperature` may only be set to 1 when thinking is enabled.")


def tool_violations(post: Post) -> Iterator[Violation]:
    """Yields the broken rules for tools."""
    names: set[str] = set()
    for index, tool in enumerate(items_at(post.body, "tools")):
        if not is_object(tool):
            yield Violation(f"tools.{index}: Input should be a valid dictionary")
            continue
        yield from _tool_violations(tool, index)
        name = text_at(tool, "name")
        if name and name in names:
            yield Violation("tools: Tool names must be unique.")
        names.add(name)
    yield from _choice_violations(object_at(post.body, "tool_choice"), names)


def _tool_violations(tool: JsonObject, index: int) -> Iterator[Violation]:
    kind = tool.get("type") or "custom"
    form = fields.CUSTOM_TOOL if kind == "custom" else fields.SERVER_TOOLS.get(str(kind))
    if form is None:
        yield Violation(
            f"tools.{index}: Input tag '{kind}' found using 'type' does not match any of the "
            "expected tags"
        )
        return
    path = f"tools.{index}.{kind}"
    yield from fields.shape_violations(tool, form, path)
    if kind == "custom":
        if not _NAME.fullmatch(text_at(tool, "name")):
            yield Violation(f"{path}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        yield from _schema_violations(tool.get("input_schema"), f"{path}.input_schema")


def _schema_violations(schema: Json, path: str) -> Iterator[Violation]:
    if not is_object(schema) or schema.get("type") != "object":
        yield Violation(f"{path}.type: Input should be 'object'")
    elif (problem := schema_problem(schema)) is not None:
        yield Violation(
            f"{path}: JSON schema is invalid. It must match JSON Schema draft 2020-12 ({problem})"
        )


def _choice_violations(choice: JsonObject, names: set[str]) -> Iterator[Violation]:
    if not choice:
        return
    kind = text_at(choice, "type")
    form = fields.TOOL_CHOICES.get(kind)
    if form is None:
        yield Violation(f"tool_choice: Input tag '{kind}' found using 'type' is not expected")
        return
    if (unknown := form.unknown(choice)) is not None:
        yield Violation(f"tool_choice.{kind}.{unknown}: Extra inputs are not permitted")
    if not names:
        yield Violation("tool_choice may only be specified while providing tools.")
    if kind == "tool" and text_at(choice, "name") not in names:
        yield Violation(f"Tool '{text_at(choice, 'name')}' not found in provided tools")


def cache_control_violations(post: Post) -> Iterator[Violation]:
    """Yields the broken rules for cache breakpoints."""
    breakpoints = list(_breakpoints(post.body))
    for path, control in breakpoints:
        yield from _control_violations(control, path)
    if len(breakpoints) > _MAX_BREAKPOINTS:
        yield Violation(
            f"A maximum of {_MAX_BREAKPOINTS} blocks with cache_control may be provided. "
            f"Found {len(breakpoints)}."
        )
    short = False
    for path, control in breakpoints:
        hour = is_object(control) and control.get("ttl") == "1h"
        if hour and short:
            yield Violation(
                f"{path}.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "
                "cache_control block. Note that blocks are processed in the following order: "
                "`tools`, `system`, `messages`."
            )
        short = short or not hour


def _control_violations(control: Json, path: str) -> Iterator[Violation]:
    if not is_object(control) or control.get("type") != "ephemeral":
        yield Violation(f"{path}.type: Input should be 'ephemeral'")
    elif (unknown := fields.CACHE_CONTROL.unknown(control)) is not None:
        yield Violation(f"{path}.{unknown}: Extra inputs are not permitted")
    elif control.get("ttl", "5m") not in ("5m", "1h"):
        yield Violation(f"{path}.ttl: Input should be '5m' or '1h'")


def _breakpoints(body: JsonObject) -> Iterator[tuple[str, Json]]:
    """Yields every breakpoint with its path, in the order in which the API reads."""
    for index, tool in enumerate(objects_at(body, "tools")):
        yield from _breakpoint_at(tool, f"tools.{index}")
    for index, block in enumerate(objects_at(body, "system")):
        yield from _breakpoint_at(block, f"system.{index}")
    for index, message in enumerate(objects_at(body, "messages")):
        for place, block in enumerate(objects_at(message, "content")):
            path = f"messages.{index}.content.{place}"
            for inner_place, inner in enumerate(objects(block.get("content"))):
                yield from _breakpoint_at(inner, f"{path}.content.{inner_place}")
            yield from _breakpoint_at(block, path)
    yield from _breakpoint_at(body, "")


def _breakpoint_at(tree: JsonObject, path: str) -> Iterator[tuple[str, Json]]:
    if tree.get("cache_control") is not None:
        yield f"{path}.cache_control".removeprefix("."), tree["cache_control"]


_RULES: tuple[Callable[[Post], Iterator[Violation]], ...] = (
    top_level_violations,
    tool_violations,
    message_violations,
    compaction_violations,
    order_violations,
    tool_result_violations,
    thinking_violations,
    binding_violations,
    cache_control_violations,
)


def first_violation(post: Post) -> Violation | None:
    """Returns the first rule that the request breaks. Later rules rely on the earlier ones."""
    return next((found for rule in _RULES for found in rule(post)), None)
