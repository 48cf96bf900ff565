"""Rules of the Messages API between messages: order, tool results, signed thinking. Pure."""

import re
from collections.abc import Iterator
from itertools import zip_longest

from msgspec import Struct

from scripted_model.json_values import JsonObject, is_integer, object_at, objects_at, text_at
from scripted_model.wires.anthropic.compaction_validation import wants_compaction
from scripted_model.wires.anthropic.fields import THINKING, shape_violations
from scripted_model.wires.anthropic.preserved_thinking import blocks_of, signed_thinking
from scripted_model.wires.wire import Post, Violation

# Models that let the client write the beginning of the reply.
_PREFILLABLE = re.compile(r"claude-(?:[23]|instant|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:-\d{8}|$))")


def order_violations(post: Post) -> Iterator[Violation]:
    """Yields the broken rules for the order of messages.

    Neighbouring messages of one role are allowed: the API reads them as one.
    """
    messages = objects_at(post.body, "messages")
    roles = [text_at(message, "role") for message in messages]
    if roles[0] == "system":
        yield Violation(
            "messages.0: role 'system' must follow a 'user' message; use the top-level `system` "
            "parameter for instructions that hold from the start"
        )
    first = blocks_of(messages[0].get("content"))[:1]
    if roles[0] != "user" and not (first and first[0].get("type") == "compaction"):
        yield Violation('messages: first message must use the "user" role')
    yield from _system_violations(roles)
    if roles[-1] == "assistant" and post.action == "reply" and not wants_compaction(post):
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


class _Turn(Struct):
    """Neighbouring messages of one role, read as one. `index` is that of the first."""

    index: int
    role: str
    blocks: list[tuple[str, JsonObject]]

    def of(self, kind: str) -> list[tuple[str, JsonObject]]:
        return [(path, block) for path, block in self.blocks if block.get("type") == kind]


def tool_result_violations(post: Post) -> Iterator[Violation]:
    """Yields a violation unless the next message begins with one result for each tool call."""
    turns = _turns(objects_at(post.body, "messages"))
    yield from _unique_violations(turns)
    for before, turn in zip([None, *turns], turns, strict=False):
        calls = before.of("tool_use") if before and before.role == "assistant" else []
        yield from _stray_violations(turn, {text_at(block, "id") for _, block in calls})
    for turn, after in zip_longest(turns, turns[1:]):
        if turn.role == "assistant":
            yield from _unanswered_violations(turn, after)


def _turns(messages: list[JsonObject]) -> list[_Turn]:
    turns: list[_Turn] = []
    for index, message in enumerate(messages):
        role = text_at(message, "role")
        if role == "system":
            continue
        if not turns or turns[-1].role != role:
            turns.append(_Turn(index, role, []))
        turns[-1].blocks += [
            (f"messages.{index}.content.{place}", block)
            for place, block in enumerate(objects_at(message, "content"))
        ]
    return turns


def _unique_violations(turns: list[_Turn]) -> Iterator[Violation]:
    seen: set[str] = set()
    for turn in turns:
        for path, block in turn.of("tool_use"):
            call = text_at(block, "id")
            if call in seen:
                yield Violation(f"{path}: `tool_use` ids must be unique")
            seen.add(call)


def _stray_violations(turn: _Turn, calls: set[str]) -> Iterator[Violation]:
    answered: set[str] = set()
    for path, block in turn.of("tool_result"):
        call = text_at(block, "tool_use_id")
        if call not in calls:
            yield Violation(
                f"{path}: unexpected `tool_use_id` found in `tool_result` blocks: {call}. Each "
                "`tool_result` block must have a corresponding `tool_use` block in the previous "
                "message."
            )
        if call in answered:
            yield Violation(
                f"{path}: each tool_use must have a single result. Found multiple `tool_result` "
                f"blocks with id: {call}"
            )
        answered.add(call)


def _unanswered_violations(turn: _Turn, after: _Turn | None) -> Iterator[Violation]:
    """Results must be at the beginning of the message. Results after other content do not count."""
    answered: set[str] = set()
    for _, block in after.blocks if after else []:
        if block.get("type") != "tool_result":
            break
        answered.add(text_at(block, "tool_use_id"))
    calls = [text_at(block, "id") for _, block in turn.of("tool_use")]
    missing = [call for call in calls if call not in answered]
    if missing:
        yield Violation(
            f"messages.{turn.index}: `tool_use` ids were found without `tool_result` blocks "
            f"immediately after: {', '.join(missing)}. Each `tool_use` block must have a "
            "corresponding `tool_result` block in the next message."
        )


def thinking_violations(post: Post) -> Iterator[Violation]:
    """Yields the broken rules for the thinking setting, and for thinking that is sent back."""
    thinking = object_at(post.body, "thinking")
    if thinking:
        yield from _setting_violations(thinking, post.body)
    messages = objects_at(post.body, "messages")
    for index, message in enumerate(messages):
        for place, block in enumerate(objects_at(message, "content")):
            yield from _signature_violations(block, f"messages.{index}.content.{place}")
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
    yield from shape_violations(thinking, form, f"thinking.{kind}")
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


def _signature_violations(block: JsonObject, path: str) -> Iterator[Violation]:
    match block.get("type"):
        case "thinking":
            signed = signed_thinking(text_at(block, "signature"))
            # A client that omits the display of thinking gets the signature with an empty text.
            if signed is None or text_at(block, "thinking") not in (signed[0], ""):
                yield Violation(f"{path}: Invalid `signature` in `thinking` block")
        case "redacted_thinking":
            if signed_thinking(text_at(block, "data")) is None:
                yield Violation(f"{path}: Invalid `data` in `redacted_thinking` block")
        case _:
            pass


def _kept_violations(messages: list[JsonObject]) -> Iterator[Violation]:
    """During tool use, the last message of the assistant must begin with its thinking."""
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
