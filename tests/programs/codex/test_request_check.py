"""What Codex sent after a change is compared with the history that it should have."""

from pathlib import Path

import msgspec

from sapwood.programs.codex.history_change import difference_in_rows, difference_in_tokens
from sapwood.programs.codex.thread_history import HistoryItem, RolloutReader, ThreadHistory
from tests.programs.codex.thread_files import ThreadFiles, message

BASE = 9_000


def long_item() -> HistoryItem:
    """An item of about ten thousand tokens."""
    return HistoryItem(msgspec.json.encode(message("user", "word " * 8_000)))


def last_turn(tmp_path: Path, tokens: int) -> ThreadHistory:
    """A thread whose second turn had a long history and reported this many tokens."""
    thread = ThreadFiles(tmp_path)
    turn = thread.start_turn("one")
    thread.reply(turn, "yes", BASE)
    thread.end_turn(turn)
    thread.revert(turn)
    turn = thread.start_turn("two")
    thread.reply(turn, "yes", BASE)
    thread.end_turn(turn)
    thread.inject([msgspec.json.decode(long_item().payload)])
    turn = thread.start_turn("three")
    thread.reply(turn, "yes", tokens)
    thread.end_turn(turn)
    return RolloutReader(tmp_path).read(thread.path)


def test_the_same_rows_and_tokens_are_no_difference(tmp_path: Path) -> None:
    history = last_turn(tmp_path, BASE + 10_000)
    wanted = history.before(history.turns[-1])
    assert difference_in_rows(history, history.turns[-1], wanted) == ""
    assert difference_in_tokens(history, history.turns[-1], wanted) == ""


def test_another_history_is_told(tmp_path: Path) -> None:
    history = last_turn(tmp_path, BASE + 10_000)
    found = difference_in_rows(history, history.turns[-1], [long_item()])
    assert "had 3 items of history where 1 were expected" in found


def test_a_history_that_came_back_is_told_by_its_tokens(tmp_path: Path) -> None:
    history = last_turn(tmp_path, BASE + 60_000)
    wanted = history.before(history.turns[-1])
    found = difference_in_tokens(history, history.turns[-1], wanted)
    assert "about 60,0" in found
    assert "expected" in found


def test_a_history_that_is_gone_is_told_by_its_tokens(tmp_path: Path) -> None:
    history = last_turn(tmp_path, BASE)
    wanted = history.before(history.turns[-1])
    assert "about 0 tokens" in difference_in_tokens(history, history.turns[-1], wanted)


def test_a_thread_without_an_earlier_turn_cannot_be_judged_by_tokens(tmp_path: Path) -> None:
    thread = ThreadFiles(tmp_path)
    turn = thread.start_turn("one")
    thread.reply(turn, "yes", 90_000)
    thread.end_turn(turn)
    history = RolloutReader(tmp_path).read(thread.path)
    assert difference_in_tokens(history, history.turns[0], []) == ""
