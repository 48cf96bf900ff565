"""A thread at rest is changed by appended rows alone, and only while nobody has it open."""

import fcntl
import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.programs.agent_provider import SessionBusy
from sapwood.programs.codex.history_change import has_same
from sapwood.programs.codex.thread_at_rest import (
    append_history,
    hold_thread,
    is_open,
    replacement_rows,
)
from sapwood.programs.codex.thread_history import HistoryItem, RolloutReader
from tests.programs.codex.thread_files import ThreadFiles, message

NOW = datetime(2026, 11, 15, 21, tzinfo=UTC)


def change(thread: ThreadFiles, wanted: list[HistoryItem]) -> tuple[str, ...]:
    history = RolloutReader(thread.home).read(thread.path)
    rows = replacement_rows(history, wanted, NOW)
    return append_history(thread.path, thread.path.stat().st_size, rows)


def items(thread: ThreadFiles) -> list[HistoryItem]:
    return RolloutReader(thread.home).read(thread.path).items


@given(st.lists(st.sets(st.integers(0, 4)), min_size=1, max_size=4))
def test_any_subset_of_turns_is_kept_and_undone(subsets: list[set[int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        thread = ThreadFiles(Path(folder))
        for number in range(5):
            thread.turn(f"turn {number}", tool=True)
        whole = items(thread)
        size = len(whole) // 5
        for subset in subsets:
            wanted = [item for n in sorted(subset) for item in whole[n * size : (n + 1) * size]]
            before = thread.path.read_bytes()
            change(thread, wanted)
            assert thread.path.read_bytes().startswith(before)
            assert has_same(items(thread), wanted)
        change(thread, whole)
        assert [item.payload for item in items(thread)] == [item.payload for item in whole]


def test_rows_go_on_with_the_next_number_and_are_named_by_their_place(tmp_path: Path) -> None:
    thread = ThreadFiles(tmp_path)
    thread.turn("one")
    size, last = thread.path.stat().st_size, thread.ordinal
    keys = change(thread, [])
    rows = [msgspec.json.decode(line) for line in thread.path.read_bytes()[size:].splitlines()]
    assert [row["ordinal"] for row in rows] == [last + 1, last + 2, last + 3]
    assert [row["type"] for row in rows] == ["compacted", "world_state", "turn_context"]
    assert keys[0] == f"@{size}"
    assert len(keys) == 3


def test_a_file_without_numbers_gets_none(tmp_path: Path) -> None:
    thread = ThreadFiles(tmp_path)
    thread.turn("one")
    rows = [msgspec.json.decode(line) for line in thread.path.read_bytes().splitlines()]
    lines = [msgspec.json.encode({k: v for k, v in row.items() if k != "ordinal"}) for row in rows]
    thread.path.write_bytes(b"\n".join(lines) + b"\n")
    change(thread, [])
    assert b"ordinal" not in thread.path.read_bytes()
    assert items(thread) == []


def test_announcements_stay_in_front_if_all_of_them_are_there(tmp_path: Path) -> None:
    thread = ThreadFiles(tmp_path)
    thread.turn("one")
    change(thread, [])
    history = RolloutReader(tmp_path).read(thread.path)
    assert len(history.announcements) == 2
    assert history.announced


def test_later_announcements_are_left_to_codex(tmp_path: Path) -> None:
    thread = ThreadFiles(tmp_path)
    thread.turn("one")
    turn = thread.new_id()
    thread.event("task_started", turn_id=turn)
    thread.item(message("developer", "<permissions instructions>"), turn)
    thread.item(message("user", "two"), turn)
    thread.end_turn(turn)
    assert len(change(thread, [])) == 1
    assert RolloutReader(tmp_path).read(thread.path).announcements == []


def test_a_row_that_was_cut_off_stays_and_ours_begin_on_a_new_line(tmp_path: Path) -> None:
    thread = ThreadFiles(tmp_path)
    thread.turn("one")
    wanted = items(thread)[:1]
    with thread.path.open("ab") as file:
        file.write(b'{"timestamp":"2026-11-')
    before = thread.path.read_bytes()
    keys = change(thread, wanted)
    assert thread.path.read_bytes().startswith(before + b"\n{")
    assert keys[0] == f"@{len(before) + 1}"
    assert has_same(items(thread), wanted)


def test_a_file_that_changed_since_it_was_read_is_left_alone(tmp_path: Path) -> None:
    thread = ThreadFiles(tmp_path)
    thread.turn("one")
    size = thread.path.stat().st_size
    thread.turn("two")
    before = thread.path.read_bytes()
    with pytest.raises(SessionBusy):
        append_history(thread.path, size, [b"{}\n"])
    assert thread.path.read_bytes() == before


def test_a_thread_that_codex_has_open_is_busy(tmp_path: Path) -> None:
    thread = ThreadFiles(tmp_path)
    lock = tmp_path / "thread-writer-locks" / f"{thread.id}.lock"
    lock.parent.mkdir()
    handle = os.open(lock, os.O_RDWR | os.O_CREAT)
    fcntl.flock(handle, fcntl.LOCK_EX)
    assert is_open(tmp_path, thread.id)
    with pytest.raises(SessionBusy, match="open in Codex"), hold_thread(tmp_path, thread.id):
        raise AssertionError("the lock was taken twice")
    os.close(handle)
    assert not is_open(tmp_path, thread.id)
    with hold_thread(tmp_path, thread.id):
        assert is_open(tmp_path, thread.id)
    assert not lock.exists()
