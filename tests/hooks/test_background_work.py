"""The background process imports the session, and only one of them works at a time."""

import queue
import sqlite3
import threading
from pathlib import Path

from sapwood.context_actions.hook_memory import HookMemory
from sapwood.hooks.background_work import single_flight
from sapwood.testing.claude_transcript import ClaudeTranscript
from tests.hooks.conftest import HookCaller


def turns_in(file: Path) -> int:
    with sqlite3.connect(file) as database:
        (found,) = database.execute("SELECT count(*) FROM events").fetchone()
    return found


def test_a_stop_imports_and_the_journal_tells_it(caller: HookCaller) -> None:
    talk = caller.transcript().ask("Where do herons nest?").say("In tall trees.")
    caller.call("stop", talk)
    assert turns_in(caller.data / "sapwood.db") > 0
    (act,) = caller.entries(indexed=True)
    assert (act.kind, act.message) == ("indexed", "Imported 1 new turn.")


def test_a_second_stop_without_news_tells_nothing(caller: HookCaller) -> None:
    talk = caller.transcript().ask("Where do herons nest?").say("In tall trees.")
    caller.call("stop", talk)
    caller.call("stop", talk)
    assert len(caller.entries(indexed=True)) == 1


def test_a_database_that_cannot_be_reached_is_told_and_spoils_nothing(caller: HookCaller) -> None:
    (caller.home / "config.toml").write_text('database = "nonsense://here"\n')
    talk = caller.transcript().ask("Where do herons nest?").say("In tall trees.")
    assert caller.call("pre-compact", talk) is None
    assert [act.kind for act in caller.entries()] == ["archived", "failed"]
    assert "Indexing stopped" in caller.entries()[-1].message


def test_one_works_one_waits_and_a_third_returns(tmp_path: Path) -> None:
    came: queue.Queue[bool] = queue.Queue()

    def come() -> None:
        with single_flight(str(tmp_path), "work") as may_run:
            came.put(may_run)

    threads = [threading.Thread(target=come, daemon=True) for _ in range(2)]
    with single_flight(str(tmp_path), "work") as may_run:
        assert may_run
        for thread in threads:
            thread.start()
        assert came.get(timeout=30) is False
        assert came.empty()
    assert came.get(timeout=30) is True
    for thread in threads:
        thread.join(30)


def test_the_work_can_be_done_again_later(tmp_path: Path) -> None:
    for _ in range(2):
        with single_flight(str(tmp_path), "work") as may_run:
            assert may_run


def test_what_coming_back_will_cost_is_remembered(caller: HookCaller) -> None:
    talk = ClaudeTranscript(caller.home / "projects" / "s1.jsonl", model="claude-opus-5-5")
    for number in range(6):
        talk.ask(f"{number}: " + "timber " * 9_000).say("Yes.", used=70_000)
    caller.call("stop", talk)
    until, line = HookMemory(str(caller.data / "tending"), "s1").get("cold").split("\n")
    assert int(until) > 0
    assert line.startswith("70k tokens are cold: about $")
    assert "To trim, type: /sapwood:clear " in line
