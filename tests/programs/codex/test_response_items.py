"""Items from the neutral form and from Codex's own rows."""

import hashlib
from pathlib import Path

import msgspec
from msgspec import structs

from sapwood.core.content import Text, Thinking, ToolCall
from sapwood.core.ids import AgentId, TranscriptRange
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.core.turn import Turn
from sapwood.core.view.request import Message, ToolResult
from sapwood.programs.agent_provider import History, HistoryTurn
from sapwood.programs.codex.history_change import has_same
from sapwood.programs.codex.response_items import (
    items_of_messages,
    items_of_rows,
    wanted_history,
)
from sapwood.programs.codex.thread_history import RolloutReader
from sapwood.programs.codex.turn_rows import TurnRows
from sapwood.programs.session_copy import extend_copy
from sapwood.programs.transcripts.turn_builder import GOES_ON
from tests.programs.codex.thread_files import ThreadFiles, message

MESSAGES = (
    Message("user", (Text("Is it cold?"),)),
    Message("assistant", (Thinking("Hm."), Text("Let me look."), ToolCall("c" * 80, "a b", "{}"))),
    Message("user", (ToolResult("c" * 80, "a b", "-3"), Text("Well?"))),
    Message("assistant", (Text("Yes."),)),
)


def native(thread: ThreadFiles, number: int) -> NativeRows:
    """The rows of a turn, as a turn that ran here names them."""
    turn, path, offset, *_ = thread.turns[number]
    rows = TurnRows(path, offset, turn)
    rows.read()
    found = rows.native(ProgramSession("codex", thread.id, str(path)))
    assert found is not None
    return found


def history_turn(rows: NativeRows | None) -> HistoryTurn:
    return HistoryTurn(Turn(AgentId("a"), 1, None, (Text("Is it cold?"),)), rows, MESSAGES)


def test_results_follow_their_calls_and_thoughts_are_left_out() -> None:
    items = [msgspec.json.decode(item) for item in items_of_messages(MESSAGES)]
    kinds = [item.get("role") or item["type"] for item in items]
    expected = ["user", "assistant", "function_call", "function_call_output", "user", "assistant"]
    assert kinds == expected
    call, output = items[2], items[3]
    assert call["call_id"] == output["call_id"]
    assert len(call["call_id"]) <= 64
    assert call["name"] == "a_b"


def test_the_rows_of_a_turn_give_its_items_verbatim(tmp_path: Path) -> None:
    thread = ThreadFiles(tmp_path)
    thread.turn("one", tool=True)
    thread.turn("two", tool=True)
    whole = RolloutReader(tmp_path).read(thread.path).items
    found = [items_of_rows(native(thread, number), tmp_path) for number in (0, 1)]
    assert found[0] == [item.payload for item in whole[:4]]
    assert found[1] == [item.payload for item in whole[4:]]


def test_rows_are_found_after_the_thread_went_on_in_another_file(tmp_path: Path) -> None:
    thread = ThreadFiles(tmp_path)
    first = thread.turn("one")
    rows = native(thread, 0)
    thread.revert(first)
    thread.turn("two")
    elsewhere = structs.replace(rows.session, path=str(thread.path))
    other = native(thread, 0)
    assert "@" in other.passage.first
    assert not other.passage.first.startswith("@")
    nowhere = structs.replace(rows.session, path="")
    for session in (elsewhere, nowhere):
        found = items_of_rows(structs.replace(rows, session=session), tmp_path)
        assert found is not None
        assert found == items_of_rows(rows, tmp_path)
    assert items_of_rows(other, tmp_path) is not None


def test_rows_that_changed_are_written_from_the_log_and_that_is_said(tmp_path: Path) -> None:
    thread = ThreadFiles(tmp_path)
    thread.turn("one")
    rows = structs.replace(native(thread, 0), hash=hashlib.sha256(b"other").hexdigest())
    assert items_of_rows(rows, tmp_path) is None
    wanted = wanted_history(History((history_turn(rows),)), tmp_path)
    assert [item.payload for item in wanted.items] == items_of_messages(MESSAGES)
    assert "Codex's own rows of 1 turn" in wanted.loss
    assert "1 reasoning block" in wanted.loss


def test_rows_with_odd_names_are_not_read(tmp_path: Path) -> None:
    thread = ThreadFiles(tmp_path)
    thread.turn("one")
    rows = native(thread, 0)
    for passage in (
        TranscriptRange("x", "y"),
        TranscriptRange("@9", "@3"),
        TranscriptRange("@0", "@0"),
    ):
        odd = structs.replace(rows, passage=passage, hash="")
        assert items_of_rows(odd, tmp_path) is None


def test_texts_in_front_are_one_message_of_the_user(tmp_path: Path) -> None:
    wanted = wanted_history(History((), ("A summary.", "A pin.")), tmp_path)
    (item,) = [msgspec.json.decode(each.payload) for each in wanted.items]
    assert item["role"] == "user"
    assert [part["text"] for part in item["content"]] == ["A summary.", "A pin."]


def test_a_turn_of_another_program_is_written_from_the_log_without_a_word(tmp_path: Path) -> None:
    rows = NativeRows(ProgramSession("claude-code", "s"), TranscriptRange("a", "b"))
    messages = (Message("user", (Text("Hi"),)), Message("assistant", (Text("Ho"),)))
    turn = structs.replace(history_turn(rows), messages=messages)
    wanted = wanted_history(History((turn,)), tmp_path)
    assert len(wanted.items) == 2
    assert wanted.loss == ""


def test_injected_items_are_the_same_after_codex_gave_them_ids(tmp_path: Path) -> None:
    thread = ThreadFiles(tmp_path)
    wanted = wanted_history(History((history_turn(None),)), tmp_path)
    thread.inject([])
    for item in wanted.items:
        thread.item(msgspec.json.decode(item.payload))
    assert has_same(RolloutReader(tmp_path).read(thread.path).items, wanted.items)


def test_rows_that_codex_has_no_more_come_from_the_private_copy(tmp_path: Path) -> None:
    thread = ThreadFiles(tmp_path)
    thread.turn("one")
    rows = native(thread, 0)
    found = items_of_rows(rows, tmp_path)
    copies = tmp_path / "copies"
    extend_copy(thread.path, copies / thread.path.name)
    thread.path.unlink()
    assert items_of_rows(rows, tmp_path) is None
    assert items_of_rows(rows, tmp_path, copies) == found
    assert items_of_rows(structs.replace(rows, hash=""), tmp_path, copies) is None


def test_the_output_of_a_command_of_the_user_belongs_to_the_prompt_after_it(tmp_path: Path) -> None:
    thread = ThreadFiles(tmp_path)
    thread.turn("one")
    stopped = thread.start_turn("two")
    thread.item(message("user", "<turn_aborted>\nThe user stopped it.\n</turn_aborted>"), stopped)
    thread.end_turn(stopped, "turn_aborted")
    for number in (1, 2):
        thread.item(message("user", f"<user_shell_command>echo {number}</user_shell_command>"))
    thread.turn("three")
    whole = [item.payload for item in RolloutReader(tmp_path).read(thread.path).items]
    found = [items_of_rows(native(thread, number), tmp_path) or [] for number in (0, 1, 2)]
    assert [item for items in found for item in items] == whole
    assert [len(items) for items in found] == [2, 2, 4]


def test_a_turn_that_codex_compacted_in_the_middle_has_its_items_and_no_summary(
    tmp_path: Path,
) -> None:
    thread = ThreadFiles(tmp_path)
    turn = thread.start_turn("one")
    thread.call(turn, "c1", "ls")
    thread.output(turn, "c1", "a.txt")
    thread.reply(turn, "A summary.")
    thread.compact(
        [message("user", "one"), message("user", "Codex says: A summary.")], "A summary."
    )
    thread.reply(turn, "Done.")
    thread.end_turn(turn)
    items = [msgspec.json.decode(each) for each in items_of_rows(native(thread, 0), tmp_path) or ()]
    said = [item["content"][0]["text"] for item in items if item.get("role") == "assistant"]
    assert said == ["Done."]
    assert [item["type"] for item in items][1:3] == ["function_call", "function_call_output"]


def test_the_rest_of_a_turn_after_a_compaction_needs_no_prompt(tmp_path: Path) -> None:
    thread = ThreadFiles(tmp_path)
    turn = thread.start_turn("one")
    place = thread.item(message("assistant", "Done."), turn)
    key = f"@{place}"
    rows = NativeRows(
        ProgramSession("codex", thread.id, str(thread.path)), TranscriptRange(key, key)
    )
    rest = structs.replace(
        history_turn(rows), turn=Turn(AgentId("a"), 1, None, (GOES_ON,)), messages=()
    )
    assert items_of_rows(rows, tmp_path) is None
    wanted = wanted_history(History((rest,), ("A summary.",)), tmp_path)
    assert wanted.loss == ""
    assert [msgspec.json.decode(each.payload)["role"] for each in wanted.items] == [
        "user",
        "assistant",
    ]


def test_waiting_items_are_found_behind_long_rows(tmp_path: Path) -> None:
    thread = ThreadFiles(tmp_path)
    thread.turn("one")
    for number in range(3):
        text = f"{number} " + "x" * 40_000
        thread.item(message("user", f"<user_shell_command>{text}</user_shell_command>"))
        thread.event("warning", message="y" * 70_000)
    thread.turn("two")
    whole = [item.payload for item in RolloutReader(tmp_path).read(thread.path).items]
    found = [items_of_rows(native(thread, number), tmp_path) or [] for number in (0, 1)]
    assert [item for items in found for item in items] == whole
    assert [len(items) for items in found] == [2, 5]
