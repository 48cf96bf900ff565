"""Hooks fail open: whatever goes wrong, the program reads nothing and its user can read why."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sapwood.context_actions.hook_memory import HookMemory
from sapwood.hooks import runner as hooks
from sapwood.hooks.runner import HOOKS, run_hook
from sapwood.journal import read_entries
from sapwood.testing.claude_transcript import ClaudeTranscript
from tests.hooks.conftest import HookCaller

_PATIENT = f"""
import {hooks.__name__} as hooks
from sapwood.cli import main

hooks.SECONDS = 60
main()
"""

WITHOUT_LINE = [hook for hook in HOOKS if hook != "status-line"]


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("told", [b"not json", b"[1, 2]", b'{"session_id": {}}', b"\xff\xfe"])
def test_words_that_nobody_understands_are_no_error(
    caller: HookCaller, hook: str, told: bytes
) -> None:
    assert run_hook(hook, told, caller.environ) == b""


@pytest.mark.parametrize("hook", HOOKS)
def test_nothing_told_is_nothing_answered(caller: HookCaller, hook: str) -> None:
    assert run_hook(hook, b"", caller.environ) == b""
    assert run_hook(hook, b"{}", caller.environ) == b""
    assert caller.entries() == []


@pytest.mark.parametrize("hook", WITHOUT_LINE)
def test_a_transcript_that_is_not_there_is_no_error(caller: HookCaller, hook: str) -> None:
    gone = caller.transcript()
    gone.path.unlink()
    more = {"source": "resume", "reason": "clear", "agent_type": "x"}
    answer = caller.call(hook, gone, agent_transcript_path=str(gone.path), **more)
    assert answer is None


def test_a_failure_is_told_in_the_journal(caller: HookCaller) -> None:
    talk = caller.transcript()
    talk.path.write_bytes(b"\x00\x01 not a transcript at all\n")
    assert caller.call("pre-compact", talk, trigger="auto") is None
    (act,) = caller.entries()
    assert act.kind == "failed"
    assert act.session == "s1"
    assert act.message.startswith("The hook pre-compact did nothing: NotATranscript")


def test_a_status_line_that_fails_is_told_once_an_hour(caller: HookCaller) -> None:
    for _ in range(3):
        assert run_hook("status-line", b"not json", caller.environ) == b""
    assert [act.kind for act in caller.entries()] == ["failed"]


def test_a_hook_that_nobody_knows_is_told_too(caller: HookCaller) -> None:
    assert caller.call("no-such-hook") is None
    assert "no-such-hook" in caller.entries()[0].message


def test_a_hook_that_takes_too_long_is_given_up(
    caller: HookCaller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sleep(*_: object) -> None:
        time.sleep(200)

    monkeypatch.setattr(hooks, "SECONDS", 0.05)
    monkeypatch.setattr("sapwood.hooks.hook_archives.archive_session", sleep)
    started = time.monotonic()
    assert caller.call("pre-compact", caller.transcript().ask("One?").say("Yes.")) is None
    assert time.monotonic() - started < 100
    assert "took more than 0.05 seconds" in caller.entries()[0].message


def test_a_journal_that_cannot_be_written_is_no_error(caller: HookCaller) -> None:
    caller.data.write_text("a file where the folder should be")
    talk = caller.transcript().ask("One?").say("Yes.")
    assert caller.call("pre-compact", talk) is None
    assert caller.call("stop", talk) is None


def test_the_doctor_learns_that_a_hook_ran(caller: HookCaller) -> None:
    caller.call("stop", caller.transcript().ask("One?").say("Yes."))
    assert (caller.data / "tending/sessions/ran/claude-code.stop").exists()


@pytest.mark.parametrize("name", ["../../up", "/etc/passwd", "..", "", "a\x00b", "é" * 300])
def test_no_name_of_a_session_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    HookMemory(str(tmp_path / "in"), name).put("thing", "here")
    found = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert found
    assert all(path.is_relative_to(tmp_path / "in" / "sessions") for path in found)
    assert HookMemory(str(tmp_path / "in"), name).get("thing") == "here"


def test_a_session_of_long_ago_is_forgotten(caller: HookCaller) -> None:
    old = caller.data / "tending/sessions/old"
    old.mkdir(parents=True)
    (old / "prepared").write_text("{}")
    os.utime(old, (1_000_000, 1_000_000))
    caller.call("stop", caller.transcript().ask("One?").say("Yes."))
    assert not old.exists()
    assert (caller.data / "tending/sessions/s1").exists()


def test_the_window_of_a_known_model_is_noted(caller: HookCaller) -> None:
    talk = ClaudeTranscript(caller.home / "s1.jsonl", model="claude-sonnet-4-5")
    caller.call("stop", talk.ask("One?").say("Yes.", used=110_000))
    answer = caller.call("user-prompt-submit", talk)
    assert "Context at 55 % of 200k tokens." in answer["systemMessage"]


def in_process(hook: str, told: object, home: Path) -> subprocess.CompletedProcess[bytes]:
    environ = {**os.environ, "SAPWOOD_DATA": str(home / "data"), "HOME": str(home)}
    return subprocess.run(
        [sys.executable, "-c", _PATIENT, "hook", hook],
        input=json.dumps(told).encode(),
        env=environ,
        capture_output=True,
        timeout=60,
        check=False,
    )


def told_of(talk: ClaudeTranscript, **more: object) -> dict[str, object]:
    base = {"session_id": talk.session, "transcript_path": str(talk.path), "cwd": "/srv/wood"}
    return {**base, **more}


def test_the_program_ends_well_whatever_happens(tmp_path: Path) -> None:
    for hook in ("pre-compact", "no-such-hook"):
        done = in_process(hook, "nonsense", tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_stop_leaves_the_work_to_a_process_of_its_own(tmp_path: Path) -> None:
    talk = ClaudeTranscript(tmp_path / "s1.jsonl").ask("One?").say("Yes.")
    done = in_process("stop", told_of(talk), tmp_path)
    assert (done.returncode, done.stdout) == (0, b"")
    memory = HookMemory(str(tmp_path / "data/tending"), "s1")
    until = time.monotonic() + 60
    while not memory.get("prepared") and time.monotonic() < until:
        time.sleep(0.05)
    assert '"lost":"1 turn"' in memory.get("prepared")
    assert [
        act.message for act in read_entries(tmp_path / "data/journal.jsonl") if act.kind == "failed"
    ] == []
