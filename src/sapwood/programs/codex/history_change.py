"""Decides how a thread's history becomes another one, where to fork, and whether it was sent.

There are two checks of what Codex sent. The rows before the turn must be exactly the history: this
finds a thread that somebody else changed, a change that Codex did not take over, and its own
compactions. And the input tokens that Codex reports for the turn's first request must be near what
the history is worth: this finds a request that differs from the rows. The second check knows the
instructions and tools of Codex only by an earlier turn of the thread, and characters are a rough
measure of tokens. So it reports only a clear difference, and nothing without an earlier turn.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from sapwood.programs.agent_provider import History
from sapwood.programs.codex.program import PROGRAM
from sapwood.programs.codex.sessions import current_file
from sapwood.programs.codex.thread_history import (
    HistoryItem,
    RolloutReader,
    ThreadHistory,
    ThreadTurn,
)


class HistoryChange(Struct, frozen=True):
    """What a running server must do: revert to before a turn, then append items.

    `replace` means that no revert leads there, because what must go is not in a turn of the thread.
    """

    by: Literal["nothing", "cut", "inject", "replace"]
    before: ThreadTurn | None = None
    items: tuple[HistoryItem, ...] = ()


def has_same(one: Sequence[HistoryItem], other: Sequence[HistoryItem]) -> bool:
    """Whether the model cannot tell the two histories apart."""
    return len(one) == len(other) == _common(one, other)


def is_revertible(history: ThreadHistory) -> bool:
    """Whether a revert can empty the thread, so that any history can be given to it."""
    return history.mode == "paginated" and any(not turn.before for turn in history.turns)


def plan_change(history: ThreadHistory, wanted: Sequence[HistoryItem]) -> HistoryChange:
    """The change that keeps most: the fewest turns removed, the fewest items appended."""
    common = [_common(epoch, wanted) for epoch in history.epochs]
    now = len(history.items)
    if now == common[-1]:
        return _appending(None, now, wanted)
    fitting = [turn for turn in history.turns if turn.before <= common[turn.epoch]]
    if not fitting or history.mode != "paginated":
        return HistoryChange("replace", items=tuple(wanted))
    best = max(fitting, key=lambda turn: turn.before)
    # Of turns with the same place the first is taken: what came between them goes too.
    first = next(turn for turn in fitting if (turn.epoch, turn.before) == (best.epoch, best.before))
    return _appending(first, first.before, wanted)


def _appending(
    before: ThreadTurn | None, kept: int, wanted: Sequence[HistoryItem]
) -> HistoryChange:
    if kept == len(wanted):
        return HistoryChange("nothing" if before is None else "cut", before)
    return HistoryChange("inject", before, tuple(wanted[kept:]))


def _common(one: Sequence[HistoryItem], other: Sequence[HistoryItem]) -> int:
    """How many items the two have in common from the beginning."""
    for number, (left, right) in enumerate(zip(one, other, strict=False)):
        if not left.is_same(right):
            return number
    return min(len(one), len(other))


class ForkSource(Struct, frozen=True):
    """A thread, and the last turn of it that a fork keeps."""

    thread: str
    turn: str


def fork_source(history: History, wanted: Sequence[HistoryItem], home: Path) -> ForkSource | None:
    """Where to fork; None if no thread had exactly this history after one of its turns."""
    native = history.turns[-1].native if history.turns else None
    if native is None or native.session.program != PROGRAM.name or not native.session.id:
        return None
    path = current_file(home, native.session.id)
    if path is None:
        return None
    try:
        thread = RolloutReader(home).read(path)
    except OSError:
        return None
    if thread.mode != "paginated":
        return None
    for number, turn in enumerate(thread.turns):
        if turn.ending and has_same(_after(thread, number), wanted):
            return ForkSource(native.session.id, turn.id)
    return None


def _after(thread: ThreadHistory, number: int) -> list[HistoryItem]:
    """What the model saw after a turn."""
    if number + 1 < len(thread.turns):
        return thread.before(thread.turns[number + 1])
    return thread.items


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
