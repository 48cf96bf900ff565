"""Finds or makes the rows of the turns that a session must contain."""

from collections.abc import Callable, Collection, Iterable, Sequence

from msgspec import Struct

from sapwood.core.content import ToolCall
from sapwood.core.plural import counted
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.core.view.frames import REQUEST_FRAME
from sapwood.programs.agent_provider import History, HistoryTurn
from sapwood.programs.claude_code.program import PROGRAM
from sapwood.programs.claude_code.row_forms import (
    NewRow,
    RowContext,
    copied_row,
    opening_row,
    turn_rows,
)
from sapwood.programs.claude_code.rows import WRITER, decode_row, parts_of, text_of
from sapwood.programs.claude_code.transcript import LinkRow, Transcript
from sapwood.programs.claude_code.user_text import classify_user_text
from sapwood.programs.prompt_parts import shows

_LEADING = frozenset({"command", "output", "note", "caveat"})
"""Texts of the program before a prompt: they belong to the turn that the prompt starts."""
_LOCAL_COMMAND = "local_command"
"""A row of the type `system` that the program sends in the user's name."""

OpenSession = Callable[[ProgramSession], Iterable[Transcript]]
"""Opens the transcript of a session, if it is there, and then its private copies."""


class HistoryRows(Struct, frozen=True):
    """The ids of all rows in order, one group a turn, and the rows that have to be added.

    `waiting` are rows behind the last turn that belong to the next prompt, such as the output of a
    command that the program ran itself. `front` are the texts before the first row, and `kept` the
    rows that the program left behind its own summary, which is the front then.
    """

    groups: tuple[tuple[str, ...], ...]
    new: tuple[NewRow, ...] = ()
    loss: str = ""
    waiting: tuple[str, ...] = ()
    front: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    @property
    def uuids(self) -> list[str]:
        """All ids, in order."""
        return [uuid for group in (self.kept, *self.groups, self.waiting) for uuid in group]


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
        elif not groups and not history.front and _begins_with_a_reply(transcript, found):
            made = [opening_row(context, each.turn, each.messages)]
            found = [made[0].uuid, *found]
        group = [uuid for uuid in found if uuid not in used]
        used.update(group)
        for row in made:
            if row.uuid not in transcript.place and row.uuid not in added:
                added.add(row.uuid)
                new.append(row)
        groups.append(tuple(group))
    waiting = _waiting_rows(transcript, groups[-1][-1:]) if groups else []
    left = tuple(row.uuid for row in waiting if row.uuid and row.uuid not in used)
    own = find_program_summary(transcript, history.front, used)
    return HistoryRows(
        tuple(groups),
        tuple(new),
        _loss(unreasoned),
        left,
        (own.text,) if own else history.front,
        tuple(uuid for uuid in own.kept if uuid not in {*used, *left}) if own else (),
    )


def native_row_ids(transcript: Transcript, rows: NativeRows) -> list[str] | None:
    """The ids of the rows of a turn; None if the transcript does not have all of them.

    Beside the rows from the first to the last one of the turn, these are the rows of the program
    that its first row follows, and what the program wrote about the turn afterwards.
    """
    found = find_rows(transcript, rows)
    return None if found is None else [row.uuid for row in found if row.uuid]


def find_rows(transcript: Transcript, rows: NativeRows) -> list[LinkRow] | None:
    """The rows of a turn; None if the transcript does not have all of them."""
    first = transcript.place.get(_uuid_in(rows.passage.first))
    last = transcript.place.get(_uuid_in(rows.passage.last))
    if first is None or last is None or first > last:
        return None
    end = last + 1
    while end < len(transcript.rows) and _is_trailing(transcript.rows[end]):
        end += 1
    before = _leading_rows(transcript, transcript.rows[first])
    return [row for row in (*before, *transcript.rows[first:end]) if row.is_message]


def _leading_rows(transcript: Transcript, first: LinkRow) -> list[LinkRow]:
    """The rows of the program that the first row of a turn follows.

    These are texts that it wrote in the user's name, with everything between them and the first
    row: a command, for example, is followed by its text and by an attachment. What the program
    attached before the first prompt of a session belongs to its turn too.
    """
    found: list[LinkRow] = []
    between: list[LinkRow] = []
    row = first
    while row.parent_uuid is not None:
        parent = transcript.row(row.parent_uuid)
        if parent is None or not _is_of_the_program(transcript, parent):
            return found
        between.insert(0, parent)
        if _is_leading(transcript, parent):
            found, between = [*between, *found], []
        row = parent
    return [*between, *found]


def _waiting_rows(transcript: Transcript, last: Sequence[str]) -> list[LinkRow]:
    """The rows behind a turn that no turn has yet: texts of the program for the next prompt."""
    found: list[LinkRow] = []
    place = transcript.place.get(last[0]) if last else None
    if place is None:
        return []
    tail = last[0]
    for row in transcript.rows[place + 1 :]:
        if row.parent_uuid != tail or row.is_sidechain or not row.uuid:
            continue
        if not _is_of_the_program(transcript, row):
            return []  # they belong to the turn that begins here
        found.append(row)
        tail = row.uuid
    has_text = any(_is_leading(transcript, row) for row in found)
    return [row for row in found if row.is_message] if has_text else []


def _begins_with_a_reply(transcript: Transcript, uuids: Sequence[str]) -> bool:
    """Whether the first message of these rows is no prompt: a reply, or the result of a call."""
    rows = [row for uuid in uuids if (row := transcript.row(uuid)) is not None]
    first = next((row for row in rows if row.is_spoken or row.is_queued_prompt), None)
    return first is None or first.type == "assistant" or transcript.has_result(first)


def _found_here(each: HistoryTurn, transcript: Transcript, context: RowContext) -> list[str] | None:
    if each.native is None or each.native.session.id != context.session:
        return None
    return native_row_ids(transcript, each.native)


def _copied(each: HistoryTurn, context: RowContext, open_session: OpenSession) -> list[NewRow]:
    """The rows of a turn that another session of the program has, or a private copy."""
    if each.native is None or each.native.session.program != PROGRAM.name:
        return []
    for other in open_session(each.native.session):
        if rows := find_rows(other, each.native):
            return [copied_row(context, other.bytes_of(row), row.uuid or "") for row in rows]
    return []


def _uuid_in(key: str) -> str:
    """The id in the key of a row; a row that was written twice has its place behind the id."""
    return key.partition("@")[0]


def _is_leading(transcript: Transcript, row: LinkRow) -> bool:
    if row.type == "system":
        return row.subtype == _LOCAL_COMMAND
    if row.type != "user" or not row.is_message:
        return False
    decoded = decode_row(transcript.bytes_of(row))
    if decoded is None or decoded.message is None:
        return False
    content = decoded.message.content
    if not isinstance(content, str) and any(each.type == "tool_result" for each in content or ()):
        return False
    return classify_user_text(text_of(content), meta=bool(row.is_meta)).kind in _LEADING


def _is_of_the_program(transcript: Transcript, row: LinkRow) -> bool:
    """Whether the program, or Sapwood at the end of a history, wrote a row by itself."""
    return _is_leading(transcript, row) or _is_trailing(row) or bool(row.closes_turn)


def _is_trailing(row: LinkRow) -> bool:
    if row.is_sidechain or row.type in ("progress", "attachment"):
        return not row.closes_turn and not row.is_queued_prompt
    return row.type == "system" and not row.is_boundary and row.subtype != _LOCAL_COMMAND


def _loss(unreasoned: int) -> str:
    if not unreasoned:
        return ""
    turns = counted(unreasoned, "turn")
    return f"The reasoning in {turns} of another program could not be carried over."


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


class _ProgramSummary(Struct, frozen=True):
    """The text of the summary, and the rows that the program kept behind it."""

    text: str
    kept: tuple[str, ...] = ()


def find_program_summary(
    transcript: Transcript, front: Sequence[str], used: Collection[str] = ()
) -> _ProgramSummary | None:
    """The newest compaction of the program whose summary these texts contain; None if none is.

    A program can write the same summary twice. Then it is the one whose kept rows are shown too:
    in front, or as rows of turns, which are `used`. A quoted turn or a pin in front is none of the
    program's: then the texts are used as they are.
    """
    if not front or any(not text.startswith(REQUEST_FRAME) for text in front[1:]):
        return None
    found: list[_ProgramSummary] = []
    for row in reversed(transcript.rows):
        text = _own_text(transcript, row) if row.is_compact_summary else ""
        if text and shows(front[0], text):
            found.append(_ProgramSummary(text, _kept_rows(transcript, row)))
    if len(found) < 2:
        return next(iter(found), None)
    return max(found, key=lambda each: _likeness(transcript, each, front[0], used))


def _likeness(
    transcript: Transcript, summary: _ProgramSummary, front: str, used: Collection[str]
) -> tuple[int, int]:
    """The replies behind a summary that are shown nowhere, as a negative count, and those in front.

    The larger of two is the summary that the history has.
    """
    rows = [row for uuid in summary.kept if (row := transcript.row(uuid))]
    replies = [row for row in rows if row.type == "assistant"]
    quoted = [row.uuid for row in replies if _shows_reply(transcript, row, front)]
    hidden = [row for row in replies if row.uuid not in quoted and row.uuid not in used]
    return -len(hidden), len(quoted)


def _shows_reply(transcript: Transcript, row: LinkRow, front: str) -> bool:
    decoded = decode_row(transcript.bytes_of(row))
    parts = parts_of(decoded.message.content) if decoded and decoded.message else ()
    return all(
        shows(front, part.args if isinstance(part, ToolCall) else part.text) for part in parts
    )


def _own_text(transcript: Transcript, row: LinkRow) -> str:
    decoded = decode_row(transcript.bytes_of(row))
    if decoded is None or decoded.message is None or decoded.written_by == WRITER:
        return ""
    return text_of(decoded.message.content)


def _kept_rows(transcript: Transcript, summary: LinkRow) -> tuple[str, ...]:
    """The rows that the boundary before a summary lists; none if it lists none."""
    boundary = transcript.row(summary.parent_uuid or "")
    metadata = boundary.compact_metadata if boundary else None
    listed = metadata.preserved.uuids if metadata and metadata.preserved else None
    rows = [transcript.row(uuid) for uuid in listed or ()]
    return tuple(row.uuid for row in rows if row and row.uuid and row.is_message)
