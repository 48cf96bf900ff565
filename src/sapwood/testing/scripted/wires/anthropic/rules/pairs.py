"""Every tool call is answered in the next message, first thing there, and nothing else is."""

from collections.abc import Iterator
from itertools import zip_longest

from msgspec import Struct

from sapwood.testing.scripted.jsontree import JsonObject, objects_at, text_at
from sapwood.testing.scripted.wires.wire import Post, Violation

__all__ = ["pair_violations"]


class _Turn(Struct):
    """Neighbouring messages of one side, read as one. `index` is that of the first."""

    index: int
    role: str
    blocks: list[tuple[str, JsonObject]]

    def of(self, kind: str) -> list[tuple[str, JsonObject]]:
        return [(path, block) for path, block in self.blocks if block.get("type") == kind]


def pair_violations(post: Post) -> Iterator[Violation]:
    """What is wrong between calls and results."""
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
    """Results that come after other content do not count: they must stand first."""
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
