"""Rules of the Messages API for compaction on demand and for preserved thinking. Pure."""

import re
from collections.abc import Iterator

from scripted_model.json_values import JsonObject, is_object, object_at, objects_at, text_at
from scripted_model.wires.anthropic.preserved_thinking import (
    BINDING_BETA,
    COMPACTION_BETA,
    blocks_of,
    has,
    mismatches,
    signed_summary,
)
from scripted_model.wires.wire import Post, Violation

_COMPACTS = re.compile(
    r"claude-(?:(?:fable|mythos)-|opus-(?:4-[6-9]|[5-9])|sonnet-(?:4-[6-9]|5(?!-5)|[6-9]))"
)
_MAX_INSTRUCTIONS = 16_384


def wants_compaction(post: Post) -> bool:
    """Whether the request asks for a summary instead of a reply."""
    return post.action == "reply" and post.body.get("compaction") is not None


def compaction_violations(post: Post) -> Iterator[Violation]:
    """Yields the broken rules for the summary that is asked for, and for one that is sent back."""
    if "compaction" in post.body and not has(post, COMPACTION_BETA):
        yield Violation("compaction: Extra inputs are not permitted")
    yield from _block_violations(post)
    if wants_compaction(post):
        yield from _request_violations(post.body)


def _request_violations(body: JsonObject) -> Iterator[Violation]:
    wanted = body.get("compaction")
    if not is_object(wanted) or wanted.get("type") != "summarize":
        yield Violation("compaction.type: Input should be 'summarize'")
        return
    for name in wanted:
        if name not in ("type", "instructions"):
            yield Violation(f"compaction.{name}: Extra inputs are not permitted")
    if len(text_at(wanted, "instructions")) > _MAX_INSTRUCTIONS:
        yield Violation(
            f"compaction.instructions: String should have at most {_MAX_INSTRUCTIONS} characters"
        )
    if not _COMPACTS.match(text_at(body, "model")):
        yield Violation("compaction: this model does not support compaction")
    for name in ("context_management", "stop_sequences"):
        if body.get(name) is not None:
            yield Violation(f"{name}: cannot be combined with `compaction`")
    if object_at(body, "output_config").get("format") is not None:
        yield Violation("output_config.format: cannot be combined with `compaction`")
    if text_at(object_at(body, "tool_choice"), "type") in ("any", "tool"):
        yield Violation("tool_choice: `any` and `tool` cannot be combined with `compaction`")
    if body.get("max_tokens") == 0:
        yield Violation("max_tokens: must be greater than 0 with `compaction`")
    last = objects_at(body, "messages")[-1]
    calls = [block for block in objects_at(last, "content") if block.get("type") == "tool_use"]
    if last.get("role") == "assistant" and calls:
        yield Violation(
            "The compaction request ends on an `assistant` turn that is not finished.",
            code="compaction_incomplete_turn",
        )


def _block_violations(post: Post) -> Iterator[Violation]:
    """Only summaries that were asked for have a signature; the others have rules of their own."""
    found = 0
    for index, message in enumerate(objects_at(post.body, "messages")):
        for place, block in enumerate(blocks_of(message.get("content"))):
            if block.get("type") != "compaction" or not text_at(block, "signature"):
                continue
            path = f"messages.{index}.content.{place}"
            if not has(post, COMPACTION_BETA):
                yield Violation(f"{path}.compaction.signature: Extra inputs are not permitted")
            found += 1
            if found > 1:
                yield Violation(
                    f"{path}: `messages` holds more than one `compaction` block with content.",
                    code="compaction_block_ambiguous",
                )
            if index or place:
                yield Violation(
                    f"{path}: The `compaction` block is not the first block of the conversation.",
                    code="compaction_block_misplaced",
                )
            signed = signed_summary(text_at(block, "signature"))
            if signed is None:
                yield Violation(
                    f"{path}: The `compaction` block's `signature` does not verify.",
                    code="compaction_signature_invalid",
                )
            elif signed != text_at(block, "content"):
                yield Violation(
                    f"{path}: The `compaction` block's `content` differs from the text its "
                    "`signature` recorded.",
                    code="compaction_content_mismatch",
                )


def binding_violations(post: Post) -> Iterator[Violation]:
    """Yields a violation for thinking from another conversation, if the client wants an error.

    Without the setting, the API of older accounts lets the model read such thinking.
    """
    binding = object_at(object_at(post.body, "thinking"), "block_binding")
    if not binding:
        return
    if not has(post, BINDING_BETA):
        yield Violation("thinking.block_binding: Extra inputs are not permitted")
    behaviour = binding.get("prefix_mismatch_behavior")
    if behaviour not in (None, "error", "drop_block"):
        yield Violation(
            "thinking.block_binding.prefix_mismatch_behavior: Input should be 'error' or "
            "'drop_block'"
        )
    if behaviour != "error":
        return
    for each in mismatches(post.body):
        if each.reason == "prefix_binding_mismatch":
            yield Violation(
                f"{each.path}: Invalid `signature` in `thinking` block. The block is bound to a "
                "different conversation. Remove the block, or set "
                '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting '
                f"requires the `{BINDING_BETA}` value in the `anthropic-beta` header."
            )
