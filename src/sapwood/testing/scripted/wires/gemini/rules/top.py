"""The request as a whole: fields, and the settings of the generation."""

from collections.abc import Iterator

from sapwood.testing.scripted.jsontree import is_object, items_at, object_at
from sapwood.testing.scripted.wires.gemini.fields import GENERATION, THINKING, TOP, TOP_COUNT
from sapwood.testing.scripted.wires.gemini.rules.fields import field_violations
from sapwood.testing.scripted.wires.wire import Post, Violation

__all__ = ["top_violations"]


def top_violations(post: Post) -> Iterator[Violation]:
    """What is wrong at the top level."""
    body = post.body
    form = TOP if post.action == "reply" else TOP_COUNT
    yield from field_violations(body, form.with_fields(*post.allowed), "")
    if post.action == "reply" and not items_at(body, "contents"):
        yield Violation("* GenerateContentRequest.contents: contents is not specified")
    generation = body.get("generationConfig")
    if is_object(generation):
        yield from field_violations(generation, GENERATION, "generationConfig")
        thinking = object_at(generation, "thinkingConfig")
        yield from field_violations(thinking, THINKING, "generationConfig.thinkingConfig")
    instruction = body.get("systemInstruction")
    if instruction is not None and not is_object(instruction):
        yield Violation("Invalid value at 'system_instruction' (type.googleapis.com/Content)")
