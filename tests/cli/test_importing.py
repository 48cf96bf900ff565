"""Importing from a shell, and what the other commands make of imported agents."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sapwood.cli import console
from sapwood.cli.console import Progress
from tests.cli.calling import Sapwooder
from tests.programs.transcripts.writing import ClaudeFile, CodexFile

SESSION = "4cfa198d-2bff-4ecc-8825-6583da7ea71a"


@pytest.fixture
def claude(home: Path) -> ClaudeFile:
    """A session of Claude Code in the user's home, with one turn."""
    file = ClaudeFile(home / ".claude" / "projects" / "-srv-wood", SESSION)
    file.user("Where do herons nest?")
    file.says("In tall trees.")
    return file


@pytest.fixture
def codex(home: Path) -> CodexFile:
    """A session of Codex."""
    file = CodexFile(home / ".codex" / "sessions" / "2026" / "11" / "14")
    file.user("And storks?")
    file.says("On roofs.")
    file.event("task_complete")
    return file


def test_all_that_is_there_is_imported_once(
    sapwood: Sapwooder, claude: ClaudeFile, codex: CodexFile
) -> None:
    ran = sapwood("import")
    assert ran.code == 0
    assert ran.out == (
        "Imported 2 turns and 0 compactions from 2 conversations. "
        "To list them, type: sapwood agents\n"
    )
    assert sapwood("import").out == "Nothing to import. 2 had nothing new.\n"
    listed = sapwood("agents")
    assert "claude-code" in listed.out
    assert "codex" in listed.out
    assert "sapwood show AGENT" in listed.err


def test_an_imported_agent_is_found_by_the_id_of_its_session(
    sapwood: Sapwooder, claude: ClaudeFile
) -> None:
    sapwood("import")
    shown = sapwood("show", SESSION).out
    assert shown.startswith(f"Imported from claude-code: {claude.path}\n")
    assert f"claude --resume {SESSION}" in shown
    assert "In tall trees." in shown
    assert "turn.recorded" in sapwood("log", SESSION).out
    assert "In tall trees." in sapwood("search", "herons").out
    assert "In tall trees." in sapwood("export", SESSION).out


def test_a_session_is_shown_by_the_start_of_its_id(sapwood: Sapwooder, claude: ClaudeFile) -> None:
    assert "In tall trees." in sapwood("show", SESSION[:8]).out  # imports it
    assert "In tall trees." in sapwood("show", f"{SESSION[:8]}/1").out
    assert "turn.recorded" in sapwood("log", SESSION[:8]).out
    assert "There is no agent" in sapwood("show", "no-session").err
    other = ClaudeFile(claude.path.parent, f"{SESSION[:9]}other")
    other.user("And storks?")
    other.says("On roofs.")
    sapwood("import")
    assert sapwood("show", SESSION[:8]).code == 1


def test_only_one_program_only_lately_and_only_named_ones(
    sapwood: Sapwooder, claude: ClaudeFile, codex: CodexFile
) -> None:
    found = [json.loads(line) for line in sapwood("import", "--codex", "--json").out.splitlines()]
    assert [each["source"] for each in found] == ["codex"]
    assert found[0]["turns"] == 1
    assert found[0]["resume"] == "codex resume 01a1"
    assert sapwood("import", "--since", "2999-01-01").code == 8
    assert "from 1 conversation." in sapwood("import", str(claude.path)).out


def test_a_folder_stands_for_the_sessions_that_ran_there(
    sapwood: Sapwooder, home: Path, codex: CodexFile
) -> None:
    here = ClaudeFile(home / ".claude" / "projects" / _slug(home / "project"))
    here.user("Hello.", cwd=str(home / "project"))
    here.says("Hello!")
    ran = sapwood("import", ".", "--json")
    assert [json.loads(line)["session"] for line in ran.out.splitlines()] == ["5e55"]
    assert "codex" in sapwood("import", str(codex.path.parent), "--json").out


def _slug(folder: Path) -> str:
    return "".join(char if char.isalnum() else "-" for char in str(folder))


def test_where_there_is_nothing_it_says_where_it_looked(sapwood: Sapwooder, home: Path) -> None:
    ran = sapwood("import")
    assert ran.code == 8
    assert str(home / ".claude") in ran.err
    assert "sapwood import TRANSCRIPT" in ran.err


def test_what_is_no_transcript_is_said(sapwood: Sapwooder, home: Path) -> None:
    (home / "project" / "notes.txt").write_text("Oaks.")
    ran = sapwood("import", "notes.txt")
    assert ran.code == 8
    assert "is not the transcript of an agent" in ran.err


def test_a_strange_time_is_refused(sapwood: Sapwooder) -> None:
    ran = sapwood("import", "--since", "yesterday")
    assert ran.code == 2
    assert "7d, 12h or 30m, or a date" in ran.err


def test_going_on_with_it_here_needs_a_fork(sapwood: Sapwooder, claude: ClaudeFile) -> None:
    sapwood("import")
    ran = sapwood("run", "--agent", SESSION, "-p", "Why?")
    assert ran.code == 1
    assert "sapwood fork" in ran.err
    assert sapwood("fork", SESSION, "--name", "mine").code == 0
    assert "In tall trees." in sapwood("show", "mine").out
    assert "There is no agent yet" not in sapwood("run", "--continue", "-p", "Why?").err


def test_the_newest_agent_is_an_own_one(sapwood: Sapwooder, claude: ClaudeFile) -> None:
    sapwood("import")
    assert "There is no agent to continue" in sapwood("run", "-c", "-p", "Why?").err


def test_the_bar_is_drawn_for_people_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Progress(100) as quiet:
        quiet.advance(50)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(console.sys.stderr, "isatty", lambda: True)
    with Progress(4_000_000) as shown:
        shown.set_label("1 of 2")
        shown.advance(1_000_000)
    drawn = capsys.readouterr().err
    assert " 25% " in drawn
    assert drawn.endswith("\r\x1b[K")
    assert shown.line(2.0) == "██████░░░░░░░░░░░░░░░░░░  25% 0 MB/s 1 of 2"


def test_it_follows_a_growing_transcript_until_it_is_stopped(
    home: Path, claude: ClaudeFile
) -> None:
    command = [sys.executable, "-m", "sapwood.cli", "import", "--follow", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as following:
        assert following.stdout is not None
        first = json.loads(following.stdout.readline())
        claude.user("And storks?")
        claude.says("On roofs.")
        second = json.loads(following.stdout.readline())
        following.send_signal(signal.SIGINT)
        assert following.wait(60) == 0
    assert (first["turns"], second["turns"]) == (1, 1)
    assert first["agent"] == second["agent"]


def test_several_processes_at_once_import_everything_once(
    sapwood: Sapwooder, home: Path, claude: ClaudeFile
) -> None:
    for number in range(30):
        claude.user(f"Ask {number}.")
        claude.says(f"Answer {number}.")
    sapwood("agents")  # makes the database
    command = [sys.executable, "-m", "sapwood.cli", "import", "--json"]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    printed = [each.communicate(timeout=120)[0] for each in running]
    assert [each.returncode for each in running] == [0, 0, 0]
    assert sum(json.loads(each).get("turns", 0) for each in printed) == 31
    events = [json.loads(line) for line in sapwood("log", SESSION, "--json").out.splitlines()]
    assert [each["kind"] for each in events].count("turn.recorded") == 31


def test_sessions_are_searched_without_an_import(
    sapwood: Sapwooder, claude: ClaudeFile, codex: CodexFile
) -> None:
    ran = sapwood("search", "--sessions", "where", "does", "a", "heron", "nest")
    assert ran.code == 0
    assert f"claude-code {SESSION}\n{claude.path}:1 " in ran.out
    assert "Where do herons nest?" in ran.out
    assert "storks" not in ran.out
    (hit,) = map(json.loads, sapwood("search", "--sessions", "roofs", "--json").out.splitlines())
    assert hit["name"].startswith("codex ")
    assert sapwood("search", "--sessions", "flamingo").code == 1
    assert sapwood("agents", "--all").out.count("claude-code") == 0
