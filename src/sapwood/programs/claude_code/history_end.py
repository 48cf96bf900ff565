"""How a history ends: with an answer of the model, or in the middle of a turn."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from sapwood.programs.claude_code.rows import Block, Row, decode_row, text_of
from sapwood.programs.claude_code.user_text import Kind, classify_user_text

_INTERRUPTION = "[Request interrupted by user"
_OF_THE_PROGRAM: frozenset[Kind] = frozenset({"command", "output", "note", "caveat"})


class HistoryEnd(Struct, frozen=True):
    """The end of a history.

    `is_answered`: the model has answered, so that nothing has to be added. `is_told`: the last text
    says that the turn was interrupted. `is_empty`: there is no message. `open_calls` are tool calls
    without a result.
    """

    is_answered: bool
    is_told: bool = False
    is_empty: bool = False
    open_calls: tuple[str, ...] = ()


def history_end(rows: Iterable[bytes]) -> HistoryEnd:
    """How a history ends, from its rows, the last one first."""
    message = text = ""
    calls: list[str] = []
    done: set[str] = set()
    has_user = False
    decoded_rows = [each for each in map(decode_row, rows) if each and each.message]
    for decoded in _without_local_commands(decoded_rows):
        if decoded.message is None or decoded.type == "attachment":
            continue
        content = decoded.message.content
        blocks = [Block("text", content)] if isinstance(content, str) else content or []
        if decoded.type == "user":
            results = [each.tool_use_id for each in blocks if each.type == "tool_result"]
            if message or (has_user and not results and done):
                break
            text = text or text_of(content)
            done.update(filter(None, results))
            has_user = True
            if not results and not text.startswith(_INTERRUPTION):
                break
        else:
            if message and decoded.message.id != message:
                break
            message = decoded.message.id or "unknown"
            calls[:0] = [each.id for each in blocks if each.type == "tool_use" and each.id]
    waiting = tuple(call for call in calls if call not in done)
    if not has_user and not waiting:
        return HistoryEnd(bool(message), is_empty=not message)
    return HistoryEnd(False, text.startswith(_INTERRUPTION), open_calls=waiting)


def _without_local_commands(rows: Sequence[Row]) -> Sequence[Row]:
    """The rows without commands at the end that the program ran itself, the last row first.

    They need no answer. The program writes a caveat in front of each, and none in front of a
    command that it gives to the model.
    """
    start = 0
    for number, row in enumerate(rows):
        kind = _kind(row)
        if kind not in _OF_THE_PROGRAM:
            break
        if kind == "caveat":
            start = number + 1
    return rows[start:]


def _kind(row: Row) -> Kind | None:
    """The kind of the text of a user row; None for a row that is none or has a result."""
    content = row.message.content if row.message else None
    if row.type != "user" or not content:
        return None
    if not isinstance(content, str) and any(each.type == "tool_result" for each in content):
        return None
    return classify_user_text(text_of(content), meta=bool(row.is_meta)).kind
