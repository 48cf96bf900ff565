"""Every history becomes every other one, by the cheapest way that Codex has."""

import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.programs.codex.history_change import has_same, plan_change
from sapwood.programs.codex.thread_history import HistoryItem, RolloutReader
from tests.programs.codex.thread_files import ThreadFiles, message


def items_of(*texts: str) -> list[HistoryItem]:
    """The items of whole turns."""
    rows = [row for text in texts for row in (message("user", text), _answer(text))]
    return [HistoryItem(msgspec.json.encode(row)) for row in rows]


def _answer(text: str) -> dict[str, Any]:
    return message("assistant", f"answer to {text}")


def change(thread: ThreadFiles, wanted: list[HistoryItem]) -> str:
    """Does what a server does with the plan; returns how."""
    history = RolloutReader(thread.home).read(thread.path)
    plan = plan_change(history, wanted)
    if plan.by == "replace":
        found = [msgspec.json.decode(item.payload) for item in plan.items]
        thread.row("compacted", {"message": "", "replacement_history": found})
        return plan.by
    if plan.before is not None:
        thread.revert(plan.before.id)
    if plan.items:
        thread.inject([msgspec.json.decode(item.payload) for item in plan.items])
    return plan.by


@pytest.fixture
def thread(tmp_path: Path) -> ThreadFiles:
    thread = ThreadFiles(tmp_path)
    for text in ("one", "two", "three"):
        thread.turn(text)
    return thread


@pytest.mark.parametrize(
    ("wanted", "by"),
    [
        (("one", "two", "three"), "nothing"),
        (("one", "two"), "cut"),
        ((), "cut"),
        (("two", "three"), "inject"),
        (("one", "three"), "inject"),
        (("one", "two", "three", "four"), "inject"),
    ],
)
def test_the_cheapest_way_is_taken(thread: ThreadFiles, wanted: tuple[str, ...], by: str) -> None:
    assert change(thread, items_of(*wanted)) == by
    now = RolloutReader(thread.home).read(thread.path).items
    assert has_same(now, items_of(*wanted))


def test_the_undo_of_a_rewind_appends_what_was_removed(thread: ThreadFiles) -> None:
    assert change(thread, items_of("one")) == "cut"
    assert change(thread, items_of("one", "two", "three")) == "inject"


def test_injected_items_that_must_go_cannot_be_reverted(thread: ThreadFiles) -> None:
    assert change(thread, items_of("three")) == "inject"
    assert change(thread, items_of("one", "two", "three")) == "replace"


def test_a_thread_of_an_older_version_cannot_be_reverted(tmp_path: Path) -> None:
    thread = ThreadFiles(tmp_path)
    thread.turn("one")
    data = thread.path.read_bytes().replace(b'"paginated"', b'"legacy"')
    thread.path.write_bytes(data)
    assert change(thread, items_of("two")) == "replace"


names = st.sampled_from(["one", "two", "three", "four", "five"])
steps = st.lists(
    st.one_of(st.lists(names, max_size=5, unique=True), names.map(lambda name: (name,))),
    max_size=8,
)


@given(steps)
def test_any_sequence_of_histories_and_turns_is_held_exactly(
    steps: list[list[str] | tuple[str]],
) -> None:
    """A list is a history to sync; a tuple is a turn that follows."""
    with tempfile.TemporaryDirectory() as folder:
        thread = ThreadFiles(Path(folder))
        live: list[str] = []
        kept: dict[Path, bytes] = {}
        for step in steps:
            if isinstance(step, tuple):
                thread.turn(step[0])
                live = [*live, step[0]]
            else:
                change(thread, items_of(*step))
                live = list(step)
            history = RolloutReader(thread.home).read(thread.path)
            assert has_same(history.items, items_of(*live))
            for path, content in kept.items():
                assert path.read_bytes().startswith(content)
            kept = {path: path.read_bytes() for path in thread.path.parent.iterdir()}
