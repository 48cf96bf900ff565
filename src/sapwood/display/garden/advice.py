"""What could be forgotten, as suggestions with the tokens that each frees."""

from collections.abc import Sequence

from sapwood.core.counting import Count, show
from sapwood.display.garden.sections import entries
from sapwood.display.text import cut
from sapwood.garden.pruning import Advice, Prunable

__all__ = ["advice_lines"]

_WORDS = {
    "superseded read": "Read again or written since: {}",
    "test output": "Verbose test output: {}",
    "large result": "Large result: {}",
    "topic": '"{}"',
}
_MOST = 12


def advice_lines(advice: Advice, width: int) -> list[str]:
    """The suggestions; nothing is forgotten by them."""
    topics = [item for item in advice.items if item.reason == "topic"]
    results = [item for item in advice.items if item.reason != "topic"]
    if not advice.items:
        return ["Nothing in view stands out that could be forgotten."]
    lines = ["Suggested actions:"]
    if topics:
        lines += _group(1, "Archive background topics", topics, width)
    if results:
        number = 2 if topics else 1
        lines += _group(number, "These tool results can be summarized", results, width)
    return [*lines, "", "Run: context archive --background" if topics else "Run: context archive"]


def _group(number: int, title: str, items: Sequence[Prunable], width: int) -> list[str]:
    saved = show(Count(sum(item.tokens for item in items), all(item.exact for item in items)))
    shown = [_line(item) for item in items[:_MOST]]
    left_out = len(items) - _MOST
    more = [f"and {left_out} more"] if left_out > 0 else []
    head = f"{number}. {title} (saves {saved} tokens):"
    return ["", head, *entries([*shown, *more], width, "   ")]


def _line(item: Prunable) -> str:
    tokens = show(Count(item.tokens, item.exact))
    return f"{_WORDS[item.reason].format(cut(item.what, 80))} ({tokens})"
