"""Gemini CLI chats: rows that take the place of earlier ones, rewinds, compressed histories."""

import json
from pathlib import Path
from typing import Any

from sapwood.core.content import Text
from sapwood.core.turn import Reply, Result
from sapwood.programs.registry import resume_command_for
from sapwood.programs.transcripts.session_reader import read_session
from tests.programs.transcripts.writing import GeminiFile


def call(id: str, result: str | None = None, status: str = "success") -> dict[str, Any]:
    answer = {"functionResponse": {"id": id, "response": {"output": result}}}
    made = {"id": id, "name": "read_file", "args": {"path": "a.py"}, "status": status}
    return made | ({"result": [answer]} if result is not None else {})


def test_the_last_row_of_a_message_wins(tmp_path: Path) -> None:
    file = GeminiFile(tmp_path)
    file.message("u1", "user", "Read a.py.")
    file.message("g1", "gemini", "", toolCalls=[call("c1", status="executing")], model="gemini-3")
    file.message("g1", "gemini", "", toolCalls=[call("c1", "x = 1")], model="gemini-3")
    tokens = {"input": 100, "output": 5, "cached": 60, "thoughts": 2, "total": 107}
    file.message("g2", "gemini", "It sets x.", tokens=tokens, model="gemini-3")
    session = read_session(file.path)
    (turn,) = session.turns
    reply, result, last = turn.items
    assert isinstance(reply, Reply)
    assert isinstance(result, Result)
    assert isinstance(last, Reply)
    assert (result.content, turn.status) == ("x = 1", "completed")
    assert (session.model, session.used) == ("gemini-3", 107)
    assert resume_command_for(session.source, session.id) == "gemini --resume 9e31"


def test_a_call_without_an_end_leaves_the_turn_open(tmp_path: Path) -> None:
    file = GeminiFile(tmp_path)
    file.message("u1", "user", "Read a.py.")
    file.message("g1", "gemini", "", toolCalls=[call("c1", status="executing")])
    (turn,) = read_session(file.path).turns
    assert turn.status == "open"


def test_a_rewind_leaves_turns_behind(tmp_path: Path) -> None:
    file = GeminiFile(tmp_path)
    for number in "12":
        file.message(f"u{number}", "user", f"Ask {number}.")
        file.message(f"g{number}", "gemini", f"Answer {number}.")
    file.add({"$rewindTo": "u2"})
    file.message("u3", "user", "Ask 3.")
    file.message("g3", "gemini", "Answer 3.")
    session = read_session(file.path)
    assert session.abandoned == (1,)
    assert session.last_request == "Ask 3."


def test_a_compressed_history_is_a_boundary(tmp_path: Path) -> None:
    file = GeminiFile(tmp_path)
    file.message("u1", "user", "Ask 1.")
    file.message("g1", "gemini", "Answer 1.")
    summary = {"id": "s1", "type": "user", "content": [{"text": "<state_snapshot>numbers"}]}
    kept = {"id": "g1", "type": "gemini", "content": [{"text": "Answer 1."}]}
    file.set(messages=[summary, kept])
    file.message("u2", "user", "Ask 2.")
    session = read_session(file.path)
    (boundary,) = session.boundaries
    assert (boundary.after, boundary.summary) == (1, "<state_snapshot>numbers")
    assert boundary.quoted == "gemini: Answer 1."
    assert [turn.prompt for turn in session.in_view] == [(Text("Ask 2."),)]


def test_a_chat_of_an_older_version_is_one_object(tmp_path: Path) -> None:
    file = GeminiFile(tmp_path)
    file.message("u1", "user", "Ask 1.")
    file.message("g1", "gemini", "Answer 1.")
    meta, *messages = [json.loads(line) for line in file.path.read_text().splitlines()]
    old = tmp_path / "session-old.json"
    old.write_text(json.dumps(meta | {"messages": messages, "summary": "Asking"}, indent=2))
    session, same = read_session(old), read_session(file.path)
    assert session.turns == same.turns
    assert session.title == "Asking"
