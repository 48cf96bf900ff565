"""The order of messages: who begins, who ends, and where a system message may stand.

Neighbouring messages of one side are fine: the API reads them as one.
"""

import re
from collections.abc import Iterator

from sapwood.testing.scripted.jsontree import JsonObject, object_at, objects_at, text_at
from sapwood.testing.scripted.wires.wire import Post, Violation

__all__ = ["turn_violations"]

# The last models that let the client begin the assistant's reply.
_PREFILLABLE = re.compile(r"claude-(?:[23]|instant|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:-\d{8}|$))")


def turn_violations(post: Post) -> Iterator[Violation]:
    """What is wrong with the order of messages."""
    messages = objects_at(post.body, "messages")
    roles = [text_at(message, "role") for message in messages]
    if roles[0] == "system":
        yield Violation(
            "messages.0: role 'system' must follow a 'user' message; use the top-level `system` "
            "parameter for instructions that hold from the start"
        )
    if roles[0] != "user":
        yield Violation('messages: first message must use the "user" role')
    yield from _system_violations(roles)
    if roles[-1] == "assistant" and post.action == "reply":
        yield from _prefill_violations(post, messages[-1])


def _system_violations(roles: list[str]) -> Iterator[Violation]:
    for index, role in enumerate(roles):
        if role != "system":
            continue
        if roles[index - 1] != "user":
            yield Violation(f"messages.{index}: role 'system' must follow a 'user' message")
        if index + 1 < len(roles) and roles[index + 1] != "assistant":
            yield Violation(
                f"messages.{index}: role 'system' must precede an 'assistant' message or end the "
                "array"
            )


def _prefill_violations(post: Post, last: JsonObject) -> Iterator[Violation]:
    thinks = object_at(post.body, "thinking").get("type") in ("enabled", "adaptive")
    if thinks or not _PREFILLABLE.match(text_at(post.body, "model")):
        yield Violation(
            "This model does not support assistant message prefill. The conversation must end "
            "with a user message."
        )
    content = last.get("content")
    blocks = objects_at(last, "content")
    text = content if isinstance(content, str) else text_at(blocks[-1], "text") if blocks else ""
    if text != text.rstrip():
        yield Violation("messages: final assistant content cannot end with trailing whitespace")
