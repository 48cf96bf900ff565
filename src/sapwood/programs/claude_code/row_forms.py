"""The rows that Sapwood appends to a Claude Code transcript, in the program's own form.

Every row has `writtenBy: sapwood`, so that a reader can tell these rows from the program's own.
Which rows close a history depends on how it ends: with an answer, or in the middle of a turn.
"""

import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from sapwood.core.content import File, PromptPart, Text, Thinking, ToolCall
from sapwood.core.turn import Reply, Turn
from sapwood.core.view.build import messages_of
from sapwood.core.view.request import Message, MessagePart, ToolResult
from sapwood.programs.claude_code.rows import WRITER, ClaudeBlock, ClaudeRow, decode_row, text_of
from sapwood.programs.claude_code.user_text import Kind, classify_user_text
from sapwood.programs.prompt_parts import PICTURES, prompt_text
from sapwood.programs.transcripts.row_file import decode_json

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
        blocks = [ClaudeBlock("text", content)] if isinstance(content, str) else content or []
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


def _without_local_commands(rows: Sequence[ClaudeRow]) -> Sequence[ClaudeRow]:
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


def _kind(row: ClaudeRow) -> Kind | None:
    """The kind of the text of a user row; None for a row that is none or has a result."""
    content = row.message.content if row.message else None
    if row.type != "user" or not content:
        return None
    if not isinstance(content, str) and any(each.type == "tool_result" for each in content):
        return None
    return classify_user_text(text_of(content), meta=bool(row.is_meta)).kind


INTERRUPTED = "[Request interrupted by user]"
"""What the program itself writes at the end of a turn that was stopped."""

_SPACE = uuid.UUID("6f2d7a0e-6c0f-5f0a-9a4e-2b7f6a1d9c35")
_CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PDF = "application/pdf"
_TOOL_NAME = re.compile(r"[^A-Za-z0-9_-]")
_NO_USAGE = {
    "input_tokens": 0,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 0,
}


class RowContext(Struct, frozen=True):
    """What every row of one session says: its id, the folder, and the program's version."""

    session: str
    folder: str
    version: str


class NewRow(Struct, frozen=True):
    """A row to append: its id and its content."""

    uuid: str
    fields: dict[str, Any]  # the program's own JSON, of which this project knows only a part

    def encoded(self, parent: str | None) -> bytes:
        """The line, after its parent."""
        return msgspec.json.encode({"parentUuid": parent, **self.fields}) + b"\n"


def prompt_id(session: str, turn: str, attempt: int = 0) -> str:
    """The id of the row of a prompt, from the id of its turn: the same each time.

    A prompt that is sent again after a crash needs an id of its own, because a row that has the id
    of an earlier one counts as that one.
    """
    return str(uuid.uuid5(_SPACE, f"prompt {session} {turn} {attempt}"))


def boundary_row(context: RowContext, kept: Sequence[str], anchor: str | None = None) -> NewRow:
    """The row after which the history is exactly the kept rows, behind the row `anchor`."""
    own = str(uuid.uuid4())
    listed = list(kept)
    fields = {
        "logicalParentUuid": listed[-1] if listed else None,
        "isSidechain": False,
        "type": "system",
        "subtype": "compact_boundary",
        "content": "Changed by Sapwood",
        "isMeta": False,
        "level": "info",
        "compactMetadata": {
            "trigger": "manual",
            "preTokens": 0,
            "preservedMessages": {
                "anchorUuid": anchor or own,
                "uuids": listed,
                "allUuids": listed,
            },
        },
    }
    return NewRow(own, _completed(context, own, fields))


def front_row(context: RowContext, texts: Sequence[str]) -> NewRow:
    """The row with the texts before the first turn, such as a summary."""
    content = texts[0] if len(texts) == 1 else [{"type": "text", "text": each} for each in texts]
    own = str(uuid.uuid4())
    fields = {
        "isSidechain": False,
        "type": "user",
        "message": {"role": "user", "content": content},
        "isVisibleInTranscriptOnly": True,
        "isCompactSummary": True,
    }
    return NewRow(own, _completed(context, own, fields))


def closing_rows(context: RowContext, end: HistoryEnd) -> list[NewRow]:
    """The rows behind a history that does not end with an answer of the model.

    Without these rows the program inserts an answer that no model gave. They are what the program
    itself writes: results of open calls, that the turn was interrupted, and today's date.
    """
    if end.is_answered:
        return []
    results = [
        {"type": "tool_result", "tool_use_id": call, "content": INTERRUPTED, "is_error": True}
        for call in end.open_calls
    ]
    told = end.is_told or end.is_empty
    said = [] if told else [{"type": "text", "text": INTERRUPTED}]
    rows = [_closing_row(context, blocks) for blocks in (results, said) if blocks]
    return [*rows, _date_row(context)]


def _closing_row(context: RowContext, blocks: Sequence[Mapping[str, object]]) -> NewRow:
    own = str(uuid.uuid4())
    message = {"role": "user", "content": blocks}
    fields = {"isSidechain": False, "type": "user", "message": message, "closesTurn": True}
    return NewRow(own, _completed(context, own, fields))


def _date_row(context: RowContext) -> NewRow:
    today = f"{datetime.now().astimezone():%Y-%m-%d}"
    reminder = f"<system-reminder>\nToday's date is {today}.\n</system-reminder>"
    own = str(uuid.uuid4())
    fields = {
        "isSidechain": False,
        "attachment": {"type": "date", "date": today},
        "type": "attachment",
        "rendered": [{"content": reminder}],
        "renderedRole": "system",
        "closesTurn": True,
    }
    return NewRow(own, _completed(context, own, fields))


def copied_row(context: RowContext, row: bytes, own: str) -> NewRow:
    """A row of another session of the program, as it is, for this session."""
    fields = decode_json(row, dict[str, Any])
    fields.pop("parentUuid", None)
    return NewRow(own, {**fields, "uuid": own, "sessionId": context.session, "writtenBy": WRITER})


def opening_row(context: RowContext, turn: Turn, shown: Sequence[Message] = ()) -> NewRow:
    """The prompt of a turn as our view sends it: for a turn whose own rows begin with a reply.

    No provider takes a history that begins with a reply. The id depends on the content alone.
    """
    first, *_ = shown or messages_of(turn)
    blocks = [block for part in first.parts for block in _blocks(part)]
    digest = msgspec.json.encode([context.session, turn.agent, turn.first, "opening", blocks])
    own = str(uuid.uuid5(_SPACE, digest.decode()))
    message = {"role": "user", "content": _content(blocks)}
    fields = {"isSidechain": False, "type": "user", "message": message}
    return NewRow(own, _completed(context, own, fields))


def turn_rows(
    context: RowContext, turn: Turn, shown: Sequence[Message] = ()
) -> tuple[list[NewRow], bool]:
    """The rows of a turn that another executor ran, and whether reasoning had to be left out.

    `shown` are its messages as a view sends them, if they differ from the turn itself.

    The ids depend on the session and the content alone, so that writing them again changes nothing.
    """
    lost = False
    found: list[NewRow] = []
    model = next((item.model for item in turn.items if isinstance(item, Reply) and item.model), "")
    messages = list(shown or messages_of(turn))
    if messages[-1].role == "user":
        messages.append(Message("user", (Text(INTERRUPTED),)))
    for number, message in enumerate(messages):
        made = [_blocks(part) for part in message.parts]
        blocks = [block for each in made for block in each]
        lost = lost or not all(made)
        if not blocks:
            continue
        digest = msgspec.json.encode([context.session, turn.agent, turn.first, number, blocks])
        own = str(uuid.uuid5(_SPACE, digest.decode()))
        said: dict[str, Any] = {"role": message.role, "content": _content(blocks)}
        if message.role == "assistant":
            said = {
                "id": f"msg_{own.replace('-', '')}",
                "type": "message",
                "model": model or "unknown",
                **said,
                "content": blocks,
                "stop_reason": "tool_use" if blocks[-1]["type"] == "tool_use" else "end_turn",
                "stop_sequence": None,
                "usage": _NO_USAGE,
            }
        fields = {"isSidechain": False, "type": message.role, "message": said}
        found.append(NewRow(own, _completed(context, own, fields)))
    return found, lost


def _content(blocks: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """One text alone is stored as a string, as the program does."""
    if len(blocks) == 1 and blocks[0]["type"] == "text":
        return blocks[0]["text"]
    return blocks


def prompt_blocks(part: PromptPart) -> list[dict[str, Any]]:
    """A part of a prompt: its text, and after the name of a picture or a PDF its content."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": prompt_text(part)}]
    if isinstance(part, File) and part.media_type in {*PICTURES, _PDF}:
        source = {"type": "base64", "media_type": part.media_type, "data": part.data}
        kind = "document" if part.media_type == _PDF else "image"
        blocks.append({"type": kind, "source": source})
    return blocks


def _blocks(part: MessagePart) -> list[dict[str, Any]]:
    """The blocks of a part; none if the program cannot take it."""
    match part:
        case Text() | File():
            return prompt_blocks(part)
        case Thinking():
            if part.provider != "anthropic" or not part.signature:
                return []
            return [{"type": "thinking", "thinking": part.text, "signature": part.signature}]
        case ToolCall():
            name = _TOOL_NAME.sub("_", part.name)[:128] or "unknown"
            use = {"type": "tool_use", "id": call_id(part.id), "name": name, "input": _input(part)}
            return [use]
        case ToolResult():
            block = {"type": "tool_result", "tool_use_id": call_id(part.call)}
            return [{**block, "content": part.content, "is_error": part.error}]


def call_id(call: str) -> str:
    """The id of a call, or one made from it if the provider would refuse it."""
    return call if _CALL_ID.fullmatch(call) else f"toolu_{uuid.uuid5(_SPACE, call).hex}"


def _input(call: ToolCall) -> dict[str, Any]:
    try:
        return msgspec.json.decode(call.args, type=dict[str, Any])
    except (msgspec.MsgspecError, ValueError):
        return {"arguments": call.args}


def _completed(context: RowContext, own: str, fields: dict[str, Any]) -> dict[str, Any]:
    now = datetime.now(UTC)
    return {
        **fields,
        "uuid": own,
        "timestamp": f"{now:%Y-%m-%dT%H:%M:%S}.{now.microsecond // 1000:03}Z",
        "userType": "external",
        "cwd": context.folder,
        "sessionId": context.session,
        "version": context.version,
        "writtenBy": WRITER,
    }
