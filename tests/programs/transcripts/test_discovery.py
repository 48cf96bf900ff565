"""Sessions on disk: where each program keeps them, and which is the newest of a folder."""

import os
from hashlib import sha256
from pathlib import Path

import pytest

from sapwood.programs.registry import program
from sapwood.programs.transcripts.discovery import (
    ProgramHomes,
    discover,
    newest_session,
    program_homes,
)
from tests.programs.transcripts.writing import ClaudeFile, CodexFile, GeminiFile

WOOD = Path("/srv/wood")


@pytest.fixture
def homes(tmp_path: Path) -> ProgramHomes:
    return program_homes({"HOME": str(tmp_path)})


def touch(path: Path, seconds: int) -> None:
    os.utime(path, (seconds, seconds))


def three(homes: ProgramHomes) -> None:
    """A session of each program in one folder, Codex' the newest."""
    claude = ClaudeFile(homes["claude-code"] / "projects" / "-srv-wood")
    claude.user("Hello.")
    touch(claude.path, 1_000)
    codex = CodexFile(
        homes["codex"] / "sessions/2026/11/14", "01a1dc49-cb32-7ff3-be8a-10d31f7fe650"
    )
    touch(codex.path, 3_000)
    project = homes["gemini"] / "tmp" / sha256(b"/srv/wood").hexdigest()
    touch(GeminiFile(project / "chats").path, 2_000)


def test_sessions_of_every_program_are_found_newest_first(homes: ProgramHomes) -> None:
    three(homes)
    found = discover(homes)
    assert [each.source for each in found] == ["codex", "gemini", "claude-code"]
    assert [each.id for each in found] == ["01a1dc49-cb32-7ff3-be8a-10d31f7fe650", "9e31", "5e55"]
    assert found[0].updated == 3_000_000_000
    assert all(each.size == each.path.stat().st_size for each in found)


def test_the_current_session_is_the_newest_of_the_folder(homes: ProgramHomes) -> None:
    three(homes)
    other = ClaudeFile(homes["claude-code"] / "projects" / "-srv-other", "0the")
    other.user("Hello.", cwd="/srv/other")
    found = newest_session(WOOD, homes)
    assert found is not None
    assert (found.source, found.folder) == ("codex", "/srv/wood")
    assert {each.source for each in discover(homes, WOOD)} == {"codex", "gemini", "claude-code"}


def test_two_folders_that_a_program_writes_alike_are_told_apart(homes: ProgramHomes) -> None:
    file = ClaudeFile(homes["claude-code"] / "projects" / "-srv-wood-2")
    file.user("Hello.", cwd="/srv/wood-2")
    assert newest_session(Path("/srv/wood/2"), homes) is None
    assert newest_session(Path("/srv/wood-2"), homes) is not None


def test_subagents_and_empty_files_are_no_sessions(homes: ProgramHomes) -> None:
    folder = homes["claude-code"] / "projects" / "-srv-wood"
    ClaudeFile(folder, agent="af39").user("Search.")
    ClaudeFile(folder)
    assert discover(homes) == []


def test_a_folder_without_sessions_has_no_current_one(homes: ProgramHomes) -> None:
    assert newest_session(WOOD, homes) is None


def test_programs_that_were_told_to_live_elsewhere_are_found_there(tmp_path: Path) -> None:
    environ = {"CLAUDE_CONFIG_DIR": "/etc/claude", "CODEX_HOME": "/etc/codex"}
    homes = program_homes({"HOME": str(tmp_path), **environ})
    assert (homes["claude-code"], homes["codex"]) == (Path("/etc/claude"), Path("/etc/codex"))
    assert homes["gemini"] == tmp_path / ".gemini"


def test_the_files_of_a_codex_thread_are_one_session(tmp_path: Path) -> None:
    thread = "01a1e0eb-8813-7583-9b11-411efef3d821"
    segment = "01a1e0eb-8a68-79f1-9f2f-9e4f787be639"
    day = tmp_path / "sessions" / "2026" / "11"
    first = CodexFile(day / "15", thread)
    second = day / "16" / f"rollout-2026-11-16T00-00-01-{thread}_{segment}.jsonl"
    second.parent.mkdir()
    second.write_bytes(first.path.read_bytes())
    os.utime(first.path, (1, 1))
    found = discover(program_homes({"CODEX_HOME": str(tmp_path), "HOME": str(tmp_path)}))
    assert [(each.id, each.path) for each in found] == [(thread, second)]
    assert program("codex").sessions.parts_of(first.path) == [("", first.path), (segment, second)]
    assert program("codex").sessions.parts_of(second) == [("", first.path), (segment, second)]
