"""Changes of a pi session: only appended rows, whose view is exactly the wanted history."""

import json
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from sapwood.core.content import Text, Thinking, ToolCall
from sapwood.core.ids import AgentId, TranscriptRange
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.core.turn import Turn
from sapwood.core.view.request import Message, ToolResult
from sapwood.programs.agent_provider import History, HistoryTurn, SessionBusy
from sapwood.programs.pi import session_file
from sapwood.programs.pi.history_change import (
    Fields,
    WantedTree,
    plan_rows,
    shown_sources,
    wanted_history,
)
from sapwood.programs.pi.session_file import PiSession, append_rows
from tests.programs.pi.record import FIXTURE
from tests.programs.transcripts.writing import PiFile

SESSION = "0a1b"


class World:
    """A session of four turns with calls, and the rows of each."""

    def __init__(self, folder: Path) -> None:
        self.file = PiFile(folder, SESSION)
        self.file.row("model_change", provider="p", modelId="m1")
        self.copies = folder / "copies"
        self.rows = [self.turn(number) for number in range(1, 5)]

    def turn(self, number: int) -> NativeRows:
        file = self.file
        first = file.user(f"TURN{number}")
        file.says(file.call(f"c{number}", command="ls"))
        file.result(f"c{number}", f"result-{number}")
        last = file.says(f"ANSWER{number}")
        session = ProgramSession("pi", SESSION, str(file.path))
        return NativeRows(session, TranscriptRange(first, last))

    def change(self, *rows: NativeRows | None, front: tuple[str, ...] = ()) -> list[Fields]:
        """Appends what leads to this history, and checks that the view has exactly it."""
        before, stored = self.file.path.read_bytes(), PiSession(self.file.path)
        wanted = self.wanted(*rows, front=front)
        planned = plan_rows(stored, wanted)
        if planned:
            append_rows(stored, planned, self.copies / "copy.jsonl", frozenset())
            self.file.last = str(planned[-1]["id"])
        after = PiSession(self.file.path)
        assert self.file.path.read_bytes().startswith(before)
        assert shown_sources(after, after.leaf) == (wanted.front, wanted.sources)
        assert plan_rows(after, self.wanted(*rows, front=front)) == []
        return planned

    def wanted(self, *rows: NativeRows | None, front: tuple[str, ...] = ()) -> WantedTree:
        turns = tuple(foreign(number, each) for number, each in enumerate(rows))
        stored = PiSession(self.file.path)
        return wanted_history(History(turns, front), stored, SESSION, lambda _: None)


def foreign(number: int, native: NativeRows | None = None) -> HistoryTurn:
    """A turn whose own rows are unknown unless they are given."""
    words = Text(f"NEUTRAL{number}")
    called = (Thinking("hm"), ToolCall("x1", "shell", '{"cmd":"ls"}'))
    messages = (
        Message("user", (words,)),
        Message("assistant", called),
        Message("user", (ToolResult("x1", "shell", "out"),)),
        Message("assistant", (Text("so it is"),)),
    )
    return HistoryTurn(Turn(AgentId("a"), number, None, (words,)), native, messages)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def kinds(rows: list[Fields]) -> list[str]:
    return [str(row["type"]) for row in rows]


def test_a_session_that_has_the_history_stays_as_it_is(world: World) -> None:
    assert world.change(*world.rows) == []


def test_a_trim_takes_entries_out_of_the_view_and_its_undo_is_one_row(world: World) -> None:
    planned = world.change(world.rows[1], world.rows[3])
    assert kinds(planned) == ["context_edit"] * 8
    assert kinds(world.change(*world.rows)) == ["custom"]


def test_turns_after_a_trim_stay_when_it_is_undone(world: World) -> None:
    world.change(world.rows[3])
    later = world.turn(5)
    planned = world.change(*world.rows, later)
    assert kinds(planned) == ["context_edit"] * 12
    assert all(row["replacement"]["content"] for row in planned)


def test_a_rewind_and_its_undo_move_the_leaf(world: World) -> None:
    assert kinds(world.change(*world.rows[:2])) == ["custom"]
    assert kinds(world.change(*world.rows)) == ["custom"]
    assert kinds(world.change()) == ["custom"]


def test_texts_in_front_are_a_compaction(world: World) -> None:
    (row,) = world.change(*world.rows[2:], front=("It was cold.",))
    assert (row["type"], row["summary"]) == ("compaction", "It was cold.")
    assert row["firstKeptEntryId"] == world.rows[2].passage.first
    (row,) = world.change(front=("Nothing else.",))
    assert row["firstKeptEntryId"] == row["id"]


def test_turns_on_both_sides_of_a_compaction_are_copied_without_it(world: World) -> None:
    world.change(world.rows[3], front=("It was cold.",))
    later = world.turn(5)
    planned = world.change(*world.rows, later)
    assert planned[0]["copyOf"] == later.passage.first
    assert world.change(*world.rows, later) == []


def test_an_empty_summary_of_the_program_does_not_stay_in_front(world: World) -> None:
    kept = world.rows[3].passage.first
    world.file.row("compaction", summary="", firstKeptEntryId=kept, tokensBefore=9)
    (row,) = world.change(*world.rows[3:4])[-1:]
    assert row["type"] == "context_edit"
    after = PiSession(world.file.path)
    assert after.view(after.leaf).compaction is None


def test_a_turn_of_another_program_is_written_with_its_calls(world: World) -> None:
    wanted = world.wanted(world.rows[0], None)
    assert wanted.loss == "The reasoning in 1 turn of another program could not be carried over."
    written = [row["message"] for row in world.change(world.rows[0], None)]
    assert [each["role"] for each in written] == ["user", "assistant", "toolResult", "assistant"]
    assert written[1]["content"] == [
        {"type": "toolCall", "id": "x1", "name": "shell", "arguments": {"cmd": "ls"}}
    ]
    assert (written[1]["model"], written[1]["stopReason"]) == ("m1", "toolUse")


def test_what_the_user_typed_for_the_next_prompt_stays(world: World) -> None:
    told = {"role": "bashExecution", "command": "ls", "output": "nests"}
    typed = world.file.row("message", message=told)
    planned = plan_rows(PiSession(world.file.path), world.wanted(*world.rows[2:]))
    assert planned[0]["parentId"] == typed
    assert typed not in [row["targetId"] for row in planned]


def test_a_compaction_of_the_program_is_used_as_it_is(world: World) -> None:
    kept = world.rows[3].passage.last
    world.file.row("compaction", summary="It was cold.", firstKeptEntryId=kept, tokensBefore=9)
    later = world.turn(5)
    wanted = world.wanted(later, front=("[Summary]\nIt was cold.",))
    assert wanted.front == "It was cold."
    assert wanted.sources[0] == kept
    assert plan_rows(PiSession(world.file.path), wanted) == []


def test_of_two_equal_summaries_the_one_whose_kept_reply_is_shown_is_used(world: World) -> None:
    kept = world.rows[3].passage.last
    world.file.row("compaction", summary="It was cold.", firstKeptEntryId=kept, tokensBefore=9)
    later = world.turn(5)
    again = later.passage.last
    world.file.row("compaction", summary="It was cold.", firstKeptEntryId=again, tokensBefore=9)
    last = world.turn(6)
    front = "[Summary]\nIt was cold.\n\nAssistant: ANSWER{}"
    assert world.wanted(later, last, front=(front.format(4),)).sources[0] == kept
    assert world.wanted(last, front=(front.format(5),)).sources[0] == again


def test_the_recorded_session_can_be_brought_back_to_its_first_branch(tmp_path: Path) -> None:
    path = tmp_path / FIXTURE.name
    path.write_bytes(FIXTURE.read_bytes())
    stored = PiSession(path)
    named = {entry.id: json.dumps(stored.row(entry)) for entry in stored.entries.values()}
    first = next(key for key, text in named.items() if "TURN1 " in text)
    last = next(key for key, text in named.items() if "ANSWER2" in text and '"stop"' in text)
    session = ProgramSession("pi", "recorded", str(path))
    turn = foreign(0, NativeRows(session, TranscriptRange(first, last)))
    wanted = wanted_history(History((turn,)), stored, "recorded", lambda _: None)
    (row,) = plan_rows(stored, wanted)
    assert (row["type"], row["parentId"]) == ("custom", last)


def test_a_result_that_was_cut_inside_an_emoji_stays(world: World) -> None:
    content = world.file.path.read_bytes()
    world.file.path.write_bytes(content.replace(b"result-2", b"cut \\ud83d"))
    for changed in ([world.rows[1], world.rows[3]], world.rows[1:3], world.rows):
        world.change(*changed)
    assert "cut" in json.dumps(
        [each.fields for turn in world.wanted(*world.rows).turns for each in turn]
    )


def test_an_unknown_entry_is_never_written(world: World) -> None:
    stored = PiSession(world.file.path)
    row = {"type": "custom", "id": "0f", "parentId": "lost"}
    with pytest.raises(ValueError, match="is not in the session"):
        append_rows(stored, [row], world.copies / "copy.jsonl", frozenset())


def test_a_file_that_changed_meanwhile_is_left_alone(world: World) -> None:
    stored = PiSession(world.file.path)
    world.file.user("TURN9")
    before = world.file.path.read_bytes()
    row = {"type": "custom", "id": "0f", "parentId": stored.leaf}
    with pytest.raises(SessionBusy, match="has just changed"):
        append_rows(stored, [row], world.copies / "copy.jsonl", frozenset())
    assert world.file.path.read_bytes() == before


def test_a_row_after_half_a_line_begins_on_a_line_of_its_own(world: World) -> None:
    world.file.raw(b'{"type":"message","id":"ha')
    world.change(*world.rows[:2])


def test_a_process_of_pi_in_the_folder_makes_the_session_busy(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = PiSession(world.file.path)

    def processes(folder: str, session: str) -> list[int]:
        return [4711]

    monkeypatch.setattr(session_file, "_processes", processes)
    with pytest.raises(SessionBusy, match="process 4711"):
        session_file.require_at_rest(stored, frozenset())
    session_file.require_at_rest(stored, frozenset({4711}))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_pi_that_sapwood_started_for_another_session_does_not_count(
    world: World, tmp_path: Path
) -> None:
    stored = PiSession(world.file.path)
    stored.folder = os.path.realpath(tmp_path)
    for session, is_busy in (("other", False), (SESSION, True)):
        environ = {**os.environ, session_file.SESSION_VARIABLE: session}
        with subprocess.Popen(
            ["pi", "-c", "echo started; read line"],
            executable="/bin/sh",
            cwd=tmp_path,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            # Before its first line, /proc may show no command line yet.
            assert process.stdout.readline() == b"started\n"
            try:
                with pytest.raises(SessionBusy) if is_busy else nullcontext():
                    session_file.require_at_rest(stored, frozenset())
                session_file.require_at_rest(stored, frozenset({process.pid}))
            finally:
                process.kill()
