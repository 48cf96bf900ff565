"""Changes of a session: the events that Sapwood sends lead to exactly the wanted history."""

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from sapwood.core.content import Text, ToolCall
from sapwood.core.ids import AgentId, TranscriptRange
from sapwood.core.program_session import NativeRows, ProgramSession
from sapwood.core.turn import Turn
from sapwood.core.view.request import Message, ToolResult
from sapwood.programs.agent_provider import History, HistoryTurn
from sapwood.programs.opencode.history_change import (
    Event,
    MessageForm,
    plan_events,
    shown_content,
    wanted_history,
)
from sapwood.programs.opencode.permissions import permission_environment, question_of
from sapwood.programs.opencode.session_database import NAME, StoredEvent, events_of
from sapwood.programs.opencode.session_log import SessionLog, copy_log, read_log
from tests.programs.opencode.opencode_database import make_database, session_ids

FORM = MessageForm("ses_new", "/srv/wood", "scripted", "m1")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    make_database(tmp_path / "opencode")
    return tmp_path / "opencode"


def session_of(home: Path) -> str:
    return session_ids(home / NAME)[0]


def turn_of(home: Path, prompt: str) -> HistoryTurn:
    """A turn that opencode ran."""
    session = ProgramSession("opencode", session_of(home))
    log = read_log(home, session.id)
    found = next(each.id for each in log.known.values() if each.text.startswith(prompt))
    native = NativeRows(session, TranscriptRange(found, found))
    return HistoryTurn(Turn(AgentId("a"), 1, None, (Text(prompt),)), native)


def foreign(*messages: Message) -> HistoryTurn:
    return HistoryTurn(Turn(AgentId("a"), 1, None, (Text("x"),)), None, messages)


def changed(
    home: Path, history: History, log: SessionLog | None = None, name: str = ""
) -> tuple[list[str], list[Event], SessionLog]:
    """The texts that the model is sent after a change, the change, and the session after it."""
    session = name or session_of(home)
    log = log or read_log(home, session)
    wanted = wanted_history(history, log, session, home, home / "copies")
    events = plan_events(log, wanted, FORM)
    made = [
        StoredEvent(f"evt_{number}", number, kind, msgspec.json.encode(data))
        for number, (kind, data) in enumerate(events, start=log.seq + 1)
    ]
    after = SessionLog([*events_of(home / NAME, session), *made])
    assert shown_content(after) == wanted.content
    return [each.text.split(" [[")[0] for each in after.in_view if each.text], events, after


def test_a_subset_keeps_its_messages_and_an_undo_writes_the_others_with_their_ids(
    home: Path,
) -> None:
    some = History((turn_of(home, "Note it."), turn_of(home, "And storks?")))
    texts, events, after = changed(home, some)
    assert texts == ["Note it.", "Noted.", "And storks?", "Two storks."]
    (_, updated), *removed = reversed(events)
    assert {kind for kind, _ in removed} == {"session.updated.1", "message.removed.1"}
    assert updated["info"]["id"] == after.in_view[-1].id
    owls = History((*some.turns[:1], turn_of(home, "And owls?")))
    texts, events, after = changed(home, owls)
    assert texts[-2:] == ["And owls?", "No owls."]
    assert {kind for kind, _ in events} >= {"message.updated.1", "message.part.updated.1"}
    known = {each.id for each in read_log(home, session_of(home)).known.values()}
    assert {each.id for each in after.in_view} <= known


def test_a_history_that_the_session_has_needs_no_change(home: Path) -> None:
    log = read_log(home, session_of(home))
    view = log.in_view
    front = (view[1].text,)
    history = History((turn_of(home, "And storks?"),), front)
    wanted = wanted_history(history, log, session_of(home), home, home / "copies")
    assert wanted.content == shown_content(log)


def test_texts_in_front_become_the_summary_of_a_compaction(home: Path) -> None:
    history = History((turn_of(home, "Go on."), turn_of(home, "And storks?")), ("It was cold.",))
    texts, _, after = changed(home, history)
    assert texts == ["It was cold.", "Go on.", "Here.", "And storks?", "Two storks."]
    pair = after.in_view[0].compaction
    assert pair is not None
    assert after.known[pair["tail_start_id"]].text.startswith("Go on.")


def test_the_programs_own_compaction_is_undone_by_its_removal(home: Path) -> None:
    names = ("Which birds nest here?", "Note it.", "Change it.", "Go on.", "And storks?")
    texts, events, _ = changed(home, History(tuple(turn_of(home, name) for name in names)))
    assert [text for text in texts if text in names] == list(names)
    assert not {kind for kind, _ in events} & {"message.part.updated.1"}


def test_the_last_answer_of_a_changed_session_has_no_tokens_that_would_compact_it(
    home: Path,
) -> None:
    own, fork = session_ids(home / NAME)[:2]
    note, other = turn_of(home, "Note it."), foreign(Message("user", (Text("Cold?"),)))
    before = [each for each in read_log(home, own).known.values() if each.text == "Noted."]
    assert before[0].info["tokens"]["input"] > 0
    for name, turns in ((own, (note,)), (own, (other, note)), (fork, (note,))):
        _, _, after = changed(home, History(turns), name=name)
        assert after.in_view[-1].text == "Noted."
        assert after.in_view[-1].info["tokens"]["input"] == 0


def test_turns_of_other_programs_are_written_behind_the_own_ones(home: Path) -> None:
    call = ToolCall("1", "weather", '{"city": "Oslo"}')
    other = foreign(
        Message("user", (Text("Is it cold?"),)),
        Message("assistant", (Text("I look."), call)),
        Message("user", (ToolResult("1", "weather", "-3 degrees"),)),
        Message("assistant", (Text("Yes."),)),
    )
    history = History((turn_of(home, "Note it."), other, turn_of(home, "Go on.")))
    texts, _, after = changed(home, history)
    assert texts == ["Note it.", "Noted.", "Is it cold?", "I look.", "Yes.", "Go on.", "Here."]
    states = [
        part["state"]
        for message in after.in_view
        for part in message.parts.values()
        if part.get("callID") == "1"
    ]
    assert [(each["status"], each["output"]) for each in states] == [("completed", "-3 degrees")]
    prompts = {each.id for each in after.in_view if each.is_prompt}
    assert all(m.is_prompt or m.info["parentID"] in prompts for m in after.in_view)


def test_a_new_session_gets_copies_with_new_ids(home: Path) -> None:
    fork = session_ids(home / NAME)[1]
    history = History((turn_of(home, "Change it."),))
    _, _, after = changed(home, history, name=fork)
    source = {each.id for each in read_log(home, session_of(home)).known.values()}
    assert not source & {each.id for each in after.in_view}


def test_messages_that_the_log_lost_come_from_the_copy(home: Path) -> None:
    session, copies = session_of(home), home / "copies"
    whole = read_log(home, session)
    copy_log(home, session, copies)
    copy_log(home, session, copies)
    size = (copies / f"{session}.jsonl").stat().st_size
    with closing(sqlite3.connect(home / NAME)) as base:
        base.execute("DELETE FROM event WHERE aggregate_id = ?", (session,))
        base.execute("DELETE FROM message WHERE session_id = ?", (session,))
        base.commit()
    found = read_log(home, session, copies)
    assert found.present == []
    assert {name: each.text for name, each in found.known.items()} == {
        name: each.text for name, each in whole.known.items()
    }
    assert size < 2 * sum(len(each.data) + 150 for each in events_of_copy(copies, session))


@pytest.mark.parametrize("lost", [False, True], ids=["in the log", "only in the copy"])
def test_an_answer_that_was_cut_inside_an_emoji_stays(home: Path, *, lost: bool) -> None:
    session, copies = session_of(home), home / "copies"
    with closing(sqlite3.connect(home / NAME)) as base:
        for table in ("event", "part"):
            cut = "UPDATE {} SET data = replace(data, 'Two storks.', 'Two storks. \\ud83d')"
            base.execute(cut.format(table))
        base.commit()
    copy_log(home, session, copies)
    size = (copies / f"{session}.jsonl").stat().st_size
    copy_log(home, session, copies)
    assert (copies / f"{session}.jsonl").stat().st_size == size
    some = History((turn_of(home, "Note it."), turn_of(home, "And storks?")))
    if lost:
        with closing(sqlite3.connect(home / NAME)) as base:
            base.execute("DELETE FROM event WHERE aggregate_id = ?", (session,))
            base.execute("DELETE FROM message WHERE session_id = ?", (session,))
            base.commit()
    texts, _, after = changed(home, some, read_log(home, session, copies))
    assert texts == ["Note it.", "Noted.", "And storks?", "Two storks. \N{REPLACEMENT CHARACTER}"]
    assert after.is_whole(after.in_view[-1].id)


def events_of_copy(copies: Path, session: str) -> list[StoredEvent]:
    lines = (copies / f"{session}.jsonl").read_bytes().splitlines()
    return [StoredEvent("", 0, "", line) for line in lines]


def test_a_mode_decides_what_opencode_asks() -> None:
    environ = permission_environment("ask", {"OPENCODE_CONFIG_CONTENT": '{"model":"a/b"}'})
    settings = msgspec.json.decode(environ["OPENCODE_CONFIG_CONTENT"])
    assert settings["model"] == "a/b"
    assert (settings["permission"]["*"], settings["permission"]["read"]) == ("ask", "allow")
    only = msgspec.json.decode(permission_environment("read-only", {})["OPENCODE_CONFIG_CONTENT"])
    assert only["permission"]["*"] == "deny"


def test_a_question_names_the_command_and_the_call() -> None:
    asked = {"id": "per_1", "permission": "bash", "patterns": ["rm *"], "tool": {"callID": "c1"}}
    question = question_of(asked, "bash", {"command": "rm -r nests"}, "/srv/wood")
    assert (question.question, question.call, question.tool) == ("per_1", "c1", "bash")
    assert (question.subject, question.folder) == ("rm -r nests", "/srv/wood")


def test_a_change_that_was_cut_in_the_middle_of_a_message_is_completed(home: Path) -> None:
    first, second = turn_of(home, "Note it."), turn_of(home, "And owls?")
    _, events, after = changed(home, History((first, second)))
    cut = next(place for place, (kind, _) in enumerate(events) if kind == "message.updated.1")
    made = [
        StoredEvent(f"evt_{number}", number, kind, msgspec.json.encode(data))
        for number, (kind, data) in enumerate(events[: cut + 1], start=900)
    ]
    log = SessionLog([*events_of(home / NAME, session_of(home)), *made])
    texts = [each.text for each in log.in_view]
    assert not any(text.startswith("And owls?") for text in texts), "its parts are gone"
    wanted = wanted_history(History((first, second)), log, session_of(home), home, home / "copies")
    assert shown_content(log) != wanted.content
    rest = plan_events(log, wanted, FORM)
    more = [
        StoredEvent(f"evt_{number}", number, kind, msgspec.json.encode(data))
        for number, (kind, data) in enumerate(rest, start=2_000)
    ]
    whole = SessionLog([*events_of(home / NAME, session_of(home)), *made, *more])
    assert shown_content(whole) == wanted.content == shown_content(after)
