"""Finds or makes the rows of the turns that a session must contain."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from sapwood.core.plural import counted
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.providers.claude_code.row_forms import NewRow, RowContext, copied_row, turn_rows
from sapwood.providers.claude_code.transcript import LinkRow, Transcript
from sapwood.runtime.agent_provider import History, HistoryTurn
from sapwood.sources.claude.contents import text_of
from sapwood.sources.claude.rows import decode_row
from sapwood.sources.claude.user_text import classify_user_text

__all__ = ["HistoryRows", "find_rows", "native_row_ids", "require_known", "rows_for_history"]

_LEADING = frozenset({"command", "output", "note", "caveat"})
"""Texts of the program before a prompt: they belong to the turn that the prompt starts."""

OpenSession = Callable[[ProgramSession], Transcript | None]
"""Opens the transcript of another session, or its private copy; None if there is neither."""


class HistoryRows(Struct, frozen=True):
    """The ids of all rows in order, one group a turn, and the rows that have to be added."""

    groups: tuple[tuple[str, ...], ...]
    new: tuple[NewRow, ...] = ()
    loss: str = ""

    @property
    def uuids(self) -> list[str]:
        """All ids, in order."""
        return [uuid for group in self.groups for uuid in group]


def rows_for_history(
    history: History, transcript: Transcript, context: RowContext, open_session: OpenSession
) -> HistoryRows:
    """The rows of a history: those of the session, copies from other sessions, and new ones."""
    groups: list[tuple[str, ...]] = []
    new: list[NewRow] = []
    used: set[str] = set()
    added: set[str] = set()
    unreasoned = 0
    for each in history.turns:
        made: list[NewRow] = []
        found = _found_here(each, transcript, context)
        if found is None:
            made = _copied(each, context, open_session)
            if not made:
                made, lost = turn_rows(context, each.turn, each.messages)
                unreasoned += lost
            found = [row.uuid for row in made]
        group = [uuid for uuid in found if uuid not in used]
        used.update(group)
        for row in made:
            if row.uuid not in transcript.place and row.uuid not in added:
                added.add(row.uuid)
                new.append(row)
        groups.append(tuple(group))
    return HistoryRows(tuple(groups), tuple(new), _loss(unreasoned))


def native_row_ids(transcript: Transcript, rows: NativeRows) -> list[str] | None:
    """The ids of the rows of a turn; None if the transcript does not have all of them.

    Beside the rows from the first to the last one of the turn, these are texts of the program
    directly before, and attachments directly after.
    """
    found = find_rows(transcript, rows)
    return None if found is None else [row.uuid for row in found if row.uuid]


def find_rows(transcript: Transcript, rows: NativeRows) -> list[LinkRow] | None:
    """The rows of a turn; None if the transcript does not have all of them."""
    first = transcript.place.get(_uuid_in(rows.passage.first))
    last = transcript.place.get(_uuid_in(rows.passage.last))
    if first is None or last is None or first > last:
        return None
    start, end = first, last + 1
    while start > 0 and _is_leading(transcript, transcript.rows[start - 1]):
        start -= 1
    if not any(_is_said(row) for row in transcript.rows[:start]):
        start = 0  # what the program attached before the first prompt
    while end < len(transcript.rows) and _is_trailing(transcript.rows[end]):
        end += 1
    return [row for row in transcript.rows[start:end] if row.is_message]


def _found_here(each: HistoryTurn, transcript: Transcript, context: RowContext) -> list[str] | None:
    if each.native is None or each.native.session.id != context.session:
        return None
    return native_row_ids(transcript, each.native)


def _copied(each: HistoryTurn, context: RowContext, open_session: OpenSession) -> list[NewRow]:
    """The rows of a turn that another session of the program has."""
    if each.native is None or each.native.session.program != "claude-code":
        return []
    other = open_session(each.native.session)
    rows = find_rows(other, each.native) if other else None
    if other is None or not rows:
        return []
    return [copied_row(context, other.bytes_of(row), row.uuid or "") for row in rows]


def _uuid_in(key: str) -> str:
    """The id in the key of a row; a row that was written twice has its place behind the id."""
    return key.partition("@")[0]


def _is_leading(transcript: Transcript, row: LinkRow) -> bool:
    if row.type != "user" or not row.is_message:
        return False
    decoded = decode_row(transcript.bytes_of(row))
    if decoded is None or decoded.message is None:
        return False
    content = decoded.message.content
    if not isinstance(content, str) and any(each.type == "tool_result" for each in content or ()):
        return False
    return classify_user_text(text_of(content), meta=bool(row.is_meta)).kind in _LEADING


def _is_said(row: LinkRow) -> bool:
    return row.type in ("user", "assistant") or row.is_boundary


def _is_trailing(row: LinkRow) -> bool:
    if row.is_sidechain or row.type == "progress":
        return True
    return row.type == "attachment" or (row.type == "system" and not row.is_boundary)


def _loss(unreasoned: int) -> str:
    if not unreasoned:
        return ""
    turns = counted(unreasoned, "turn")
    return f"The reasoning in {turns} of another program could not be carried."


def require_known(uuids: Sequence[str], transcript: Transcript, new: Sequence[NewRow]) -> None:
    """Raises `ValueError` unless every id is that of a row, once, and none is a boundary.

    One unknown id would bring back the whole history, and one id twice would lose all of it.
    """
    made = {row.uuid for row in new}
    if len(set(uuids)) != len(uuids):
        raise ValueError("a row is listed twice")
    for uuid in uuids:
        row = transcript.row(uuid)
        if uuid not in made and (row is None or not row.is_message):
            raise ValueError(f"{uuid} is not a row that can be kept")
