"""Codex's own compaction in front of a history: its items come back word for word."""

from pathlib import Path

import msgspec

from sapwood.analysis.session import Boundary
from sapwood.core.view.frames import REQUEST_FRAME
from sapwood.programs.agent_provider import History
from sapwood.programs.codex.history_change import has_same
from sapwood.programs.codex.response_items import wanted_history
from sapwood.programs.codex.thread_history import HistoryItem, RolloutReader
from tests.programs.codex.test_response_items import history_turn, native
from tests.programs.codex.thread_files import Row, ThreadFiles, message

SUMMARY = "Another model worked on this. [Mail from nobody] It is\ncold."
ENCRYPTED: Row = {"type": "compaction", "encrypted_content": "AAAA"}


def kept(*texts: str) -> list[Row]:
    return [message("user", text) for text in texts]


def shown(quoted: str, summary: str = SUMMARY) -> str:
    """As Sapwood shows a compaction: in a frame, with its own labels escaped."""
    text = Boundary(1, summary=summary, quoted=quoted).text.replace("[Mail", "[\\Mail")
    return f"[Summary of the conversation before this point.]\n{text}\n[end 1f]"


def texts(items: list[HistoryItem]) -> list[str]:
    found = [msgspec.json.decode(item.payload) for item in items]
    return [part["text"] for item in found for part in item.get("content", ())]


def compacted(home: Path, *, encrypted: bool = False) -> ThreadFiles:
    """A thread that Codex compacted after two turns, and one turn after that."""
    thread = ThreadFiles(home)
    thread.turn("one")
    thread.turn("two")
    if encrypted:
        thread.compact([*kept("one", "two"), ENCRYPTED])
    else:
        thread.compact(kept("one", "two", SUMMARY), SUMMARY)
    thread.turn("three", tool=True)
    return thread


def test_the_items_of_a_compaction_are_the_history_that_codex_has(tmp_path: Path) -> None:
    thread = compacted(tmp_path)
    turn = history_turn(native(thread, 2))
    request = f"{REQUEST_FRAME}\ntwo"
    front = (shown("User: one\n\nUser: two"), request)
    wanted = wanted_history(History((turn,), front), tmp_path)
    now = RolloutReader(tmp_path).read(thread.path)
    assert has_same(now.items, wanted.items)
    assert texts(wanted.items)[:3] == ["one", "two", SUMMARY]
    assert len(now.announcements) == 2
    assert now.announced


def test_an_encrypted_summary_comes_back(tmp_path: Path) -> None:
    thread = compacted(tmp_path, encrypted=True)
    turn = history_turn(native(thread, 2))
    front = (shown("User: one\n\nUser: two", ""),)
    wanted = wanted_history(History((turn,), front), tmp_path)
    assert has_same(RolloutReader(tmp_path).read(thread.path).items, wanted.items)


def test_of_equal_summaries_the_one_with_the_same_messages_is_taken(tmp_path: Path) -> None:
    thread = compacted(tmp_path)
    thread.compact(kept("one", "two", "three", SUMMARY), SUMMARY)
    for quoted, expected in (
        ("User: one\n\nUser: two", ["one", "two", SUMMARY]),
        ("User: one\n\nUser: two\n\nUser: three", ["one", "two", "three", SUMMARY]),
    ):
        wanted = wanted_history(History((), (shown(quoted),)), tmp_path, thread=thread.id)
        assert texts(wanted.items) == expected


def test_a_compaction_is_found_after_a_revert_and_in_a_fork(tmp_path: Path) -> None:
    thread = compacted(tmp_path)
    fork = thread.fork(thread.turns[2][0])
    thread.revert(thread.turns[0][0])
    thread.turn("four")
    for each in (thread, fork):
        front = (shown("User: one\n\nUser: two"),)
        wanted = wanted_history(History((), front), tmp_path, thread=each.id)
        assert texts(wanted.items) == ["one", "two", SUMMARY]


def test_other_texts_in_front_stay_around_it(tmp_path: Path) -> None:
    thread = compacted(tmp_path)
    front = ("A pin.", shown("User: one\n\nUser: two"), "A quoted turn.")
    wanted = wanted_history(History((), front), tmp_path, thread=thread.id)
    assert texts(wanted.items) == ["A pin.", "one", "two", SUMMARY, "A quoted turn."]


def test_a_summary_of_sapwood_is_written_as_it_is(tmp_path: Path) -> None:
    thread = compacted(tmp_path)
    thread.row("compacted", {"message": "", "replacement_history": kept("It was cold.")})
    front = (shown("", "It was cold."),)
    wanted = wanted_history(History((), front), tmp_path, thread=thread.id)
    assert texts(wanted.items) == list(front)


def test_a_summary_before_the_first_prompt_belongs_to_its_turn(tmp_path: Path) -> None:
    thread = ThreadFiles(tmp_path)
    for _ in range(2):
        thread.compact(kept(SUMMARY), SUMMARY)
    thread.announced = True
    thread.turn("one")
    wanted = wanted_history(History((history_turn(native(thread, 0)),)), tmp_path)
    assert texts(wanted.items) == [SUMMARY, "one", "answer to one"]
    shown_too = History((history_turn(native(thread, 0)),), (shown(""),))
    assert texts(wanted_history(shown_too, tmp_path).items) == texts(wanted.items)
    assert has_same(RolloutReader(tmp_path).read(thread.path).items, wanted.items)
