"""Compares what Codex sent after a change of its history with the history that it should have.

There are two checks. The rows before the turn must be exactly the history: this finds a thread that
somebody else changed, a change that Codex did not take over, and its own compactions. And the input
tokens that Codex reports for the turn's first request must be near what the history is worth: this
finds a request that differs from the rows. The second check knows the instructions and tools of
Codex only by an earlier turn of the thread, and characters are a rough measure of tokens. So it
reports only a clear difference, and nothing if the thread has no earlier turn.
"""

import re
from collections.abc import Sequence

from sapwood.programs.codex.history_change import has_same
from sapwood.programs.codex.thread_history import HistoryItem, ThreadHistory, ThreadTurn

_CHARACTERS = 4.0
_PICTURE = re.compile(rb'data:image/[^"]*')
_PICTURE_TOKENS = 1_000
_FACTOR = 2.0
_SLACK = 4_000


def difference_in_rows(
    history: ThreadHistory, turn: ThreadTurn, wanted: Sequence[HistoryItem]
) -> str:
    """How the history before a turn differs from the wanted one; empty if it does not."""
    found = history.before(turn)
    if has_same(found, wanted):
        return ""
    return (
        f"Codex's session had {len(found)} items of history where {len(wanted)} were expected. "
        "It was changed outside Sapwood, or Codex compacted it."
    )


def difference_in_tokens(
    history: ThreadHistory, turn: ThreadTurn, wanted: Sequence[HistoryItem]
) -> str:
    """How the first request of a turn differs in size from the wanted history; empty if not."""
    base = _base_tokens(history, turn)
    if base is None or not turn.tokens:
        return ""
    expected = _estimate(wanted)
    found = turn.tokens - base
    low, high = expected / _FACTOR - _SLACK, expected * _FACTOR + _SLACK
    if low <= found <= high:
        return ""
    return (
        f"Codex's request had about {max(found, 0):,.0f} tokens of history where about "
        f"{expected:,.0f} were expected."
    )


def _base_tokens(history: ThreadHistory, turn: ThreadTurn) -> float | None:
    """The tokens of instructions and tools, from the smallest earlier request that is known."""
    earlier = [each for each in history.turns if each.tokens and each is not turn]
    bases = [each.tokens - _estimate(history.before(each)) for each in earlier]
    return max(min(bases), 0) if bases else None


def _estimate(items: Sequence[HistoryItem]) -> float:
    tokens = 0.0
    for item in items:
        text, pictures = _PICTURE.subn(b"", item.key)
        tokens += len(text) / _CHARACTERS + pictures * _PICTURE_TOKENS
    return tokens
