"""Gemini CLI chats: rows that take the place of earlier ones, rewinds, compressed histories."""

import json
from pathlib import Path
from typing import Any

from sapwood.core.content import Text
from sapwood.core.turn import Reply, Result
from sapwood.programs.gemini.reader import GeminiReader
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


def context() -> dict[str, Any]:
    """What the program writes in front of every chat, and again at each start."""
    text = "<session_context>\nThis is the Gemini CLI.\n</session_context>"
    return {"id": "c0", "type": "user", "content": [{"text": text}]}


def test_the_description_of_the_folder_is_neither_a_turn_nor_a_summary(tmp_path: Path) -> None:
    file = GeminiFile(tmp_path)
    file.set(messages=[context()])
    file.message("u1", "user", "Ask 1.")
    file.message("g1", "gemini", "Answer 1.")
    file.set(messages=[context()])
    again = {"id": "u1", "type": "user", "content": [{"text": "Ask 1."}]}
    file.set(messages=[context(), again])
    file.message("u2", "user", "Ask 2.")
    session = read_session(file.path)
    assert not session.boundaries
    assert [turn.prompt for turn in session.in_view] == [(Text("Ask 1."),), (Text("Ask 2."),)]


def test_the_results_of_tools_are_no_prompt(tmp_path: Path) -> None:
    file = GeminiFile(tmp_path)
    file.message("u1", "user", "Read a.py.")
    file.message("g1", "gemini", "", toolCalls=[call("c1", "x = 1")])
    answer = {"functionResponse": {"id": "c1", "response": {"output": "x = 1"}}}
    file.add({"id": "u2", "timestamp": file.now, "type": "user", "content": [answer]})
    file.message("g2", "gemini", "It sets x.")
    (turn,) = read_session(file.path).turns
    assert [type(item) for item in turn.items] == [Reply, Result, Reply]


def test_a_history_that_is_written_again_needs_the_rows_before_it(tmp_path: Path) -> None:
    reader = GeminiReader()
    written = {"id": "u1", "type": "user", "content": [{"text": "Ask 1."}]}
    reader.feed(json.dumps({"$set": {"messages": [context(), written]}}).encode(), 4_000)
    reader.finish()
    assert reader.needs_earlier_rows
    assert not reader.events
