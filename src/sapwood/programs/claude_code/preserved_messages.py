"""What a compaction of Claude Code left in view: whole turns, and single messages.

Sapwood shows a turn as a whole or not at all. A compaction that names whole turns is followed
exactly, whichever turns they are. Otherwise single messages are quoted after the summary,
where the model reads the same text.
"""

from collections.abc import Sequence

from msgspec import Struct

from sapwood.core.content import ReplyPart, ToolCall
from sapwood.programs.claude_code.rows import Compaction


class MessageLine(Struct, frozen=True, gc=False):
    """A message since the last compaction: its row, its turn, who wrote it, and its parts."""

    uuid: str
    turn: int
    who: str
    parts: Sequence[ReplyPart | str]

    def __str__(self) -> str:
        return f"{self.who}: {' '.join(map(_shown, self.parts))}"


class PreservedMessages(Struct, frozen=True):
    """How many of the last turns are whole, the other messages as text, and all kept lines."""

    turns: int
    quoted: str
    lines: list[MessageLine]


def preserved_ids(compaction: Compaction | None, lines: Sequence[MessageLine]) -> set[str]:
    """The ids of the rows that a compaction left in view, according to its metadata."""
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


def preserved_messages(
    lines: Sequence[MessageLine], wanted: set[str], turns: int
) -> PreservedMessages:
    """What is left in view of these lines, after this many turns."""
    whole = turns
    while whole > 0 and _is_whole(lines, wanted, whole - 1):
        whole -= 1
    kept = [line for line in lines if line.uuid in wanted]
    quoted = [str(line) for line in kept if line.turn < whole]
    return PreservedMessages(turns - whole, "\n\n".join(quoted), kept)


def _is_whole(lines: Sequence[MessageLine], wanted: set[str], turn: int) -> bool:
    ids = [line.uuid for line in lines if line.turn == turn]
    return bool(ids) and wanted.issuperset(ids)


def _shown(part: ReplyPart | str) -> str:
    if isinstance(part, str):
        return part
    return f"[{part.name} {part.args}]" if isinstance(part, ToolCall) else part.text
