"""A Claude Code session at rest: what is appended, when, and what is never touched."""

import json
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.core.content import Thinking, ToolCall
from sapwood.core.ids import TranscriptRange
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.core.turn import Reply, Result, Turn
from sapwood.programs.agent_provider import History, HistoryTurn, SessionBusy
from sapwood.programs.claude_code import session_file as session_file_module
from sapwood.programs.claude_code.loaded_history import front_texts
from sapwood.programs.claude_code.transcript import read_transcript
from tests.programs.claude_code.claude_sessions import (
    SESSION,
    SessionWriter,
    command_turn,
    imported_history,
    local_command,
    native_turn,
    neutral_turn,
    session_file,
)

FIXTURES = Path(__file__).parents[1] / "transcripts" / "fixtures"


@pytest.fixture
def written(tmp_path: Path) -> SessionWriter:
    """Six turns, some with parallel calls."""
    writer = SessionWriter(tmp_path / "projects")
    for number in range(6):
        writer.turn(str(number), calls=number % 3)
    return writer


def kept_by(writer: SessionWriter) -> list[str]:
    """The ids that the last boundary lists."""
    boundary = [row for row in writer.rows() if row.get("subtype") == "compact_boundary"][-1]
    return boundary["compactMetadata"]["preservedMessages"]["uuids"]


def loaded(writer: SessionWriter) -> list[str]:
    """What the program would load, without rows that carry no message."""
    transcript = read_transcript(writer.path)
    chain = transcript.loaded()
    assert chain is not None
    rows = transcript.with_parallel_results(chain)
    return [row.uuid or "" for row in rows if row.is_message]


def flat(groups: Sequence[Sequence[str]]) -> list[str]:
    return [uuid for group in groups for uuid in group]


def test_one_row_keeps_the_last_turns(written: SessionWriter, tmp_path: Path) -> None:
    before = written.path.read_bytes()
    synced = written.file(tmp_path).sync_session(written.history(4, 5))
    after = written.path.read_bytes()
    assert synced.by == "boundary"
    assert len(synced.rows) == 1
    assert after.startswith(before)
    assert after.count(b"\n") == before.count(b"\n") + 1
    assert kept_by(written) == flat(written.groups[4:])
    assert synced.rows == (json.loads(after.splitlines()[-1])["uuid"],)


def test_the_same_history_changes_nothing(written: SessionWriter, tmp_path: Path) -> None:
    file = written.file(tmp_path)
    assert file.sync_session(written.history(*range(6))).by == "nothing"
    assert file.sync_session(written.history(1, 3)).by == "boundary"
    before = written.path.read_bytes()
    assert file.sync_session(written.history(1, 3)).by == "nothing"
    assert written.path.read_bytes() == before


def test_a_turn_since_a_trim_belongs_to_the_history(written: SessionWriter, tmp_path: Path) -> None:
    file = written.file(tmp_path)
    file.sync_session(written.history(1, 3))
    written.last = written.groups[3][-1]  # the program goes on after the last kept row
    written.turn("6", calls=2)
    assert loaded(written) == flat([written.groups[n] for n in (1, 3, 6)])
    assert file.sync_session(written.history(1, 3, 6)).by == "nothing"
    assert file.sync_session(written.history(1, 3)).by == "boundary"


def test_undo_is_another_row(written: SessionWriter, tmp_path: Path) -> None:
    before = loaded(written)
    file = written.file(tmp_path)
    file.sync_session(written.history(5))
    file.sync_session(written.history(*range(6)))
    assert loaded(written) == before


def test_a_rewind_of_the_program_itself_is_seen(written: SessionWriter, tmp_path: Path) -> None:
    target = written.groups[3][-1]
    checkpoint = {"type": "last-prompt", "leafUuid": target, "explicit": True, "rewound": True}
    written.raw(json.dumps(checkpoint).encode() + b"\n")
    file = written.file(tmp_path)
    assert file.sync_session(written.history(0, 1, 2, 3)).by == "nothing"
    assert file.sync_session(written.history(*range(6))).by == "boundary"


def test_nothing_kept_is_an_empty_list(written: SessionWriter, tmp_path: Path) -> None:
    synced = written.file(tmp_path).sync_session(History(()))
    assert synced.by == "boundary"
    assert kept_by(written) == []
    assert loaded(written) == []


def test_texts_in_front_come_before_the_turns(written: SessionWriter, tmp_path: Path) -> None:
    file = written.file(tmp_path)
    synced = file.sync_session(written.history(5, front=("A pin.", "A summary.")))
    boundary, front = written.rows()[-2:]
    assert [boundary["uuid"], front["uuid"]] == list(synced.rows)
    assert front["parentUuid"] == boundary["uuid"]
    assert front["isCompactSummary"]
    assert [block["text"] for block in front["message"]["content"]] == ["A pin.", "A summary."]
    preserved = boundary["compactMetadata"]["preservedMessages"]
    assert preserved["anchorUuid"] == front["uuid"]
    assert file.sync_session(written.history(5, front=("A pin.", "A summary."))).by == "nothing"
    assert file.sync_session(written.history(5, front=("A summary.",))).by == "boundary"
    assert file.sync_session(written.history(5)).by == "boundary"


def test_texts_without_a_turn_are_followed_by_a_date(
    written: SessionWriter, tmp_path: Path
) -> None:
    """Without a row behind them the program inserts an answer that no model gave."""
    file = written.file(tmp_path)
    file.sync_session(History((), ("A summary.",)))
    (kept,) = kept_by(written)
    row = next(row for row in written.rows() if row.get("uuid") == kept)
    assert row["attachment"]["type"] == "date"
    assert file.sync_session(History((), ("A summary.",))).by == "nothing"


def test_a_turn_from_elsewhere_is_written_and_listed_once(
    written: SessionWriter, tmp_path: Path
) -> None:
    own = HistoryTurn(neutral_turn("Ours?", "Ours."))
    history = History((native_turn(written.turns[0]), own, native_turn(written.turns[5])))
    file = written.file(tmp_path)
    synced = file.sync_session(history)
    new = [row for row in written.rows() if row.get("writtenBy") == "sapwood"]
    assert [row["uuid"] for row in new] == list(synced.rows)
    prompt, answer, _ = new
    assert prompt["message"] == {"role": "user", "content": "Ours?"}
    assert answer["message"]["content"] == [{"type": "text", "text": "Ours."}]
    wanted = [*written.groups[0], prompt["uuid"], answer["uuid"], *written.groups[5]]
    assert kept_by(written) == wanted == loaded(written)
    assert file.sync_session(history).by == "nothing"
    file.sync_session(written.history(0))
    assert len(file.sync_session(history).rows) == 1  # its rows are there already


def test_calls_results_and_reasoning_take_the_native_form(
    written: SessionWriter, tmp_path: Path
) -> None:
    turn = neutral_turn("Look.", "Done.")
    call = ToolCall("call/1", "mcp.files", '{"path": "a"}')
    broken = ToolCall("call_2", "shell", "not json")
    parts = (
        Thinking("signed", "anthropic", "c2ln"),
        Thinking("foreign", "openai", "x"),
        call,
        broken,
    )
    items = (Reply(2, parts), Result(3, "call/1", "found"), Result(4, "call_2", "no", error=True))
    turn = Turn(turn.agent, 1, None, turn.prompt, (*items, *turn.items), status="completed", last=6)
    synced = written.file(tmp_path).sync_session(History((HistoryTurn(turn),)))
    _, asked, answered, said, _ = [r for r in written.rows() if r.get("writtenBy") == "sapwood"]
    thinking, first, second = asked["message"]["content"]
    assert thinking == {"type": "thinking", "thinking": "signed", "signature": "c2ln"}
    assert first["input"] == {"path": "a"}
    assert first["name"] == "mcp_files"
    assert second["input"] == {"arguments": "not json"}
    results = answered["message"]["content"]
    assert [each["tool_use_id"] for each in results] == [first["id"], second["id"]]
    assert results[1]["is_error"]
    assert said["message"]["content"][0]["text"] == "Done."
    assert "reasoning" in synced.loss


def test_rows_of_another_session_are_copied_as_they_are(
    written: SessionWriter, tmp_path: Path
) -> None:
    other = SessionWriter(tmp_path / "projects", "00000000-0000-4000-8000-000000000001")
    other.turn("other", calls=2)
    history = History((native_turn(other.turns[0]), native_turn(written.turns[5])))
    synced = written.file(tmp_path).sync_session(history)
    assert synced.loss == ""
    assert kept_by(written) == [*other.groups[0], *written.groups[5]]
    mine = {row["uuid"]: row for row in written.rows() if row.get("writtenBy") == "sapwood"}
    for row in other.rows():
        if row.get("uuid") in mine:
            assert mine[row["uuid"]]["message"] == row["message"] if "message" in row else True
            assert mine[row["uuid"]]["sessionId"] == SESSION


def test_a_result_that_was_cut_inside_an_emoji_is_copied_too(
    written: SessionWriter, tmp_path: Path
) -> None:
    other = SessionWriter(tmp_path / "projects", "00000000-0000-4000-8000-000000000001")
    other.turn("other CUT")
    content = other.path.read_bytes()
    other.path.write_bytes(content.replace(b"other CUT", b"other \\ud83d"))
    written.file(tmp_path).sync_session(History((native_turn(other.turns[0]),)))
    assert kept_by(written) == other.groups[0]
    [prompt] = [row for row in written.rows() if row.get("uuid") == other.groups[0][0]]
    assert "other \N{REPLACEMENT CHARACTER}" in json.dumps(prompt, ensure_ascii=False)


def test_a_lost_session_is_read_from_its_private_copy(
    written: SessionWriter, tmp_path: Path
) -> None:
    written.file(tmp_path).sync_session(written.history(5))
    written.path.unlink()
    new = ProgramSession("claude-code", "00000000-0000-4000-8000-000000000002", "")
    path = written.path.with_name(f"{new.id}.jsonl")
    file = session_file(ProgramSession("claude-code", new.id, str(path)), tmp_path)
    synced = file.write_new(written.history(2, 5, front=("A summary.",)))
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert synced.by == "new_session"
    assert rows[0]["isCompactSummary"]
    assert [row["uuid"] for row in rows[1:]] == flat([written.groups[n] for n in (2, 5)])
    assert [row["parentUuid"] for row in rows] == [None, *[row["uuid"] for row in rows[:-1]]]
    assert {row["sessionId"] for row in rows} == {new.id}


def test_a_line_without_an_end_is_completed_first(written: SessionWriter, tmp_path: Path) -> None:
    written.raw(b'{"type":"user","uuid":"torn')
    before = written.path.read_bytes()
    written.file(tmp_path).sync_session(written.history(5))
    after = written.path.read_bytes()
    assert after.startswith(before + b"\n")
    assert json.loads(after.splitlines()[-1])["subtype"] == "compact_boundary"


def test_the_copy_is_private_and_grows_with_the_transcript(
    written: SessionWriter, tmp_path: Path
) -> None:
    file, copy = written.file(tmp_path), tmp_path / "copies" / f"{SESSION}.jsonl"
    first = written.path.read_bytes()
    file.sync_session(written.history(5))
    assert copy.read_bytes() == first
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    second = written.path.read_bytes()
    file.sync_session(written.history(0))
    assert copy.read_bytes() == second
    rewritten = b"\n".join(written.path.read_bytes().splitlines()[3:]) + b"\n"
    written.path.write_bytes(rewritten)
    file.sync_session(written.history(4))
    assert copy.read_bytes() == second, "a copy is never changed"
    assert copy.with_name(f"{SESSION}.2.jsonl").read_bytes() == rewritten


def test_a_session_that_a_process_has_open_is_left_alone(
    written: SessionWriter, tmp_path: Path
) -> None:
    before = written.path.read_bytes()
    sleeper = [sys.executable, "-c", "input()", "claude", "--resume", SESSION]
    with subprocess.Popen(sleeper, stdin=subprocess.PIPE) as process:
        listed = tmp_path / "claude" / "sessions" / f"{process.pid}.json"
        listed.parent.mkdir(parents=True)
        listed.write_text(json.dumps({"pid": process.pid, "sessionId": SESSION, "status": "busy"}))
        with pytest.raises(SessionBusy, match=rf"process {process.pid}.*/exit"):
            written.file(tmp_path).sync_session(written.history(5))
        listed.write_text(json.dumps({"pid": process.pid, "sessionId": "another"}))
        written.file(tmp_path).require_at_rest()
        listed.write_text(json.dumps({"pid": process.pid, "sessionId": SESSION, "procStart": "1"}))
        written.file(tmp_path).require_at_rest()  # another process got the number
        assert process.stdin is not None
        process.stdin.close()
    assert written.path.read_bytes() == before
    written.file(tmp_path).require_at_rest()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /proc")
def test_a_process_that_lists_nothing_is_found_by_its_command_line(
    written: SessionWriter, tmp_path: Path
) -> None:
    script = tmp_path / "claude"
    script.write_text("#!/bin/sh\necho ready\nread line\n")
    script.chmod(0o755)
    with subprocess.Popen(
        [script, "--resume", SESSION], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        with pytest.raises(SessionBusy):
            written.file(tmp_path).require_at_rest()
        process.stdin.close()


def test_a_transcript_that_changed_meanwhile_is_left_alone(
    written: SessionWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = session_file_module.extend_copy

    def copy_while_the_program_writes(transcript: Path, target: Path) -> Path:
        done = copy(transcript, target)
        written.prompt("One more.")
        return done

    monkeypatch.setattr(session_file_module, "extend_copy", copy_while_the_program_writes)
    with pytest.raises(SessionBusy, match="has just changed"):
        written.file(tmp_path).sync_session(written.history(5))
    assert b"compact_boundary" not in written.path.read_bytes()


def test_a_full_disk_leaves_the_transcript_as_it_was(
    written: SessionWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = written.path.read_bytes()
    write = os.write

    def write_a_part(handle: int, data: bytes) -> int:
        return write(handle, data[:40])

    monkeypatch.setattr(os, "write", write_a_part)
    with pytest.raises(OSError, match="full"):
        written.file(tmp_path).sync_session(written.history(5))
    assert written.path.read_bytes() == before


def test_an_unknown_id_is_never_listed(written: SessionWriter, tmp_path: Path) -> None:
    """One unknown id brings back the whole history, so such a turn takes its neutral form."""
    missing = NativeRows(
        written.program_session, TranscriptRange("no-such-row", written.groups[5][-1])
    )
    turn = HistoryTurn(neutral_turn("Lost?", "Lost."), missing)
    written.file(tmp_path).sync_session(History((turn,)))
    known = {row.get("uuid") for row in written.rows()}
    assert known.issuperset(kept_by(written))
    assert "no-such-row" not in kept_by(written)


def test_a_turn_that_is_wanted_twice_is_listed_once(written: SessionWriter, tmp_path: Path) -> None:
    written.file(tmp_path).sync_session(written.history(2, 2))
    assert kept_by(written) == written.groups[2]


def test_a_prompt_can_be_cut_with_everything_after_it(
    written: SessionWriter, tmp_path: Path
) -> None:
    file = written.file(tmp_path)
    assert file.cut_before("no-such-row") == ()
    file.cut_before(written.groups[4][0])
    assert loaded(written) == flat(written.groups[:4])
    file.sync_session(written.history(1, 2, front=("A summary.",)))
    file.cut_before(written.groups[2][0])
    assert loaded(written) == written.groups[1]
    assert file.sync_session(written.history(1, front=("A summary.",))).by == "nothing"


@pytest.mark.parametrize("name", ["claude-manual-compact", "claude-auto-compact"])
def test_recorded_sessions_keep_any_turn(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{SESSION}.jsonl"
    shutil.copy(FIXTURES / f"{name}.jsonl", path)
    session = ProgramSession("claude-code", SESSION, str(path))
    history = imported_history(path, session)
    before = path.read_bytes()
    file = session_file(session, tmp_path)
    for turn in history.turns:
        assert file.sync_session(History((turn,))).by == "boundary"
        assert file.sync_session(History((turn,))).by == "nothing"
    assert path.read_bytes().startswith(before)


@settings(max_examples=40)
@given(st.lists(st.lists(st.integers(0, 5), unique=True), min_size=1, max_size=4))
def test_any_sequence_of_histories_can_be_synced_and_undone(
    tmp_path_factory: pytest.TempPathFactory, wanted: list[list[int]]
) -> None:
    folder = tmp_path_factory.mktemp("sessions")
    writer = SessionWriter(folder / "projects")
    for number in range(6):
        writer.turn(str(number), calls=number % 3)
    file, whole = writer.file(folder), loaded(writer)
    for numbers in wanted:
        before = writer.path.read_bytes()
        file.sync_session(writer.history(*numbers))
        assert writer.path.read_bytes().startswith(before)
        is_boundary = "compact_boundary"
        known = {row.get("uuid") for row in writer.rows() if row.get("subtype") != is_boundary}
        assert known.issuperset(loaded(writer))
        assert loaded(writer) == flat([writer.groups[n] for n in numbers])
    file.sync_session(writer.history(*range(6)))
    assert loaded(writer) == whole


def test_a_turn_without_an_answer_is_closed_once(written: SessionWriter, tmp_path: Path) -> None:
    """Otherwise the program inserts an answer that no model gave."""
    file = written.file(tmp_path)
    assert file.close_open_turn() == ()
    prompt = written.prompt("PROMPT 6")
    call = {"type": "tool_use", "id": "toolu_open", "name": "Bash", "input": {"command": "ls"}}
    (asked,) = written.reply("msg_6", call)
    written.turns.append(NativeRows(written.program_session, TranscriptRange(prompt, asked)))
    before = written.path.read_bytes()
    rows = file.close_open_turn()
    result, said, date = written.rows()[-3:]
    assert [each["uuid"] for each in (result, said, date)] == list(rows)
    assert [each["parentUuid"] for each in (result, said, date)] == [asked, *rows[:2]]
    assert result["message"]["content"][0]["tool_use_id"] == "toolu_open"
    assert said["message"]["content"][0]["text"] == "[Request interrupted by user]"
    assert date["attachment"]["type"] == "date"
    assert written.path.read_bytes().startswith(before)
    assert file.close_open_turn() == ()
    assert file.sync_session(written.history(*range(7))).by == "nothing"
    assert len(file.sync_session(written.history(0, 6)).rows) == 4, (
        "the rows behind it are written anew"
    )
    assert file.close_open_turn() == ()
    assert len(file.sync_session(written.history(6, 0)).rows) == 1, "in the middle it needs none"


def test_rows_behind_a_prompt_say_that_it_was_interrupted(
    written: SessionWriter, tmp_path: Path
) -> None:
    written.prompt("PROMPT 6")
    file = written.file(tmp_path)
    assert len(file.close_open_turn()) == 2
    written.last = written.rows()[-1]["uuid"]
    written.turn("7")
    assert file.close_open_turn() == ()


def test_an_interruption_that_the_program_wrote_needs_only_a_date(
    written: SessionWriter, tmp_path: Path
) -> None:
    written.prompt("PROMPT 6")
    written.prompt("[Request interrupted by user]")
    assert len(written.file(tmp_path).close_open_turn()) == 1


def test_a_turn_typed_as_a_command_keeps_every_row(written: SessionWriter, tmp_path: Path) -> None:
    rows = command_turn(written, "review")
    whole = loaded(written)
    written.turn("7")
    history = imported_history(written.path, written.program_session)
    file = written.file(tmp_path)
    file.sync_session(History(history.turns[6:7]))
    assert loaded(written) == rows
    file.sync_session(History(history.turns[6:]))
    assert loaded(written)[: len(rows)] == rows
    file.sync_session(History(history.turns[:7]))
    assert loaded(written) == whole


def test_the_output_of_a_local_command_stays_with_the_prompt_after_it(
    written: SessionWriter, tmp_path: Path
) -> None:
    rows = [*local_command(written, "cost"), *local_command(written, "context")]
    written.turn("6")
    history = imported_history(written.path, written.program_session)
    written.file(tmp_path).sync_session(History(history.turns[6:]))
    assert loaded(written) == [*rows, *written.groups[6]]
    written.file(tmp_path).sync_session(History(history.turns[5:6]))
    assert loaded(written) == written.groups[5]


def test_texts_that_wait_for_the_next_prompt_stay_behind_the_last_turn(
    written: SessionWriter, tmp_path: Path
) -> None:
    rows = local_command(written, "context")
    whole = loaded(written)
    file = written.file(tmp_path)
    assert file.sync_session(written.history(*range(6))).by == "nothing"
    file.sync_session(written.history(5))
    assert loaded(written) == [*written.groups[5], *rows]
    file.sync_session(written.history(3))
    assert loaded(written) == written.groups[3]
    file.sync_session(written.history(*range(6)))
    assert loaded(written) == whole


def test_a_queued_prompt_belongs_to_its_own_turn(written: SessionWriter, tmp_path: Path) -> None:
    asked = written.prompt("FIRST")
    use = {"type": "tool_use", "id": "toolu_q", "name": "Bash", "input": {"command": "ls"}}
    (called,) = written.reply("msg_q", use)
    result = written.result("toolu_q", "RESULT", called)
    queued = written.add("attachment", attachment={"type": "queued_command", "prompt": "SECOND"})
    answer = written.reply("msg_r", {"type": "text", "text": "BOTH"})
    history = imported_history(written.path, written.program_session)
    written.file(tmp_path).sync_session(History(history.turns[6:7]))
    assert loaded(written) == [asked, called, result]
    written.file(tmp_path).sync_session(History(history.turns[7:]))
    assert loaded(written) == [queued, *answer]


def test_a_local_command_at_the_end_needs_no_answer(written: SessionWriter, tmp_path: Path) -> None:
    waiting = local_command(written, "context")
    file = written.file(tmp_path)
    assert file.close_open_turn() == ()
    assert len(file.sync_session(written.history(4, 5)).rows) == 1, "the boundary alone"
    written.last = waiting[-1]
    written.turn("6")
    history = imported_history(written.path, written.program_session)
    file.sync_session(History(history.turns))
    assert loaded(written)[-len(written.groups[6]) - 3 :] == [*waiting, *written.groups[6]]


def test_a_command_that_the_model_never_answered_is_closed(
    written: SessionWriter, tmp_path: Path
) -> None:
    written.prompt(
        "<command-message>review</command-message>\n<command-name>/review</command-name>"
    )
    asked = {"role": "user", "content": [{"type": "text", "text": "Review it."}]}
    written.add("user", isMeta=True, message=asked)
    assert len(written.file(tmp_path).close_open_turn()) == 2


def test_a_summary_of_the_program_stays_its_own_with_the_rows_it_kept(
    written: SessionWriter, tmp_path: Path
) -> None:
    kept = written.groups[-1][-2]
    boundary = written.add(
        "system",
        parent=None,
        subtype="compact_boundary",
        compactMetadata={"preservedMessages": {"anchorUuid": "?", "uuids": [kept]}},
    )
    text = "This session is being continued.\nHerons nest in trees."
    said = {"role": "user", "content": text}
    written.add("user", parent=boundary, isCompactSummary=True, message=said)
    written.turn("after")
    framed = f"[Summary of the conversation.]\n{text}\n\n[Messages]\nAssistant: ANSWER 5"
    request = "[The user's last request before this point, verbatim]\nPROMPT 5"
    file = written.file(tmp_path)
    file.sync_session(written.history(6))
    assert loaded(written) == written.groups[6]
    file.sync_session(written.history(6, front=(framed, request)))
    transcript = read_transcript(written.path)
    rows = transcript.loaded() or []
    assert front_texts(transcript, rows) == (text,)
    assert loaded(written) == [kept, *written.groups[6]]
    assert file.sync_session(written.history(6, front=(framed, request))).by == "nothing"
    file.sync_session(written.history(6, front=("A pin.", framed)))
    assert kept not in loaded(written)


def test_of_two_equal_summaries_of_the_program_the_one_whose_rows_are_shown_is_used(
    written: SessionWriter, tmp_path: Path
) -> None:
    text = "This session is being continued.\nHerons nest in trees."
    said = {"role": "user", "content": text}
    kept: list[str] = []
    for place in range(2):
        kept.append(written.groups[-1][-2])
        boundary = written.add(
            "system",
            parent=None,
            subtype="compact_boundary",
            compactMetadata={"preservedMessages": {"anchorUuid": "?", "uuids": [kept[-1]]}},
        )
        written.add("user", parent=boundary, isCompactSummary=True, message=said)
        written.turn(f"after {place}")
    framed = f"[Summary of the conversation.]\n{text}\n\n[Messages]\nAssistant: "
    file = written.file(tmp_path)
    for place, answer in enumerate(("ANSWER 5", "ANSWER after 0")):
        file.sync_session(written.history(6 + place, front=(framed + answer,)))
        assert loaded(written) == [kept[place], *written.groups[6 + place]]
