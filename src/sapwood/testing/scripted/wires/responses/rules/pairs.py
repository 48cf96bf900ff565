"""Every call is answered later in the input, once, and nothing else is."""

from collections.abc import Iterator

from sapwood.testing.scripted.jsontree import JsonObject, objects_at, text_at
from sapwood.testing.scripted.wires.responses.fields import RESULTS
from sapwood.testing.scripted.wires.responses.rules.items import kind_of
from sapwood.testing.scripted.wires.wire import Post, Violation

__all__ = ["pair_violations"]

_CALL_OF = {output: (call, words) for call, (output, words) in RESULTS.items()}


def pair_violations(post: Post) -> Iterator[Violation]:
    """What is wrong between calls and results."""
    waiting: dict[tuple[str, str], str] = {}
    for item in objects_at(post.body, "input"):
        kind = kind_of(item)
        if kind in RESULTS:
            waiting[kind, _call_id(item)] = RESULTS[kind][1]
        elif kind in _CALL_OF:
            call, words = _CALL_OF[kind]
            if waiting.pop((call, _call_id(item)), None) is None:
                yield Violation(
                    f"No tool call found for {words} output with call_id {_call_id(item)}.", "input"
                )
    for (_, call), words in waiting.items():
        yield Violation(f"No tool output found for {words} {call}.", "input")


def _call_id(item: JsonObject) -> str:
    return text_at(item, "call_id") or text_at(item, "id")
