"""What a compaction of Claude Code left in view: whole turns, and messages without their turn.

A turn is in view as a whole or not at all, so messages that stayed without the rest of theirs are
quoted beside the summary: what the model reads is the same.
"""

from collections.abc import Sequence

from msgspec import Struct

from sapwood.core.content import ReplyPart, ToolCall
from sapwood.sources.claude.rows import Compaction

__all__ = ["Line", "Stayed", "preserved", "stayed"]


class Line(Struct, frozen=True, gc=False):
    """One row of the conversation since the last compaction: whose turn, who spoke, what."""

    uuid: str
    turn: int
    who: str
    parts: Sequence[ReplyPart | str]

    def __str__(self) -> str:
        return f"{self.who}: {' '.join(map(_shown, self.parts))}"


class Stayed(Struct, frozen=True):
    """How many of the last turns stayed whole, what else stayed, and the lines of both."""

    turns: int
    quoted: str
    lines: list[Line]


def preserved(compaction: Compaction | None, lines: Sequence[Line]) -> set[str]:
    """The ids of the rows that a compaction says it left in view."""
    if compaction is None:
        return set()
    if compaction.preserved and compaction.preserved.uuids:
        return set(compaction.preserved.uuids)
    segment = compaction.segment
    ids = [line.uuid for line in lines]
    if not segment or segment.head not in ids:
        return set()
    start = ids.index(segment.head)
    end = ids.index(segment.tail) + 1 if segment.tail in ids[start:] else len(ids)
    return set(ids[start:end])


def stayed(lines: Sequence[Line], wanted: set[str], turns: int) -> Stayed:
    """What stayed of these lines, when so many turns were told so far."""
    whole = turns
    while whole > 0 and _is_whole(lines, wanted, whole - 1):
        whole -= 1
    kept = [line for line in lines if line.uuid in wanted]
    quoted = [str(line) for line in kept if line.turn < whole]
    return Stayed(turns - whole, "\n\n".join(quoted), kept)


def _is_whole(lines: Sequence[Line], wanted: set[str], turn: int) -> bool:
    ids = [line.uuid for line in lines if line.turn == turn]
    return bool(ids) and wanted.issuperset(ids)


def _shown(part: ReplyPart | str) -> str:
    if isinstance(part, str):
        return part
    return f"[{part.name} {part.args}]" if isinstance(part, ToolCall) else part.text
