"""The rows of a turn that Codex is writing become replies and results."""

from pathlib import Path

from sapwood.core.content import RecordedReply, Text, ToolCall, Usage
from sapwood.core.program_session import ProgramSession
from sapwood.core.turn import Reply
from sapwood.programs.agent_provider import ProviderReply, ProviderResult
from sapwood.programs.codex.reader import CodexReader
from sapwood.programs.codex.turn_rows import TurnRows
from sapwood.programs.transcripts.session_reader import read_session
from sapwood.programs.transcripts.transcript_events import TranscriptTurn
from tests.programs.codex.thread_files import ThreadFiles, message


def begin(tmp_path: Path) -> tuple[ThreadFiles, str, TurnRows]:
    thread = ThreadFiles(tmp_path)
    thread.turn("before")
    size = thread.path.stat().st_size
    turn = thread.start_turn("go")
    return thread, turn, TurnRows(thread.path, size, turn)


def events(rows: TurnRows, **how: bool | int | None) -> list[ProviderReply | ProviderResult]:
    rows.read()
    return list(rows.new_events({"c1": "a diff"}, **how))  # pyright: ignore[reportArgumentType]


def test_a_reply_comes_when_the_model_has_answered_and_before_its_result(tmp_path: Path) -> None:
    thread, turn, rows = begin(tmp_path)
    thread.item(message("assistant", "Let me look."), turn)
    assert events(rows) == []
    thread.call(turn, "c1", "ls", tokens=100)
    (reply,) = events(rows)
    assert isinstance(reply, ProviderReply)
    assert [type(part) for part in reply.parts] == [Text, ToolCall]
    assert reply.usage == Usage(100, 2)
    thread.output(turn, "c1", "Process exited with code 1\nno")
    (result,) = events(rows)
    assert result == ProviderResult("c1", "Process exited with code 1\nno", True, "a diff")
    thread.count_tokens(100)
    thread.reply(turn, "Done.", 120)
    thread.count_tokens(120)
    thread.end_turn(turn)
    (last,) = events(rows)
    assert last == ProviderReply((Text("Done."),), "gpt-5-codex", Usage(120, 2))
    assert rows.ending == "task_complete"


def test_a_reply_waits_for_its_deltas(tmp_path: Path) -> None:
    thread, turn, rows = begin(tmp_path)
    thread.reply(turn, "Done.")
    assert events(rows, max_replies=0) == []
    assert len(events(rows, max_replies=1)) == 1


def test_a_question_does_not_wait_and_nothing_is_told_twice(tmp_path: Path) -> None:
    thread, turn, rows = begin(tmp_path)
    thread.item(message("assistant", "First."), turn)
    (one,) = events(rows, at_once=True)
    thread.call(turn, "c1", "ls")
    (two,) = events(rows, at_once=True)
    assert isinstance(one, ProviderReply)
    assert isinstance(two, ProviderReply)
    assert one.parts == (Text("First."),)
    assert [type(part) for part in two.parts] == [ToolCall]
    assert rows.has_call("c1")
    assert not rows.has_call("c2")


def test_rows_of_other_turns_are_passed_over(tmp_path: Path) -> None:
    thread, turn, rows = begin(tmp_path)
    thread.reply(turn, "Done.")
    thread.end_turn(turn)
    thread.turn("after")
    found = events(rows)
    assert [reply.parts for reply in found if isinstance(reply, ProviderReply)] == [
        (Text("Done."),)
    ]


def test_a_live_turn_is_the_imported_one(tmp_path: Path) -> None:
    thread = ThreadFiles(tmp_path)
    turn = thread.turn("one", tool=True)
    rows = TurnRows(thread.path, 0, turn)
    found = events(rows)
    (imported,) = read_session(thread.path).turns
    parts = [reply.parts for reply in found if isinstance(reply, ProviderReply)]
    assert parts == [item.parts for item in imported.items if isinstance(item, Reply)]
    reader = CodexReader()
    offset = 0
    for line in thread.path.read_bytes().splitlines(keepends=True):
        reader.feed(line, offset)
        offset += len(line)
    reader.finish()
    (event,) = reader.events
    assert isinstance(event, TranscriptTurn)
    assert isinstance(event.items[0], RecordedReply)
    named = rows.native(ProgramSession("codex", thread.id, str(thread.path)))
    assert named is not None
    assert (named.passage.first, named.passage.last) == (event.first.key, event.last.key)


def test_a_compaction_in_the_middle_does_not_cut_the_turn(tmp_path: Path) -> None:
    thread, turn, rows = begin(tmp_path)
    thread.call(turn, "c1", "ls")
    thread.output(turn, "c1", "out")
    assert len(events(rows)) == 2
    thread.row("compacted", {"message": "short", "replacement_history": []})
    thread.reply(turn, "Done.")
    thread.end_turn(turn)
    (last,) = events(rows)
    assert isinstance(last, ProviderReply)
    assert last.parts == (Text("Done."),)
    assert rows.was_compacted


def test_a_file_that_is_not_there_yet_has_no_rows(tmp_path: Path) -> None:
    rows = TurnRows(tmp_path / "rollout.jsonl", 0, "t")
    assert events(rows) == []
    assert rows.turn() is None
