"""Thinking: how it is asked for, and that what comes back is what the server signed."""

from collections.abc import Iterator

from sapwood.testing.scripted.jsontree import (
    JsonObject,
    is_integer,
    object_at,
    objects_at,
    text_at,
)
from sapwood.testing.scripted.signing import unseal
from sapwood.testing.scripted.wires.anthropic.fields import THINKING
from sapwood.testing.scripted.wires.wire import Post, Violation

__all__ = ["thinking_violations"]


def thinking_violations(post: Post) -> Iterator[Violation]:
    """What is wrong with thinking, asked for or sent back."""
    thinking = object_at(post.body, "thinking")
    if thinking:
        yield from _setting_violations(thinking, post.body)
    messages = objects_at(post.body, "messages")
    for index, message in enumerate(messages):
        for place, block in enumerate(objects_at(message, "content")):
            yield from _seal_violations(block, f"messages.{index}.content.{place}")
    if thinking.get("type") == "enabled":
        yield from _kept_violations(messages)


def _setting_violations(thinking: JsonObject, body: JsonObject) -> Iterator[Violation]:
    kind = text_at(thinking, "type")
    form = THINKING.get(kind)
    if form is None:
        tags = ", ".join(f"'{tag}'" for tag in sorted(THINKING))
        yield Violation(
            f"thinking: Input tag '{kind}' found using 'type' does not match any of the expected "
            f"tags: {tags}"
        )
        return
    if (missing := form.missing(thinking)) is not None:
        yield Violation(f"thinking.{kind}.{missing}: Field required")
    if (unknown := form.unknown(thinking)) is not None:
        yield Violation(f"thinking.{kind}.{unknown}: Extra inputs are not permitted")
    if kind != "enabled":
        return
    budget, limit = thinking.get("budget_tokens"), body.get("max_tokens")
    if not is_integer(budget) or budget < 1024:
        yield Violation(
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
        )
    elif is_integer(limit) and limit <= budget:
        yield Violation("`max_tokens` must be greater than `thinking.budget_tokens`.")
    if text_at(object_at(body, "tool_choice"), "type") in ("any", "tool"):
        yield Violation("Thinking may not be enabled when tool_choice forces tool use.")


def _seal_violations(block: JsonObject, path: str) -> Iterator[Violation]:
    match block.get("type"):
        case "thinking":
            signed = unseal("anthropic", text_at(block, "signature"))
            # A client that asked not to see the thinking gets the signature with an empty text.
            if signed is None or text_at(block, "thinking") not in (signed, ""):
                yield Violation(f"{path}: Invalid `signature` in `thinking` block")
        case "redacted_thinking":
            if unseal("anthropic", text_at(block, "data")) is None:
                yield Violation(f"{path}: Invalid `data` in `redacted_thinking` block")
        case _:
            pass


def _kept_violations(messages: list[JsonObject]) -> Iterator[Violation]:
    """In the midst of tool use, the assistant's last message begins with its thinking."""
    for index in range(len(messages) - 1, -1, -1):
        blocks = objects_at(messages[index], "content")
        role = text_at(messages[index], "role")
        if role == "user" and not any(block.get("type") == "tool_result" for block in blocks):
            return
        if role != "assistant":
            continue
        first = text_at(blocks[0], "type") if blocks else "text"
        if first not in ("thinking", "redacted_thinking"):
            yield Violation(
                f"messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but "
                f"found `{first}`. When `thinking` is enabled, a final `assistant` message must "
                "start with a thinking block (preceeding the lastmost set of `tool_use` and "
                "`tool_result` blocks). We recommend you include thinking blocks from previous "
                "turns. To avoid this requirement, disable `thinking`."
            )
        return
