"""What Claude Code would load from a session is compared with the view."""

import json
from pathlib import Path

import pytest
from msgspec import structs

from sapwood.core.content import Note, Text, ToolCall
from sapwood.core.program_session import NativeRows
from sapwood.core.turn import Reply, Turn
from sapwood.programs.agent_provider import History, HistoryTurn
from sapwood.programs.claude_code.history_rows import HistoryRows
from sapwood.programs.claude_code.loaded_history import session_difference
from sapwood.programs.claude_code.rows import has_only_results
from sapwood.programs.claude_code.transcript import read_on, read_transcript
from sapwood.programs.transcripts.turn_builder import GOES_ON
from tests.programs.claude_code.claude_sessions import (
    SessionWriter,
    command_turn,
    imported_history,
    neutral_turn,
)


def viewed(turn: Turn, rows: NativeRows | None = None) -> HistoryTurn:
    return HistoryTurn(turn, rows)


def check(writer: SessionWriter, *turns: Turn, front: tuple[str, ...] = ()) -> str:
    history = History(tuple(viewed(turn) for turn in turns), front)
    rows = HistoryRows((), front=front)
    return session_difference(read_transcript(writer.path), rows, history)


def test_a_session_that_has_the_view_gives_nothing_to_tell(tmp_path: Path) -> None:
    writer = SessionWriter(tmp_path)
    writer.turn("0", calls=2)
    command_turn(writer, "review")
    calls = Reply(2, (ToolCall("toolu_0_0", "Bash"), ToolCall("toolu_0_1", "Bash")))
    first = structs.replace(
        neutral_turn("PROMPT 0", "ANSWER 0"), items=(calls, Reply(3, (Text("ANSWER 0"),)))
    )
    second = neutral_turn("/review", "DONE review")
    assert not check(writer, first, second)
    assert "call 'Grep'" in check(
        writer,
        structs.replace(first, items=(Reply(2, (ToolCall("toolu_9", "Grep"),)), *first.items)),
        second,
    )
    assert "has 2 turns, but the view has 1" in check(writer, first)
    assert "does not start with the pins" in check(writer, first, second, front=("A summary.",))


def test_a_prompt_of_any_kind_that_the_session_lacks_is_told(tmp_path: Path) -> None:
    writer = SessionWriter(tmp_path / "projects")
    writer.turn("0")
    rows = command_turn(writer, "review")
    turn = neutral_turn("/review", "DONE review")
    file = writer.file(tmp_path)
    transcript = read_transcript(writer.path)
    without_prompt = HistoryRows((tuple(rows[3:]),))
    file._append(transcript, file._plan(transcript, without_prompt).lines)  # pyright: ignore[reportPrivateUsage]
    assert "is missing the prompt '/review'" in check(writer, turn)
    noted = structs.replace(turn, prompt=(Note("program", "A task has ended."),))
    assert "is missing the prompt" in check(writer, noted)


def test_a_masked_secret_and_an_unknown_prompt_are_no_difference(tmp_path: Path) -> None:
    writer = SessionWriter(tmp_path)
    writer.prompt("Use sk-live-1.")
    writer.reply("msg_1", {"type": "text", "text": "Used."})
    assert not check(writer, neutral_turn("Use [secret: api-key …ve-1].", "Used."))


def test_a_turn_that_begins_with_a_reply_gets_the_prompt_of_the_view(tmp_path: Path) -> None:
    writer = SessionWriter(tmp_path / "projects")
    writer.turn("0")
    writer.reply("msg_1", {"type": "text", "text": "And more."})
    boundary = writer.add(
        "system", parent=None, subtype="compact_boundary", compactMetadata={"trigger": "auto"}
    )
    writer.add(
        "user",
        parent=boundary,
        isCompactSummary=True,
        message={"role": "user", "content": "A summary."},
    )
    writer.reply("msg_2", {"type": "text", "text": "On it goes."})
    history = imported_history(writer.path, writer.program_session)
    unknown = structs.replace(history.turns[-1].turn, prompt=(Note("program", "Goes on."),))
    wanted = History((viewed(unknown, history.turns[-1].native),))
    file = writer.file(tmp_path)
    synced = file.sync_session(wanted)
    rows = read_transcript(writer.path).loaded() or []
    spoken = [row.type for row in rows if row.is_spoken]
    assert spoken == ["user", "assistant"]
    assert len(synced.rows) == 2
    assert file.sync_session(wanted).by == "nothing"


def test_a_turn_that_was_compacted_in_the_middle_is_one_turn_of_the_session(tmp_path: Path) -> None:
    writer = SessionWriter(tmp_path)
    writer.turn("0")
    writer.reply("msg_1", {"type": "text", "text": "And more."})
    rest = structs.replace(neutral_turn("", "And more."), prompt=(GOES_ON,))
    assert not check(writer, neutral_turn("PROMPT 0", "ANSWER 0"), rest)
    lost = structs.replace(neutral_turn("", "Something else."), prompt=(GOES_ON,))
    assert "is missing the reply" in check(writer, neutral_turn("PROMPT 0", "ANSWER 0"), lost)


def test_a_prompt_in_the_same_row_as_a_result_is_compared(tmp_path: Path) -> None:
    writer = SessionWriter(tmp_path)
    writer.prompt("Run it.")
    [asked] = writer.reply("m1", {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}})
    result = {"tool_use_id": "t1", "type": "tool_result", "content": "long " * 1_000}
    both = [result, {"type": "text", "text": "And then stop."}]
    writer.add("user", parent=asked, message={"role": "user", "content": both})
    writer.reply("m2", {"type": "text", "text": "Stopped."})
    first = structs.replace(
        neutral_turn("Run it.", ""), items=(Reply(2, (ToolCall("t1", "Bash"),)),)
    )
    assert not check(writer, first, neutral_turn("And then stop.", "Stopped."))
    assert "prompt 'And go on.'" in check(writer, first, neutral_turn("And go on.", "Stopped."))


@pytest.mark.parametrize(
    ("content", "only"),
    [
        ([{"type": "tool_result", "content": "x"}, {"type": "tool_result"}], True),
        ([{"type": "tool_result", "content": [{"type": "text", "text": "x"}]}], True),
        ([{"type": "tool_result", "content": "x"}, {"type": "text", "text": "y"}], False),
        ([{"type": "text", "text": '"tool_result"'}], False),
        ('"tool_result"', False),
        ([], False),
        (None, False),
        ([7], False),
    ],
)
def test_a_row_with_results_alone_is_known_without_decoding_them(
    content: object, only: bool
) -> None:
    row = {"type": "user", "message": {"content": content}, "toolUseResult": {"type": "text"}}
    assert has_only_results(json.dumps(row, separators=(",", ":")).encode()) is only


def test_a_transcript_is_read_on_where_the_reading_ended(tmp_path: Path) -> None:
    writer = SessionWriter(tmp_path)
    writer.turn("0", calls=2)
    transcript = read_transcript(writer.path)
    writer.turn("1")
    read_on(transcript)
    whole = read_transcript(writer.path)
    assert transcript.rows == whole.rows
    assert (transcript.place, transcript.size) == (whole.place, whole.size)
    assert transcript.loaded() == whole.loaded()
