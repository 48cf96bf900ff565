"""Compares the request that Claude Code sent with the history that it should have had.

The program stores every request in its transcript. The texts of the user are compared with the rows
of the history: those in front, the prompt of each kept turn, and the new prompt. What the program
itself adds to prompts has tags and is left out. Tool calls are compared with our own view: a
program that was killed may have told calls that it never wrote.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from sapwood.core.content import Text, ToolCall
from sapwood.core.view.request import Request
from sapwood.programs.agent_provider import History
from sapwood.programs.claude_code.history_rows import HistoryRows
from sapwood.programs.claude_code.row_forms import call_id
from sapwood.programs.claude_code.rows import ClaudeBlock, decode_row
from sapwood.programs.claude_code.sent_requests import rebuild_request, sent_requests
from sapwood.programs.claude_code.transcript import Transcript
from sapwood.programs.claude_code.user_text import classify_user_text

_MAX_REQUESTS = 4
_MAX_LENGTH = 60
_OF_THE_PROGRAM = ("<", "[system] ", "[Request interrupted by user", "[Image: source: ")
_TYPED = frozenset({"prompt", "command"})
"""The texts that the user typed: a request must have each of them."""
_COMMAND = "<command-"
_FILES = frozenset({"[image]", "[document]"})
"""What stands for a file in a request that was read. Files are not compared, only their names."""


class ExpectedRequest(Struct, frozen=True):
    """The texts that a request must contain in this order, and others that it may contain.

    `calls` are the tool calls that it must contain, as pairs of id and name.
    """

    wanted: tuple[str, ...]
    allowed: frozenset[str] = frozenset()
    calls: tuple[tuple[str, str], ...] = ()


def expected_request(
    transcript: Transcript, rows: HistoryRows, history: History
) -> ExpectedRequest:
    """What the next request must contain before its prompt."""
    made = {row.uuid: row.fields for row in rows.new}
    wanted, allowed = list(rows.front), set[str]()
    for uuid in rows.uuids:
        if uuid in made:
            texts, meta = _texts_of(made[uuid]), False
        else:
            texts, meta = _stored_texts(transcript, uuid)
        for text in texts:
            kind = classify_user_text(text, meta=meta).kind
            (wanted.append if kind in _TYPED else allowed.add)(text)
    calls = [
        (call_id(part.id), part.name)
        for turn in history.turns
        for message in turn.messages
        for part in message.parts
        if isinstance(part, ToolCall)
    ]
    texts = tuple(map(str.strip, wanted))
    return ExpectedRequest(texts, frozenset(map(str.strip, allowed)), tuple(calls))


def difference(path: Path, since: int, expected: ExpectedRequest, prompt: Sequence[str]) -> str:
    """How the first request with this prompt differs from what it should contain.

    Empty if it does not differ, or if the program stored no request. `since` is in microseconds.
    """
    asked = [text.strip() for text in prompt if text.strip()]
    sent = [each for each in sent_requests(path) if each.at >= since]
    for each in sent[:_MAX_REQUESTS]:
        rebuilt = rebuild_request(path, each)
        texts = _user_texts(rebuilt.request)
        if not rebuilt.missing and asked and asked[0] in texts:
            wanted = [*filter(None, expected.wanted), *asked]
            return _compared(wanted, texts, expected.allowed) or _lost_call(
                expected.calls, rebuilt.request
            )
    return ""


def _compared(wanted: list[str], sent: list[str], allowed: frozenset[str]) -> str:
    place = 0
    wanted = [text for text in wanted if text not in _FILES]
    for text in sent:
        if place < len(wanted) and text == wanted[place]:
            place += 1
        elif text not in allowed and text not in _FILES:
            missing = f" instead of '{_short(wanted[place])}'" if place < len(wanted) else ""
            return (
                f"Claude Code sent '{_short(text)}'{missing}, which differs from the live history."
            )
    if place < len(wanted):
        return f"Claude Code did not send '{_short(wanted[place])}', which is in the live history."
    return ""


def _lost_call(wanted: Iterable[tuple[str, str]], request: Request) -> str:
    parts = [part for message in request.messages for part in message.parts]
    sent = {part.id for part in parts if isinstance(part, ToolCall)}
    for call, name in wanted:
        if call not in sent:
            return f"Claude Code did not send a call of '{name}', which is in the live history."
    return ""


def _user_texts(request: Request) -> list[str]:
    texts = [
        part.text.strip()
        for message in request.messages
        if message.role == "user"
        for part in message.parts
        if isinstance(part, Text)
    ]
    return [
        text
        for text in texts
        if text and (text.startswith(_COMMAND) or not text.startswith(_OF_THE_PROGRAM))
    ]


def _stored_texts(transcript: Transcript, uuid: str) -> tuple[list[str], bool]:
    row = transcript.row(uuid)
    if row is None or row.type != "user":
        return [], False
    decoded = decode_row(transcript.bytes_of(row))
    content = decoded.message.content if decoded and decoded.message else None
    blocks = [ClaudeBlock("text", content)] if isinstance(content, str) else content or []
    return [block.text for block in blocks if block.type == "text" and block.text], bool(
        row.is_meta
    )


def _texts_of(fields: dict[str, Any]) -> list[str]:
    if fields.get("type") != "user":
        return []
    content = fields["message"]["content"]
    if isinstance(content, str):
        return [content]
    return [block["text"] for block in content if block.get("type") == "text"]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_LENGTH else f"{line[: _MAX_LENGTH - 1]}…"
