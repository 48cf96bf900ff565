"""`context` looks at any session, wherever it ran."""

import json
import shutil
from pathlib import Path

import pytest

from sapwood.cli.exits import Exit
from tests.cli.calling import Sapwooder

TRANSCRIPT = Path(__file__).parents[1] / "sources" / "fixtures" / "claude-auto-compact.jsonl"


def test_drift_tells_topic_and_status_of_every_turn(sapwood: Sapwooder) -> None:
    ran = sapwood("context", "drift", "--transcript", str(TRANSCRIPT), "--json")
    drift = json.loads(ran.out)
    assert [each["turn"] for each in drift["turns"]] == [1, 2, 3, 4]
    assert all(each["topic"] and each["status"] for each in drift["turns"])


def test_a_ledger_tells_what_was_done(sapwood: Sapwooder) -> None:
    ran = sapwood("context", "ledger", "--transcript", str(TRANSCRIPT), "--json")
    ledger = json.loads(ran.out)
    assert ledger["commands"][0]["command"] == "echo two"
    assert "third" in ledger["last_request"]


def test_options_may_stand_before_the_action(sapwood: Sapwooder) -> None:
    after = sapwood("context", "ledger", "--transcript", str(TRANSCRIPT), "--json")
    before = sapwood("context", "--transcript", str(TRANSCRIPT), "--json", "ledger")
    assert before == after


def test_nothing_is_stored_of_a_transcript_that_is_looked_at(
    sapwood: Sapwooder, home: Path
) -> None:
    sapwood("context", "drift", "--transcript", str(TRANSCRIPT))
    assert not (home / ".local" / "share").exists()


@pytest.mark.parametrize("args", [("drift",), ("ledger", "--json"), ()])
def test_without_a_session_it_says_so(sapwood: Sapwooder, args: tuple[str, ...]) -> None:
    ran = sapwood("context", *args)
    assert ran.code == Exit.NO_SESSION
    assert "There is no session" in ran.err
    assert ran.out == ""


def test_what_is_no_transcript_is_no_session(sapwood: Sapwooder, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("Dear diary")
    ran = sapwood("context", "drift", "--transcript", str(file))
    assert ran.code == Exit.NO_SESSION
    assert "is not the transcript" in ran.err


def test_the_newest_session_of_the_folder_is_the_current_one(
    sapwood: Sapwooder, home: Path
) -> None:
    text = TRANSCRIPT.read_text()
    (cwd,) = {json.loads(line)["cwd"] for line in text.splitlines() if '"cwd"' in line}
    project = Path.cwd()
    slug = "".join(char if char.isalnum() else "-" for char in str(project))
    folder = home / ".claude" / "projects" / slug
    folder.mkdir(parents=True)
    shutil.copy(TRANSCRIPT, folder / "s-1.jsonl")
    (folder / "s-1.jsonl").write_text(text.replace(cwd, str(project)))
    assert sapwood("context", "ledger").out.splitlines()[0] == "Commands"
    assert sapwood("context", "ledger", "--session", "s-1").code == Exit.OK


def test_own_agents_are_sessions_too(sapwood: Sapwooder, demo: str) -> None:
    drift = json.loads(sapwood("context", "drift", "--session", demo, "--json").out)
    assert drift["task"] == "Where do herons nest?"
    assert len(drift["turns"]) == 2
