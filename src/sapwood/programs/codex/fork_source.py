"""Finds the thread and the turn at which a fork has a wanted history."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from sapwood.programs.agent_provider import History
from sapwood.programs.codex.history_change import has_same
from sapwood.programs.codex.program import PROGRAM
from sapwood.programs.codex.rollout_files import current_file
from sapwood.programs.codex.thread_history import HistoryItem, RolloutReader, ThreadHistory


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
