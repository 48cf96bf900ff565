"""Long texts: masking, counting and encoding them never runs on the event loop."""

import threading
from pathlib import Path

import pytest

import sapwood
from sapwood.core.ids import Space
from sapwood.core.log_values import Commit
from sapwood.core.text_size import LARGE_TEXT, text_size
from sapwood.core.token_count import Count
from sapwood.store.space_cipher import SpaceCipher
from sapwood.store.sqlite import commit_rows, sqlite_log
from sapwood.tokens.estimators import FeatureCounter

LONG = "maple river " * 20_000


class Threads:
    """Notes on which threads long work was done."""

    def __init__(self) -> None:
        self.work: list[tuple[str, bool]] = []

    def note(self, what: str) -> None:
        self.work.append((what, threading.current_thread() is threading.main_thread()))


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Threads:
    threads = Threads()
    count, rows_of = FeatureCounter.count, commit_rows.rows_of

    def noted_count(self: FeatureCounter, text: str) -> Count:
        if len(text) >= LARGE_TEXT:
            threads.note("count")
        return count(self, text)

    def noted_rows(
        space: Space, commit: Commit, cipher: SpaceCipher | None = None
    ) -> commit_rows.CommitRows:
        if text_size(commit) >= LARGE_TEXT:
            threads.note("encode")
        return rows_of(space, commit, cipher)

    monkeypatch.setattr(FeatureCounter, "count", noted_count)
    monkeypatch.setattr(sqlite_log, "rows_of", noted_rows)
    return threads


async def test_long_texts_are_counted_and_encoded_in_threads(
    tmp_path: Path, threads: Threads
) -> None:
    async with sapwood.open(tmp_path / "wood.db") as db:
        agent = await db.start("long")
        async with agent.turn(LONG + "1") as turn:
            call = sapwood.ToolCall("1", "shell", f'{{"command": "{LONG}"}}')
            await turn.reply(LONG + "2", calls=[call])
            await turn.result("1", LONG + "3")
            await turn.reply("done")
    assert {what for what, _ in threads.work} == {"count", "encode"}
    assert not [what for what, on_loop in threads.work if on_loop]


async def test_a_recorded_turn_is_counted_in_a_thread(tmp_path: Path, threads: Threads) -> None:
    async with sapwood.open(tmp_path / "wood.db") as db:
        agent = await db.start("long")
        await agent.record(LONG + "1", LONG + "2")
    assert {what for what, _ in threads.work} == {"count", "encode"}
    assert not [what for what, on_loop in threads.work if on_loop]


def test_the_size_of_a_struct_is_that_of_all_its_texts() -> None:
    assert text_size(sapwood.ToolCall("1", "shell", "abc")) == len("1shellabc")
    assert text_size((sapwood.Text("ab"), ["c", {"key": b"def"}, None, 5])) == len("abcdef")
