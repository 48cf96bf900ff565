"""Tools, those in a namespace included."""

from collections.abc import Iterator

from sapwood.testing.scripted.jsontree import Json, is_object, items_at, text_at
from sapwood.testing.scripted.wires.openai import function_violations, shape_violations
from sapwood.testing.scripted.wires.responses.fields import NAMESPACE_TOOLS, TOOLS
from sapwood.testing.scripted.wires.shape import Shape
from sapwood.testing.scripted.wires.wire import Post, Violation

__all__ = ["tool_violations"]


def tool_violations(post: Post) -> Iterator[Violation]:
    """What is wrong with the tools."""
    for index, tool in enumerate(items_at(post.body, "tools")):
        yield from _tool_violations(tool, f"tools[{index}]", TOOLS)
        if is_object(tool) and tool.get("type") == "namespace":
            for place, inner in enumerate(items_at(tool, "tools")):
                path = f"tools[{index}].tools[{place}]"
                yield from _tool_violations(inner, path, NAMESPACE_TOOLS)
    choice = post.body.get("tool_choice")
    names = {text_at(tool, "name") for tool in items_at(post.body, "tools") if is_object(tool)}
    if is_object(choice) and choice.get("type") in ("function", "custom"):
        name = text_at(choice, "name")
        if name not in names:
            yield Violation(f"Tool choice '{name}' not found in 'tools' parameter.", "tool_choice")


def _tool_violations(tool: Json, path: str, known: dict[str, Shape]) -> Iterator[Violation]:
    kind = text_at(tool, "type") if is_object(tool) else ""
    if not is_object(tool) or kind not in known:
        supported = ", ".join(f"'{name}'" for name in known)
        yield Violation(
            f"Invalid value: '{kind}'. Supported values are: {supported}.",
            f"{path}.type",
            "invalid_value",
        )
        return
    yield from shape_violations(tool, known[kind], path)
    if kind in ("function", "custom"):
        yield from function_violations(tool, path)
