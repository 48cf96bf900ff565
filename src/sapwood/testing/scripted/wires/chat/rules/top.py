"""The request as a whole: fields, required ones, and those that exclude each other."""

import re
from collections.abc import Iterator

from sapwood.testing.scripted.jsontree import encode, is_object, object_at, text_at
from sapwood.testing.scripted.wires.chat.fields import STREAM_OPTIONS, TOP
from sapwood.testing.scripted.wires.openai import shape_violations
from sapwood.testing.scripted.wires.wire import Post, Violation

__all__ = ["top_violations"]

_REASONING = re.compile(r"(?:o[1-9]|gpt-[5-9])")


def top_violations(post: Post) -> Iterator[Violation]:
    """What is wrong at the top level."""
    body = post.body
    for name in TOP.required:
        if name not in body:
            yield Violation(
                f"Missing required parameter: '{name}'.", name, "missing_required_parameter"
            )
    for name in body:
        if name not in TOP.allowed | post.allowed:
            yield Violation(f"Unrecognized request argument supplied: {name}")
    messages = body.get("messages")
    if not isinstance(messages, list):
        yield Violation(
            "Invalid type for 'messages': expected an array of objects.", "messages", "invalid_type"
        )
    elif not messages:
        yield Violation(
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an "
            "empty array instead.",
            "messages",
            "empty_array",
        )
    if not isinstance(body.get("model"), str):
        yield Violation("Invalid type for 'model': expected a string.", "model", "invalid_type")
    yield from _stream_violations(post)
    yield from _limit_violations(post)
    yield from _format_violations(post)


def _stream_violations(post: Post) -> Iterator[Violation]:
    options = post.body.get("stream_options")
    if options is None:
        return
    if post.body.get("stream") is not True:
        yield Violation(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            "stream_options",
        )
    elif is_object(options):
        yield from shape_violations(options, STREAM_OPTIONS, "stream_options")


def _limit_violations(post: Post) -> Iterator[Violation]:
    if post.body.get("max_tokens") is None:
        return
    if post.body.get("max_completion_tokens") is not None:
        yield Violation(
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
            "max_tokens",
        )
    if _REASONING.match(text_at(post.body, "model")):
        yield Violation(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            "max_tokens",
            "unsupported_parameter",
        )


def _format_violations(post: Post) -> Iterator[Violation]:
    kind = object_at(post.body, "response_format").get("type")
    if kind == "json_object" and b"json" not in encode(post.body.get("messages")).lower():
        yield Violation(
            "'messages' must contain the word 'json' in some form, to use 'response_format' of "
            "type 'json_object'.",
            "messages",
        )
