"""The history of a thread, folded from its files."""

from pathlib import Path

import pytest

from sapwood.programs.codex.sessions import current_file, find_file, row_key, split_key
from sapwood.programs.codex.thread_history import RolloutReader, ThreadHistory
from tests.programs.codex.thread_files import ThreadFiles, message


def texts(history: ThreadHistory) -> list[str]:
    """The prompts and replies that the model sees."""
    import msgspec

    found = [msgspec.json.decode(item.payload) for item in history.items]
    return [item["content"][0]["text"] for item in found if item["type"] == "message"]


def read(thread: ThreadFiles) -> ThreadHistory:
    return RolloutReader(thread.home).read(thread.path)


@pytest.fixture
def thread(tmp_path: Path) -> ThreadFiles:
    return ThreadFiles(tmp_path)


def test_announcements_are_kept_apart_from_what_was_said(thread: ThreadFiles) -> None:
    thread.turn("one", "a:1")
    history = read(thread)
    assert texts(history) == ["one", "answer to one"]
    assert len(history.announcements) == 2
    assert history.announced


def test_a_turn_is_found_by_the_id_that_a_client_gave_its_prompt(thread: ThreadFiles) -> None:
    thread.turn("one", "a:1")
    second = thread.turn("two", "a:9")
    found = read(thread).turn_of_client("a:9")
    assert found is not None
    assert (found.id, found.before, found.ending) == (second, 2, "task_complete")
    assert read(thread).turn_of_client("a:2") is None


def test_a_reverted_thread_goes_on_in_another_file(thread: ThreadFiles) -> None:
    thread.turn("one")
    second = thread.turn("two")
    before = thread.path.read_bytes()
    first_file = thread.path
    thread.revert(second)
    thread.turn("three")
    assert texts(read(thread)) == ["one", "answer to one", "three", "answer to three"]
    assert first_file.read_bytes() == before
    assert current_file(thread.home, thread.id) == thread.path
    assert find_file(thread.home, thread.id) == first_file


def test_a_thread_that_was_reverted_to_nothing_is_empty(thread: ThreadFiles) -> None:
    first = thread.turn("one")
    thread.turn("two")
    thread.revert(first)
    assert texts(read(thread)) == []
    thread.inject([message("user", "two"), message("assistant", "answer")])
    assert texts(read(thread)) == ["two", "answer"]


def test_injected_items_stay_when_a_later_turn_is_reverted(thread: ThreadFiles) -> None:
    first = thread.turn("one")
    thread.revert(first)
    thread.inject([message("user", "kept")])
    second = thread.turn("two")
    thread.revert(second)
    assert texts(read(thread)) == ["kept"]


def test_a_compaction_replaces_everything_before_it(thread: ThreadFiles) -> None:
    first = thread.turn("one")
    thread.row("compacted", {"message": "", "replacement_history": [message("user", "short")]})
    thread.turn("two")
    history = read(thread)
    assert texts(history) == ["short", "two", "answer to two"]
    found = next(turn for turn in history.turns if turn.id == first)
    assert history.before(found) == []


def test_a_rollback_of_older_versions_removes_the_last_turns(thread: ThreadFiles) -> None:
    thread.turn("one")
    thread.turn("two")
    thread.event("thread_rolled_back", num_turns=1)
    thread.turn("three")
    assert texts(read(thread)) == ["one", "answer to one", "three", "answer to three"]


def test_a_fork_begins_with_a_part_of_another_thread(thread: ThreadFiles) -> None:
    first = thread.turn("one")
    thread.turn("two")
    fork = thread.fork(first)
    fork.turn("three")
    assert texts(read(fork)) == ["one", "answer to one", "three", "answer to three"]


def test_an_incomplete_last_row_is_read_when_it_is_complete(thread: ThreadFiles) -> None:
    thread.turn("one")
    whole = thread.path.read_bytes()
    thread.item(message("user", "two"))
    later = thread.path.read_bytes()
    thread.path.write_bytes(later[: len(whole) + 40])
    reader = RolloutReader(thread.home)
    assert texts(reader.read(thread.path)) == ["one", "answer to one"]
    thread.path.write_bytes(later)
    assert texts(reader.read(thread.path)) == ["one", "answer to one", "two"]


def test_a_message_of_the_program_within_a_turn_is_part_of_it(thread: ThreadFiles) -> None:
    turn = thread.start_turn("one")
    thread.item(message("user", "<turn_aborted>\nThe user interrupted."), turn)
    thread.end_turn(turn, "turn_aborted")
    assert texts(read(thread)) == ["one", "<turn_aborted>\nThe user interrupted."]


def test_a_missing_file_of_the_chain_is_an_error(thread: ThreadFiles) -> None:
    thread.turn("one")
    second = thread.turn("two")
    first_file = thread.path
    thread.revert(second)
    first_file.unlink()
    with pytest.raises(OSError, match="missing"):
        read(thread)


def test_an_id_that_is_no_uuid_finds_no_file(thread: ThreadFiles) -> None:
    thread.turn("one")
    assert current_file(thread.home, "*") is None
    assert find_file(thread.home, "../../etc") is None


def test_the_name_of_a_row_has_the_segment_of_its_file(thread: ThreadFiles) -> None:
    thread.turn("one")
    second = thread.turn("two")
    assert row_key(thread.path, 7) == "@7"
    assert split_key("@7") == ("", 7)
    thread.revert(second)
    segment = thread.path.stem.rpartition("_")[2]
    assert row_key(thread.path, 7) == f"{segment}@7"
    assert split_key(f"{segment}@7") == (segment, 7)
    assert split_key("7") is None
