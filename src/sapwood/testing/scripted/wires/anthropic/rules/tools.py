"""Tools and the choice among them: names, schemas, fields."""

import re
from collections.abc import Iterator

from sapwood.testing.scripted.jsontree import (
    Json,
    JsonObject,
    is_object,
    items_at,
    object_at,
    text_at,
)
from sapwood.testing.scripted.wires.anthropic.fields import (
    CUSTOM_TOOL,
    SERVER_TOOLS,
    TOOL_CHOICES,
)
from sapwood.testing.scripted.wires.schemas import schema_problem
from sapwood.testing.scripted.wires.wire import Post, Violation

__all__ = ["tool_violations"]

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


def tool_violations(post: Post) -> Iterator[Violation]:
    """What is wrong with the tools."""
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
    form = CUSTOM_TOOL if kind == "custom" else SERVER_TOOLS.get(str(kind))
    if form is None:
        yield Violation(
            f"tools.{index}: Input tag '{kind}' found using 'type' does not match any of the "
            "expected tags"
        )
        return
    path = f"tools.{index}.{kind}"
    if (missing := form.missing(tool)) is not None:
        yield Violation(f"{path}.{missing}: Field required")
    if (unknown := form.unknown(tool)) is not None:
        yield Violation(f"{path}.{unknown}: Extra inputs are not permitted")
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
    form = TOOL_CHOICES.get(kind)
    if form is None:
        yield Violation(f"tool_choice: Input tag '{kind}' found using 'type' is not expected")
        return
    if (unknown := form.unknown(choice)) is not None:
        yield Violation(f"tool_choice.{kind}.{unknown}: Extra inputs are not permitted")
    if not names:
        yield Violation("tool_choice may only be specified while providing tools.")
    if kind == "tool" and text_at(choice, "name") not in names:
        yield Violation(f"Tool '{text_at(choice, 'name')}' not found in provided tools")
