"""Codex rollouts: items, events, compactions that tell their summary and such that do not."""

from pathlib import Path

import msgspec

from sapwood.core.content import Note, Text, ToolCall
from sapwood.core.turn import Reply, Result
from sapwood.programs.codex.rows import CodexRow
from sapwood.programs.registry import resume_command_for
from sapwood.programs.transcripts.session_reader import read_session
from tests.programs.codex.thread_files import ThreadFiles, message
from tests.programs.transcripts.writing import CodexFile

ROLLOUT = Path(__file__).parents[1] / "transcripts" / "fixtures" / "codex-two-compactions.jsonl"


def test_a_good_row_is_decoded_in_one_typed_pass() -> None:
    decoder = msgspec.json.Decoder(CodexRow)
    assert all(decoder.decode(row).type for row in ROLLOUT.read_bytes().splitlines())


def test_a_session_knows_where_it_ran_and_how_full_it_is() -> None:
    session = read_session(ROLLOUT)
    assert (session.source, session.folder, session.model) == ("codex", "/srv/wood", "gpt-5-codex")
    assert (session.used, session.window) == (10472, 95000)
    resume = resume_command_for(session.source, session.id)
    assert resume == "codex resume 01a1dc49-cb32-7ff3-be8a-10d31f7fe650"


def test_every_prompt_of_the_user_is_a_turn_and_scaffolding_is_a_note() -> None:
    session = read_session(ROLLOUT)
    asked = [turn.prompt[-1].text for turn in session.turns if turn.is_request]
    assert [text[:2] for text in asked] == ["t1", "t2", "t3", "t4", "t5", "t6", "t7"]
    first = session.turns[0].prompt[0]
    assert isinstance(first, Note)
    assert session.request == "t1 [[say: one]]"


def test_the_reply_that_was_the_summary_is_none() -> None:
    session = read_session(ROLLOUT)
    said = [text for turn in session.turns for text in turn.texts()]
    assert not any("FAKE-SUMMARY" in text for text in said)


def test_compactions_quote_what_the_user_said() -> None:
    manual, auto = read_session(ROLLOUT).boundaries
    assert (manual.after, manual.trigger) == (3, "manual")
    assert (auto.after, auto.trigger, auto.before_tokens) == (5, "auto", 90012)
    assert manual.summary.endswith("keep file notes.txt in mind.")
    assert manual.quoted.startswith("User: t1 [[say: one]]\n\nUser: t2")
    assert "environment_context" not in auto.quoted


def test_an_encrypted_compaction_has_no_summary(tmp_path: Path) -> None:
    file = CodexFile(tmp_path)
    file.user("One.")
    file.says("1")
    history = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "One."}]},
        {"type": "compaction", "encrypted_content": "gAAA"},
    ]
    file.row("compacted", message="", replacement_history=history)
    file.user("Two.")
    file.says("2")
    session = read_session(file.path)
    assert (session.boundaries[0].summary, session.boundaries[0].quoted) == ("", "User: One.")
    assert [turn.prompt for turn in session.in_view] == [(Text("Two."),)]


def test_calls_between_two_results_are_one_reply_and_a_failed_command_is_an_error(
    tmp_path: Path,
) -> None:
    file = CodexFile(tmp_path)
    file.user("Test it.")
    file.call("1", cmd="just test")
    file.call("2", cmd="just lint")
    file.result("1", "Wall time: 1\nProcess exited with code 2\nOutput:\nred")
    file.result("2", '{"output":"clean","metadata":{"exit_code":0}}')
    file.says("One is red.")
    (turn,) = read_session(file.path).turns
    reply, red, clean, _ = turn.items
    assert isinstance(reply, Reply)
    assert len(reply.calls) == 2
    assert isinstance(red, Result)
    assert isinstance(clean, Result)
    assert (red.error, clean.error, clean.content) == (True, False, "clean")


def test_a_patch_counts_its_lines(tmp_path: Path) -> None:
    file = CodexFile(tmp_path)
    file.user("Change it.")
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n+z\n*** End Patch"
    file.item("custom_tool_call", name="apply_patch", input=patch, call_id="1")
    file.item("custom_tool_call_output", call_id="1", output="Success.")
    (turn,) = read_session(file.path).turns
    assert isinstance(result := turn.items[1], Result)
    assert (result.added, result.removed) == (2, 1)
    assert isinstance(call := turn.calls["1"], ToolCall)
    assert call.name == "apply_patch"


def test_an_aborted_turn_is_interrupted_and_a_rollback_is_a_rewind(tmp_path: Path) -> None:
    file = CodexFile(tmp_path)
    for number in ("One.", "Two.", "Three."):
        file.user(number)
        file.says("Yes.")
    file.event("turn_aborted", reason="interrupted")
    file.event("thread_rolled_back", num_turns=2)
    file.user("Four.")
    file.says("4")
    session = read_session(file.path)
    assert session.turns[2].status == "interrupted"
    assert [turn.first for turn in session.in_view] == [1, 4]


def test_a_subagent_knows_whom_it_works_for(tmp_path: Path) -> None:
    file = CodexFile(tmp_path)
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": "01a0"}}}
    file.row("session_meta", id="01a1", source=spawned)
    file.user("Search.")
    assert read_session(file.path).parent == "01a0"


def test_a_summary_before_the_first_prompt_is_a_part_of_it(tmp_path: Path) -> None:
    thread, text = ThreadFiles(tmp_path), "In short: Nothing was said."
    for _ in range(2):
        turn = thread.new_id()
        thread.event("task_started", turn_id=turn)
        thread.item(message("assistant", "Nothing was said."), turn)
        thread.compact([message("user", text)], text)
        thread.end_turn(turn)
    thread.announced = True
    thread.turn("one")
    session = read_session(thread.path)
    [turn_one] = session.turns
    assert [part.text for part in turn_one.prompt] == [text, "one"]
