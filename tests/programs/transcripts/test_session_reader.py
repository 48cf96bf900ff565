"""Whole sessions and their last part; files that are no transcripts."""

import os
import time
from pathlib import Path

import pytest

from sapwood.core.turn import Result
from sapwood.display.quantities import clock
from sapwood.programs.registry import resume_command_for
from sapwood.programs.transcripts.discovery import NotATranscript
from sapwood.programs.transcripts.session_reader import read_session, tail_session
from sapwood.programs.transcripts.transcript_events import microseconds
from tests.programs.transcripts.writing import ClaudeFile, CodexFile


def long_session(folder: Path, turns: int = 60) -> Path:
    file = ClaudeFile(folder)
    file.user("Plant a tree.")
    file.says("Planted.")
    for number in range(turns):
        file.user(f"Water it, {number}.")
        file.says(file.call(f"c{number}", command="water"))
        file.result(f"c{number}", "drip " * 300)
        file.says("Watered.")
    return file.path


def test_the_tail_ends_as_the_whole_does_and_knows_the_first_request(tmp_path: Path) -> None:
    path = long_session(tmp_path)
    whole, tail = read_session(path), tail_session(path, max_bytes=20_000)
    assert 1 < len(tail.turns) < 20
    last, same = tail.turns[-1], whole.turns[-1]
    assert (last.prompt, last.status) == (same.prompt, same.status)
    assert last.texts() == same.texts()
    assert tail.request == whole.request == "Plant a tree."
    assert (tail.used, tail.model, tail.id) == (whole.used, whole.model, whole.id)


def test_the_tail_of_a_short_transcript_is_all_of_it(tmp_path: Path) -> None:
    path = long_session(tmp_path, 2)
    assert tail_session(path) == read_session(path)


def test_the_tail_of_a_transcript_of_any_length_costs_the_same(tmp_path: Path) -> None:
    file = ClaudeFile(tmp_path)
    file.user("Plant a tree.")
    file.says("Planted.")
    with file.path.open("ab") as hole:  # gigabytes of nothing, which reading would take long
        hole.truncate(16 * 1024**3)
    file.raw(b"\n")
    file.user("Water it.")
    file.says("Watered.")
    used = time.process_time()
    session = tail_session(file.path)
    assert time.process_time() - used < 1.0
    assert (session.request, session.last_request) == ("Plant a tree.", "Water it.")


def test_a_tail_that_begins_inside_a_turn_keeps_what_it_has_of_it(tmp_path: Path) -> None:
    file = ClaudeFile(tmp_path)
    file.user("Once. " * 5_000)
    file.says(file.call("1"))
    file.result("1", "kept")
    file.says("Done.")
    (turn,) = tail_session(file.path, max_bytes=2_000).turns
    assert not turn.is_request
    assert any(isinstance(item, Result) and item.content == "kept" for item in turn.items)


def test_a_file_of_something_else_is_refused_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Oaks and herons.")
    with pytest.raises(
        NotATranscript, match=r"not the transcript of an agent.*Nothing was changed"
    ):
        read_session(path)


def test_a_file_that_is_not_there_is_refused_in_a_sentence(tmp_path: Path) -> None:
    for read in (read_session, tail_session):
        with pytest.raises(NotATranscript, match="cannot be read: No such file"):
            read(tmp_path / "gone.jsonl")
    with pytest.raises(NotATranscript, match="cannot be read: Is a directory"):
        read_session(tmp_path)


def test_bad_rows_do_not_cost_their_neighbours(tmp_path: Path) -> None:
    file = ClaudeFile(tmp_path)
    file.user("One.")
    file.raw(b'{"type":"assistant","message":{"con\n')
    file.raw(b"\xff\xfe\x00\n")
    file.raw(b"[" * 100_000 + b"\n")
    file.raw(b'{"type":"user","message":5,"uuid":[],"timestamp":{}}\n')
    file.says("Half a pair: \ud83d and on.".encode("utf-8", "replace").decode())
    file.raw(b'{"type":"user","uuid":"h","message":{"content":"Lone \\ud83d half."}}\n')
    session = read_session(file.path)
    assert [turn.prompt[0].text for turn in session.turns] == ["One.", "Lone \ufffd half."]


def test_a_call_and_a_result_without_each_other_still_make_a_pair(tmp_path: Path) -> None:
    file = ClaudeFile(tmp_path)
    file.user("Go.")
    file.says(file.call("1"))
    file.says("Next.", file.call("2"))
    file.result("2", "two")
    file.result("9", "stray")
    (turn,) = read_session(file.path).turns
    results = {item.call: item.content for item in turn.items if isinstance(item, Result)}
    assert results == {"1": "[the transcript has no result]", "2": "two", "9": "stray"}
    assert set(turn.calls) == set(results)


def test_the_program_can_be_named(tmp_path: Path) -> None:
    file = CodexFile(tmp_path)
    file.user("Hello.")
    assert read_session(file.path, "codex").request == "Hello."


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    with pytest.raises(NotATranscript, match="not a regular file"):
        read_session(pipe)
    with pytest.raises(NotATranscript, match="not a regular file"):
        read_session(Path("/dev/zero"), "claude-code")


@pytest.mark.parametrize(
    "timestamp",
    [
        "0001-01-01T00:00:00+23:59",
        "0000-01-01T00:00:00Z",
        "9999-12-31T23:59:59-23:59",
        "1969-12-31T23:59:59Z",
        "2026-11-14T23:59:60Z",
        "2026-11-14T22:51:22",
        "20261114T225122Z",
        "2026-11-14",
        "2026-W46-6",
        "yesterday",
        "",
        7,
        None,
    ],
)
def test_any_timestamp_can_be_shown(timestamp: object) -> None:
    at = microseconds(timestamp)
    assert at >= 0
    assert clock(at)[:2] in {"19", "20"}
    assert clock(-(10**18)) == clock(10**18) == "unknown time"


def test_a_session_id_that_is_an_option_is_not_part_of_a_command() -> None:
    assert resume_command_for("claude-code", "01a1dc49") == "claude --resume 01a1dc49"
    for session in ("--dangerously-skip-permissions", "-p", " --x", "a\x1b[0m", "a\nb"):
        assert resume_command_for("claude-code", session) == ""
