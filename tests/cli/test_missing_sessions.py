"""Commands on sessions whose transcripts their programs have deleted or moved."""

import json
from pathlib import Path

import pytest

from sapwood.cli.exit_codes import Exit
from sapwood.config.folders import data_folder
from tests.cli.calling import Sapwooder
from tests.cli.program_sessions import (
    SESSION,
    THREAD,
    boundaries,
    claude_session,
    codex_thread,
    in_view,
)
from tests.programs.proved import keep_proof
from tests.programs.transcripts.writing import ClaudeFile, CodexFile, PiFile

ALL = ["Ask 1.", "Ask 2.", "Ask 3.", "Ask 4."]
RESTORE = f"sapwood restore {SESSION} --to claude-code"


@pytest.fixture
def claude(home: Path, monkeypatch: pytest.MonkeyPatch) -> ClaudeFile:
    return claude_session(home, monkeypatch)


@pytest.fixture
def codex(home: Path) -> CodexFile:
    return codex_thread(home)


@pytest.fixture
def deleted(sapwood: Sapwooder, claude: ClaudeFile) -> ClaudeFile:
    """A session that was imported, changed, and then deleted by its program."""
    assert sapwood("clear", "2", "--session", SESSION).code == Exit.OK
    claude.path.unlink()
    return claude


def test_a_deleted_session_is_still_shown(sapwood: Sapwooder, deleted: ClaudeFile) -> None:
    shown = sapwood("show", SESSION)
    assert shown.code == Exit.OK, shown.err
    assert shown.err == ""
    assert in_view(sapwood, SESSION) == ["Ask 3.", "Ask 4."]


@pytest.mark.parametrize("command", ["undo", "clear 1", "undo --later", "rewind 4", "compact"])
def test_a_change_of_a_deleted_session_is_refused_with_the_command_that_restores_it(
    sapwood: Sapwooder, deleted: ClaudeFile, command: str
) -> None:
    ran = sapwood("context", *command.split(), "--session", SESSION)
    assert ran.code == Exit.FAILED
    assert ran.err == (
        f"Error: Claude Code no longer has session {SESSION}. Nothing was changed. "
        f"To restore it first, type '{RESTORE}'.\n"
    )
    assert in_view(sapwood, SESSION) == ["Ask 3.", "Ask 4."]


def test_a_change_that_an_agent_is_given_says_how_to_restore_its_deleted_session(
    sapwood: Sapwooder, deleted: ClaudeFile
) -> None:
    agent = json.loads(sapwood("agents", "--json").out)["agent"]
    ran = sapwood("do", agent, "/clear 1")
    assert ran.code != Exit.OK
    assert RESTORE in ran.out + ran.err
    assert sapwood(*RESTORE.split()[1:]).code == Exit.OK
    assert sapwood("do", agent, "/clear 1").code == Exit.OK
    assert in_view(sapwood, SESSION) == ["Ask 4."]


def test_a_deleted_session_is_marked_and_forked(sapwood: Sapwooder, deleted: ClaudeFile) -> None:
    assert sapwood("mark", "HERE", "--session", SESSION).out == "Marked 'HERE'.\n"
    forked = sapwood("fork", "--session", SESSION, "--json")
    assert forked.code == Exit.OK, forked.err
    other = deleted.path.with_name(f"{json.loads(forked.out)['session']}.jsonl")
    assert "Ask 4." in other.read_text()


def test_a_session_whose_folder_was_renamed_is_changed_where_it_is(
    sapwood: Sapwooder, claude: ClaudeFile
) -> None:
    assert sapwood("clear", "2", "--session", SESSION).code == Exit.OK
    before = claude.path.read_bytes()
    folder = claude.path.parent.rename(claude.path.parent.with_name("-renamed"))
    moved = folder / claude.path.name
    ran = sapwood("undo", "--session", SESSION)
    assert ran.code == Exit.OK, ran.err
    assert moved.read_bytes().startswith(before)
    assert len(boundaries(moved)[-1]) == 8
    assert not claude.path.exists()
    assert in_view(sapwood, SESSION) == ALL


def test_what_a_moved_session_has_since_is_shown(sapwood: Sapwooder, claude: ClaudeFile) -> None:
    sapwood("import")
    claude.user("Ask 5.")
    claude.says("Answer 5.")
    claude.user("Ask 6.")
    claude.path.parent.rename(claude.path.parent.with_name("-renamed"))
    assert in_view(sapwood, SESSION) == [*ALL, "Ask 5."]


def test_a_thread_that_was_archived_is_changed_there(
    sapwood: Sapwooder, codex: CodexFile, home: Path
) -> None:
    assert sapwood("clear", "1", "--session", THREAD).code == Exit.OK
    before = codex.path.read_bytes()
    archive = home / ".codex" / "archived_sessions"
    archive.mkdir()
    moved = codex.path.rename(archive / codex.path.name)
    ran = sapwood("undo", "--session", THREAD)
    assert ran.code == Exit.OK, ran.err
    assert moved.read_bytes().startswith(before)
    assert len(moved.read_bytes()) > len(before)
    assert not codex.path.exists()
    assert in_view(sapwood, THREAD) == ALL[:3]


def test_a_session_of_pi_whose_folder_was_renamed_is_changed_where_it_is(
    sapwood: Sapwooder, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = home / "pi"
    program.write_text("#!/bin/sh\necho '0.99.0'\n")
    program.chmod(0o755)
    monkeypatch.setenv("SAPWOOD_PI", str(program))
    keep_proof(data_folder(), "pi", program)
    file = PiFile(home / ".pi" / "agent" / "sessions" / "--project--", SESSION, str(Path.cwd()))
    for number in range(1, 4):
        file.user(f"Ask {number}.")
        file.says(f"Answer {number}.")
    cleared = sapwood("clear", "1", "--session", SESSION)
    assert cleared.code == Exit.OK, cleared.err
    before = file.path.read_bytes()
    folder = file.path.parent.rename(file.path.parent.with_name("--renamed--"))
    ran = sapwood("undo", "--session", SESSION)
    assert ran.code == Exit.OK, ran.err
    moved = folder / file.path.name
    assert moved.read_bytes().startswith(before)
    assert len(moved.read_bytes()) > len(before)
    assert not file.path.exists()
    assert in_view(sapwood, SESSION) == ALL[:3]


def test_an_empty_name_does_not_show_the_session_of_this_folder(
    sapwood: Sapwooder, claude: ClaudeFile
) -> None:
    ran = sapwood("show", "")
    assert ran.code == Exit.FAILED
    assert not ran.out
