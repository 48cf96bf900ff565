"""Requests of Claude Code, rebuilt from a transcript that is written here row by row."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from sapwood.core.content import Text, ToolCall
from sapwood.core.view.request import ToolResult
from sapwood.programs.claude_code.sent_requests import rebuild_request, sent_requests

Row = dict[str, Any]

SHAPE: Row = {"system": [{"type": "text", "text": "Be careful."}], "tools": [{"name": "Bash"}]}


def hash_of(value: Row) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def user(*blocks: Row) -> Row:
    return {"role": "user", "content": list(blocks)}


def text(words: str) -> Row:
    return {"type": "text", "text": words}


CALL: Row = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
ASKED = user(text("Was ist hier? 🌲"))
REPLY: Row = {"role": "assistant", "content": [text("I look."), CALL]}
RESULT = user({"type": "tool_result", "tool_use_id": "t1", "content": "a.txt", "is_error": False})
NOTE: Row = {"role": "system", "content": [text("Today is Sunday.")]}


def request(id: str, tail: list[Row], base: str | None = None, keep: int = 0) -> Row:
    row: Row = {
        "type": "api-request",
        "id": id,
        "timestamp": "2026-11-15T20:32:57.017Z",
        "params": {"model": "claude-opus-5-5"},
        "shapeHash": hash_of(SHAPE),
        "keep": keep,
        "tail": [hash_of(each) for each in tail],
        "requestDigest": f"digest of {id}",
    }
    return {**row, "base": base} if base else row


ROWS: list[Row] = [
    # A prompt is stored as a text, and hashed as a block.
    {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Was ist hier? 🌲"}},
    {"type": "api-request-shape", "shapeHash": hash_of(SHAPE), "shape": SHAPE},
    {"type": "api-request-blob", "hash": hash_of(NOTE), "message": NOTE},
    request("r1", [ASKED, NOTE]),
    # One reply in two rows.
    {"type": "assistant", "message": {"id": "m1", "content": [text("I look.")]}},
    {"type": "assistant", "message": {"id": "m1", "content": [CALL]}},
    {"type": "user", "uuid": "u2", "message": RESULT},
    request("r2", [REPLY, RESULT], base="r1", keep=1),
]


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    return path


def test_every_request_is_listed(transcript: Path) -> None:
    first, second = sent_requests(transcript)
    assert (first.number, first.model, first.digest) == (1, "claude-opus-5-5", "digest of r1")
    assert second.messages == (hash_of(ASKED), hash_of(REPLY), hash_of(RESULT))


def test_a_request_repeats_the_beginning_of_its_base(transcript: Path) -> None:
    rebuilt = rebuild_request(transcript, sent_requests(transcript)[1])
    assert rebuilt.missing == 0
    assert [message.parts for message in rebuilt.request.messages] == [
        (Text("Was ist hier? 🌲"),),
        (Text("I look."), ToolCall("t1", "Bash", '{"command":"ls"}')),
        (ToolResult("t1", "Bash", "a.txt"),),
    ]


def test_system_prompt_and_tools_are_shown(transcript: Path) -> None:
    rebuilt = rebuild_request(transcript, sent_requests(transcript)[0])
    assert [block.text for block in rebuilt.request.system] == ["Be careful.", "[Tools: Bash]"]
    assert [message.text for message in rebuilt.request.messages][1] == "[system] Today is Sunday."


@pytest.mark.parametrize("changed", range(len(ROWS)))
def test_a_changed_row_is_noticed(transcript: Path, changed: int) -> None:
    """Whatever was changed: the part is missing, and nothing else is shown in its place."""
    if ROWS[changed]["type"] == "api-request":
        return
    rows = [json.dumps(row) for row in ROWS]
    rows[changed] = rows[changed].replace("o", "0").replace("a.txt", "b.txt").replace("I l", "U l")
    before = transcript.read_text()
    transcript.write_text("".join(f"{row}\n" for row in rows))
    assert transcript.read_text() != before
    missing = [rebuild_request(transcript, sent).missing for sent in sent_requests(transcript)]
    assert max(missing) > 0


def test_rows_that_cannot_be_read_are_skipped(transcript: Path) -> None:
    with transcript.open("a") as file:
        file.write('{"type":"api-request","id":\n{"type":"user","message":7}\n')
    assert [rebuild_request(transcript, sent).missing for sent in sent_requests(transcript)] == [
        0,
        0,
    ]


def test_requests_without_their_messages_are_not_listed(transcript: Path) -> None:
    """Earlier versions of Claude Code stored no hashes of messages."""
    bare = {key: value for key, value in ROWS[3].items() if key != "tail"}
    transcript.write_text(json.dumps(bare) + "\n")
    assert sent_requests(transcript) == []
