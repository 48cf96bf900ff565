"""The request as a whole: fields, required ones, and what the server does not keep."""

from collections.abc import Iterator

from sapwood.testing.scripted.jsontree import is_object, text_at
from sapwood.testing.scripted.wires.openai import shape_violations
from sapwood.testing.scripted.wires.responses.fields import (
    REASONING,
    TEXT,
    TOP,
    TOP_COMPACT,
    TOP_COUNT,
)
from sapwood.testing.scripted.wires.wire import Post, Violation

__all__ = ["top_violations"]

_FORMS = {"reply": TOP, "compact": TOP_COMPACT, "count": TOP_COUNT}


def top_violations(post: Post) -> Iterator[Violation]:
    """What is wrong at the top level."""
    body = post.body
    yield from shape_violations(body, _FORMS[post.action].with_fields(*post.allowed), "")
    if body.get("previous_response_id") is not None:
        # Replies are not kept, as with an organisation that keeps none.
        yield Violation(
            f"Previous response with id '{text_at(body, 'previous_response_id')}' not found.",
            "previous_response_id",
            "previous_response_not_found",
        )
    given = body.get("input")
    if given is None and body.get("prompt") is None:
        yield Violation(
            "Missing required parameter: 'input'.", "input", "missing_required_parameter"
        )
    elif given is not None and not isinstance(given, (str, list)):
        yield Violation(
            "Invalid type for 'input': expected one of an array of objects or string.",
            "input",
            "invalid_type",
        )
    for name, form in (("reasoning", REASONING), ("text", TEXT)):
        value = body.get(name)
        if is_object(value):
            yield from shape_violations(value, form, name)
    limit = body.get("max_output_tokens")
    if isinstance(limit, int) and limit < 16:
        yield Violation(
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but "
            f"got {limit} instead.",
            "max_output_tokens",
            "integer_below_min_value",
        )
