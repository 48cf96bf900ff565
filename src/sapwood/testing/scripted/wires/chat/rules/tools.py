"""Tools and the choice among them."""

from collections.abc import Iterator

from sapwood.testing.scripted.jsontree import (
    JsonObject,
    is_object,
    items_at,
    object_at,
    text_at,
)
from sapwood.testing.scripted.wires.chat.fields import CUSTOM, FUNCTION, TOOLS
from sapwood.testing.scripted.wires.openai import function_violations, shape_violations
from sapwood.testing.scripted.wires.wire import Post, Violation

__all__ = ["tool_violations"]


def tool_violations(post: Post) -> Iterator[Violation]:
    """What is wrong with the tools."""
    tools = post.body.get("tools")
    if tools == []:
        yield Violation(
            "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an "
            "empty array instead.",
            "tools",
            "empty_array",
        )
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
    if kind not in TOOLS:
        yield Violation(
            f"Invalid value: '{kind}'. Supported values are: 'function' and 'custom'.",
            f"{path}.type",
            "invalid_value",
        )
        return
    yield from shape_violations(tool, TOOLS[kind], path)
    inner = object_at(tool, kind)
    yield from shape_violations(inner, FUNCTION if kind == "function" else CUSTOM, f"{path}.{kind}")
    yield from function_violations(inner, f"{path}.{kind}")


def _choice_violations(choice: JsonObject, names: set[str]) -> Iterator[Violation]:
    kind = text_at(choice, "type")
    if kind in TOOLS and text_at(object_at(choice, kind), "name") not in names:
        name = text_at(object_at(choice, kind), "name")
        yield Violation(
            f"Invalid value: '{name}'. The tool named in 'tool_choice' is not among 'tools'.",
            "tool_choice",
            "invalid_value",
        )
