"""Reasoning comes back as it was given: with what it led to, and sealed by this server."""

from collections.abc import Iterator
from itertools import zip_longest

from sapwood.testing.scripted.jsontree import JsonObject, objects_at, text_at
from sapwood.testing.scripted.signing import item_id, read_item_id, unseal
from sapwood.testing.scripted.wires.responses.rules.items import kind_of
from sapwood.testing.scripted.wires.wire import Post, Violation

__all__ = ["reasoning_violations"]


def reasoning_violations(post: Post) -> Iterator[Violation]:
    """What is wrong with reasoning that is sent back, or left out."""
    items = objects_at(post.body, "input")
    stored = post.body.get("store") is not False
    for item in items:
        if kind_of(item) in ("reasoning", "compaction"):
            yield from _seal_violations(item, stored=stored)
    yield from _following_violations(items)
    if stored:
        yield from _missing_violations(items)


def _seal_violations(item: JsonObject, *, stored: bool) -> Iterator[Violation]:
    name = text_at(item, "id")
    sealed = text_at(item, "encrypted_content")
    if sealed:
        if unseal("openai", sealed) is None:
            yield Violation(
                f"The encrypted content for item {name} could not be verified.",
                code="invalid_encrypted_content",
            )
    elif not stored:
        yield Violation(
            f"Item with id '{name}' not found. Items are not persisted when `store` is set to "
            "false. Try again with `store` set to true, or remove this item from your input.",
            "input",
            status=404,
        )
    elif read_item_id(name) is None:
        yield Violation(f"Item with id '{name}' not found.", "input", status=404)


def _following_violations(items: list[JsonObject]) -> Iterator[Violation]:
    for item, after in zip_longest(items, items[1:]):
        if kind_of(item) != "reasoning":
            continue
        if after is None or not _is_of_model(after):
            yield Violation(
                f"Item '{text_at(item, 'id')}' of type 'reasoning' was provided without its "
                "required following item.",
                "input",
            )


def _is_of_model(item: JsonObject) -> bool:
    kind = kind_of(item)
    if kind == "message":
        return text_at(item, "role") == "assistant"
    return not kind.endswith("_output")


def _missing_violations(items: list[JsonObject]) -> Iterator[Violation]:
    given = {text_at(item, "id") for item in items if kind_of(item) == "reasoning"}
    for item in items:
        name = text_at(item, "id")
        known = read_item_id(name)
        if known is None or not known.thought:
            continue
        needed = item_id("rs", known.reply, 0, thought=False)
        if needed not in given:
            yield Violation(
                f"Item '{name}' of type '{kind_of(item)}' was provided without its required "
                f"'reasoning' item: '{needed}'.",
                "input",
            )
