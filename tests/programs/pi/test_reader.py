"""Sessions of pi: branches, compactions and edits of a tree whose last row is the leaf."""

import json
from pathlib import Path

from sapwood.core.content import Note, Text, ToolCall
from sapwood.core.turn import Reply, Result, Turn
from sapwood.programs.registry import program, resume_command_for
from sapwood.programs.transcripts.discovery import discover
from sapwood.programs.transcripts.session_reader import detect_file, read_events, read_session
from sapwood.programs.transcripts.transcript_events import TranscriptTurn
from tests.programs.pi.record import FIXTURE
from tests.programs.transcripts.writing import PiFile


def names(turns: tuple[Turn, ...]) -> list[str]:
    """The first word of each prompt."""
    found = ([part.text for part in turn.prompt if isinstance(part, Text)] for turn in turns)
    return [texts[0].split()[0] for texts in found]


def asked(file: PiFile, *numbers: int) -> None:
    for number in numbers:
        file.user(f"TURN{number}")
        file.says(f"ANSWER{number}")


def test_a_session_of_the_real_program_is_read() -> None:
    assert detect_file(FIXTURE) == "pi"
    session = read_session(FIXTURE)
    assert (session.source, session.id, session.folder) == ("pi", "recorded", "/srv/wood")
    assert names(session.turns) == [f"TURN{number}" for number in range(1, 8)]
    assert session.model == "m1"
    assert resume_command_for(session.source, session.id) == "pi --session recorded"


def test_calls_and_results_belong_to_their_turn() -> None:
    first = read_session(FIXTURE).turns[0]
    reply, result, last = first.items
    assert isinstance(reply, Reply)
    assert isinstance(result, Result)
    assert isinstance(last, Reply)
    call = next(part for part in reply.parts if isinstance(part, ToolCall))
    assert (call.name, json.loads(call.args)) == ("bash", {"command": "echo result-1"})
    assert (result.content, first.status) == ("result-1\n", "completed")
    assert reply.usage is not None
    assert reply.usage.input > 0


def test_an_aborted_turn_is_interrupted() -> None:
    assert read_session(FIXTURE).turns[2].status == "interrupted"


def test_a_row_of_an_earlier_entry_leaves_the_turns_after_it_behind() -> None:
    assert read_session(FIXTURE).abandoned == (1, 2)


def test_a_command_of_the_user_is_a_note_in_the_next_prompt() -> None:
    note = read_session(FIXTURE).turns[3].prompt[0]
    assert isinstance(note, Note)
    assert "typed-by-hand" in note.text


def test_a_compaction_and_an_edit_are_boundaries() -> None:
    compacted, edited = read_session(FIXTURE).boundaries
    assert compacted.summary.startswith("SUMMARY")
    assert compacted.before_tokens == 1587
    assert (compacted.kept, compacted.quoted) == (0, "Assistant: ANSWER5")
    assert edited.turns == (6,)
    assert "SUMMARY" in edited.summary
    assert names(read_session(FIXTURE).in_view) == ["TURN7"]


def test_a_compaction_that_keeps_whole_turns_names_them(tmp_path: Path) -> None:
    file = PiFile(tmp_path)
    asked(file, 1)
    kept = file.user("TURN2")
    file.says("ANSWER2")
    file.row("compaction", summary="It was cold.", firstKeptEntryId=kept, tokensBefore=9)
    session = read_session(file.path)
    (boundary,) = session.boundaries
    assert (boundary.summary, boundary.turns) == ("It was cold.", (1,))
    assert names(session.in_view) == ["TURN2"]


def test_going_back_before_a_compaction_brings_all_turns_into_view(tmp_path: Path) -> None:
    file = PiFile(tmp_path)
    asked(file, 1, 2)
    tip = file.last
    file.row("compaction", summary="It was cold.", firstKeptEntryId=tip, tokensBefore=9)
    file.row("custom", parentId=tip, customType="sapwood", data={})
    session = read_session(file.path)
    assert session.boundaries[-1].turns == (0, 1)
    assert names(session.in_view) == ["TURN1", "TURN2"]


def test_a_leaf_that_moved_back_and_forth_ends_where_it_is(tmp_path: Path) -> None:
    file = PiFile(tmp_path)
    asked(file, 1, 2)
    first = file.says("more")
    asked(file, 3)
    tip = file.last
    file.row("custom", parentId=first, customType="x")
    assert names(read_session(file.path).in_view) == ["TURN1", "TURN2"]
    file.row("custom", parentId=tip, customType="x")
    assert names(read_session(file.path).in_view) == ["TURN1", "TURN2", "TURN3"]


def test_rows_that_sapwood_appended_are_passed_over(tmp_path: Path) -> None:
    file = PiFile(tmp_path)
    first = file.user("TURN1")
    file.says("ANSWER1")
    asked(file, 2)
    own = file.row("context_edit", targetId=first, replacement=None)
    asked(file, 3)
    events = read_events(file.path, own=[own])
    assert all(isinstance(each, TranscriptTurn) for each in events)
    last = events[-1]
    assert isinstance(last, TranscriptTurn)
    assert last.parent is None


def test_a_row_with_an_unknown_parent_follows_the_last_one(tmp_path: Path) -> None:
    file = PiFile(tmp_path)
    asked(file, 1)
    file.last = "lost"
    asked(file, 2)
    assert names(read_session(file.path).in_view) == ["TURN1", "TURN2"]


def test_sessions_are_found_by_their_folder(tmp_path: Path) -> None:
    place = tmp_path / "sessions" / "--srv-wood--"
    asked(PiFile(place), 1)
    homes = {"pi": program("pi").home({"PI_CODING_AGENT_DIR": str(tmp_path)})}
    (found,) = discover(homes, Path("/srv/wood"))
    assert (found.source, found.id, found.folder) == ("pi", "0a1b", "/srv/wood")
    assert discover(homes, Path("/srv/other")) == []
