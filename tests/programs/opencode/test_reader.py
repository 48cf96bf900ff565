"""opencode's sessions: a database that the real program wrote, and events after it."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from sapwood.analysis.session import Session
from sapwood.app.connection import connect
from sapwood.core.content import RecordedReply, RecordedResult, ToolCall
from sapwood.imports.importer import Importer
from sapwood.programs.agent_provider import History
from sapwood.programs.opencode.history_change import MessageForm, plan_events, wanted_history
from sapwood.programs.opencode.session_log import read_log
from sapwood.programs.registry import program, program_of_transcript
from sapwood.programs.transcripts.discovery import NotATranscript, discover, subagents_of
from sapwood.programs.transcripts.session_reader import (
    detect_file,
    read_events,
    read_session,
    tail_session,
)
from sapwood.programs.transcripts.transcript_events import (
    TranscriptCompaction,
    TranscriptRewind,
    TranscriptTurn,
)
from sapwood.turns.open_agent import open_agent
from tests.programs.opencode.opencode_database import FOLDER, make_database, session_ids


@pytest.fixture
def session(tmp_path: Path) -> Path:
    base = make_database(tmp_path / "opencode")
    return base / session_ids(base)[0]


def append(session: Path, *events: tuple[str, dict[str, object]]) -> None:
    """Writes further events into the log of a session."""
    with closing(sqlite3.connect(session.parent)) as base:
        (last,) = base.execute(
            "SELECT max(seq) FROM event WHERE aggregate_id = ?", (session.name,)
        ).fetchone()
        for number, (kind, data) in enumerate(events, start=last + 1):
            row = (f"evt_{number}", session.name, number, kind, json.dumps(data))
            base.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?)", row)
        base.commit()


def turns_of(session: Path) -> list[TranscriptTurn]:
    return [each for each in read_events(session) if isinstance(each, TranscriptTurn)]


def prompts(session: Path) -> list[str]:
    """The keys of all turns."""
    return [each.first.key for each in turns_of(session)]


def asked(found: Session, turns: Sequence[int]) -> list[str]:
    return [found.turns[turn].prompt[0].text.split(" [[")[0] for turn in turns]


def in_view(found: Session) -> list[str]:
    live = [turn for turn in range(len(found.turns)) if turn not in found.abandoned]
    return asked(found, live)


def test_a_recorded_session_is_read_with_all_that_happened_in_it(session: Path) -> None:
    found = read_session(session)
    assert (found.source, found.id, found.folder) == ("opencode", session.name, FOLDER)
    assert (found.title, found.model) == ("Nests", "m1")
    assert [turn.status for turn in found.turns] == [
        *["completed"] * 3,
        "interrupted",
        *["completed"] * 4,
    ]
    assert found.turns[3].reason == "Aborted"
    items = turns_of(session)[2].items
    replies = [item for item in items if isinstance(item, RecordedReply)]
    parts = [part for reply in replies for part in reply.parts]
    calls = [part.name for part in parts if isinstance(part, ToolCall)]
    assert calls == ["read", "edit"]
    results = [item for item in items if isinstance(item, RecordedResult)]
    assert "1: grey" in results[0].content
    assert (results[1].added, results[1].removed) == (1, 1)
    assert [(each.after, each.trigger, each.kept) for each in found.boundaries] == [
        (5, "manual", 0)
    ]
    assert found.boundaries[0].summary != ""


def test_reverted_turns_are_abandoned_before_and_after_opencode_deletes_them(session: Path) -> None:
    found = read_session(session)
    assert asked(found, found.abandoned) == ["And owls?", "And swans?"]
    assert "And owls?" not in str(stored_messages(session))
    assert "And swans?" in str(stored_messages(session))


def stored_messages(session: Path) -> list[str]:
    with closing(sqlite3.connect(session.parent)) as base:
        rows = base.execute("SELECT data FROM part WHERE session_id = ?", (session.name,))
        return [row[0] for row in rows]


def test_a_revert_that_is_taken_back_brings_its_turn_back(session: Path) -> None:
    append(session, ("session.updated.1", {"info": {"id": session.name}}))
    assert in_view(read_session(session))[-2:] == ["And storks?", "And swans?"]


def test_a_turn_that_is_removed_from_the_middle_leaves_the_others(session: Path) -> None:
    second = prompts(session)[1]
    append(session, ("message.removed.1", {"messageID": second}))
    [*_, last] = read_events(session)
    assert isinstance(last, TranscriptCompaction)
    assert "Which birds nest here?" in last.boundary.quoted
    assert "Note it." not in last.boundary.quoted


def test_a_compaction_that_is_removed_brings_the_turns_back(session: Path) -> None:
    pair = next(e.ref.key for e in read_events(session) if isinstance(e, TranscriptCompaction))
    append(session, ("message.removed.1", {"messageID": pair}))
    [*_, last] = read_events(session)
    assert isinstance(last, TranscriptCompaction)
    assert last.boundary.turns == (0, 1, 2, 3, 4, 6)


def test_a_compaction_that_sapwood_wrote_is_not_one_of_the_program(session: Path) -> None:
    home, form = session.parent.parent, MessageForm(session.name, FOLDER, "scripted", "m1")
    log = read_log(home, session.name)
    history = History((), ("It was cold.",))
    wanted = wanted_history(history, log, session.name, home, home / "copies")
    append(session, *plan_events(log, wanted, form))
    found = [e.boundary for e in read_events(session) if isinstance(e, TranscriptCompaction)]
    assert found[-1].summary == "It was cold."
    assert [each.is_compaction for each in found if each.summary] == [True, False]


def test_a_removed_message_that_is_written_again_is_the_same_turn(session: Path) -> None:
    before = read_session(session)
    storks = prompts(session)[6]
    append(session, ("message.removed.1", {"messageID": storks}))
    assert TranscriptRewind in [type(each) for each in read_events(session)][-2:]
    without = in_view(read_session(session))
    append(session, ("message.updated.1", {"info": {"id": storks, "role": "user"}}))
    assert in_view(read_session(session)) == without, "a message without parts is not sent"
    part = {"id": "prt_1", "messageID": storks, "type": "text", "text": "And storks?"}
    append(session, ("message.part.updated.1", {"part": part}))
    after = read_session(session)
    assert in_view(after) == in_view(before)
    assert len(after.turns) == len(before.turns)


def test_rows_that_sapwood_wrote_change_nothing(session: Path) -> None:
    before = read_events(session)
    storks = prompts(session)[6]
    append(session, ("message.removed.1", {"messageID": storks}))
    last = max(offset for _, _, offset in program("opencode").sessions.rows(session))
    assert len(read_events(session)) == len(before)
    assert len(read_events(session, own=(f"evt_{last}",))) == len(before) - 1


def test_messages_of_old_versions_are_only_in_the_tables(session: Path) -> None:
    whole, logged = read_session(session), turns_of(session)
    with closing(sqlite3.connect(session.parent)) as base:
        base.execute("DELETE FROM event WHERE aggregate_id = ?", (session.name,))
        base.commit()
    old, events = read_session(session), turns_of(session)
    kept = [turn for turn in range(len(whole.turns)) if turn != 5]  # opencode deleted it
    assert asked(old, range(len(old.turns))) == asked(whole, kept)
    assert [turn.items for turn in events] == [logged[turn].items for turn in kept]


def test_sessions_are_found_by_folder_and_forks_are_sessions(session: Path) -> None:
    home = session.parents[1]
    found = discover({"opencode": home}, Path(FOLDER))
    assert {each.id for each in found} == {*session_ids(session.parent)}
    assert discover({"opencode": home}, Path("/srv/field")) == []
    assert discover({"opencode": home / "none"}) == []
    assert detect_file(session) == program_of_transcript(str(session)) == "opencode"
    assert tail_session(session).title == "Nests"


def test_a_subagent_belongs_to_its_session(session: Path) -> None:
    _, child = session_ids(session.parent)
    with closing(sqlite3.connect(session.parent)) as base:
        base.execute("UPDATE session SET parent_id = ? WHERE id = ?", (session.name, child))
        base.commit()
    (found,) = discover({"opencode": session.parents[1]})
    assert [each.id for each in subagents_of(found)] == [child]


def test_reading_leaves_no_file_behind_and_does_not_wait_for_a_writer(session: Path) -> None:
    read_session(session)
    assert [path.name for path in session.parents[1].iterdir()] == ["opencode.db"]
    with closing(sqlite3.connect(session.parent)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("DELETE FROM event")
        assert len(read_session(session).turns) == 8


def test_a_session_that_is_not_there_is_no_transcript(session: Path) -> None:
    with pytest.raises(NotATranscript, match="there is no such session"):
        read_session(session.with_name("ses_none"))
    (session.parents[1] / "opencode.db").write_bytes(b"no database" * 1000)
    with pytest.raises(NotATranscript, match="the database cannot be read"):
        read_session(session)


async def test_a_second_import_adds_only_the_new_turn(session: Path) -> None:
    connection = await connect(":memory:")
    importer = Importer(connection, idle_seconds=float("inf"))
    first = await importer.bring(session)
    again = await importer.bring(session)
    assert (first.turns, first.compactions, again.turns, first.problem) == (8, 1, 0, "")
    assert first.resume == f"opencode --session {session.name}"
    reply = {"id": "msg_y", "role": "assistant", "parentID": "msg_x", "finish": "stop"}
    append(
        session,
        ("message.removed.1", {"messageID": prompts(session)[7]}),  # it was reverted
        ("session.updated.1", {"info": {"id": session.name}}),
        ("message.updated.1", {"info": {"id": "msg_x", "role": "user"}}),
        ("message.part.updated.1", {"part": text_part("msg_x", "And crows?")}),
        ("message.updated.1", {"info": reply}),
        ("message.part.updated.1", {"part": text_part("msg_y", "Many.")}),
    )
    assert (await importer.bring(session)).turns == 1
    live = (await open_agent(connection.log, connection.space, first.agent)).live
    shown = [turn.prompt[0].text.split(" [[")[0] for turn in live.turns]
    assert shown == ["And storks?", "And crows?"]
    assert live.summary is not None
    await connection.close()


def text_part(message: str, text: str) -> dict[str, object]:
    return {"id": f"prt_{message}", "messageID": message, "type": "text", "text": text}
