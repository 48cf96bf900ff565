"""Cache breakpoints: at most four, of known lifetimes, the longer-lived ones first."""

from collections.abc import Iterator

from sapwood.testing.scripted.jsontree import Json, JsonObject, is_object, objects, objects_at
from sapwood.testing.scripted.wires.anthropic.fields import CACHE_CONTROL
from sapwood.testing.scripted.wires.wire import Post, Violation

__all__ = ["mark_violations"]

_MOST = 4


def mark_violations(post: Post) -> Iterator[Violation]:
    """What is wrong with the breakpoints."""
    marks = list(_marks(post.body))
    for path, mark in marks:
        yield from _form_violations(mark, path)
    if len(marks) > _MOST:
        yield Violation(
            f"A maximum of {_MOST} blocks with cache_control may be provided. Found {len(marks)}."
        )
    short = False
    for path, mark in marks:
        hour = is_object(mark) and mark.get("ttl") == "1h"
        if hour and short:
            yield Violation(
                f"{path}.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "
                "cache_control block. Note that blocks are processed in the following order: "
                "`tools`, `system`, `messages`."
            )
        short = short or not hour


def _form_violations(mark: Json, path: str) -> Iterator[Violation]:
    if not is_object(mark) or mark.get("type") != "ephemeral":
        yield Violation(f"{path}.type: Input should be 'ephemeral'")
    elif (unknown := CACHE_CONTROL.unknown(mark)) is not None:
        yield Violation(f"{path}.{unknown}: Extra inputs are not permitted")
    elif mark.get("ttl", "5m") not in ("5m", "1h"):
        yield Violation(f"{path}.ttl: Input should be '5m' or '1h'")


def _marks(body: JsonObject) -> Iterator[tuple[str, Json]]:
    """Every breakpoint with its path, in the order in which the API reads."""
    for index, tool in enumerate(objects_at(body, "tools")):
        yield from _mark_of(tool, f"tools.{index}")
    for index, block in enumerate(objects_at(body, "system")):
        yield from _mark_of(block, f"system.{index}")
    for index, message in enumerate(objects_at(body, "messages")):
        for place, block in enumerate(objects_at(message, "content")):
            path = f"messages.{index}.content.{place}"
            for inner_place, inner in enumerate(objects(block.get("content"))):
                yield from _mark_of(inner, f"{path}.content.{inner_place}")
            yield from _mark_of(block, path)
    yield from _mark_of(body, "")


def _mark_of(tree: JsonObject, path: str) -> Iterator[tuple[str, Json]]:
    if tree.get("cache_control") is not None:
        yield f"{path}.cache_control".removeprefix("."), tree["cache_control"]
