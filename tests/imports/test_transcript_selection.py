"""Which transcripts an import takes."""

from pathlib import Path

import pytest

from sapwood.imports.importer import select_transcripts
from sapwood.programs.transcripts.discovery import NotATranscript, ProgramHomes, program_homes
from tests.programs.transcripts.writing import ClaudeFile, CodexFile, GeminiFile

SESSION = "4cfa198d-2bff-4ecc-8825-6583da7ea71a"


@pytest.fixture
def homes(tmp_path: Path) -> ProgramHomes:
    return program_homes({"HOME": str(tmp_path)})


def session(homes: ProgramHomes, name: str = SESSION) -> ClaudeFile:
    file = ClaudeFile(homes["claude-code"] / "projects" / "-srv-wood", name)
    file.user("Hello.")
    return file


def test_subagents_come_after_their_session_wherever_they_lie(homes: ProgramHomes) -> None:
    main = session(homes)
    beside = ClaudeFile(main.path.with_suffix("") / "subagents", SESSION, "af39")
    beside.user("Search.")
    loose = ClaudeFile(main.path.parent, SESSION, "b001")
    loose.user("Search too.")
    found = select_transcripts([], homes)
    assert [each.path for each in found] == [main.path, beside.path, loose.path]
    assert [each.id for each in found] == [SESSION, "af39", "b001"]


def test_a_chat_of_gemini_has_its_subagents_in_a_folder_of_its_name(homes: ProgramHomes) -> None:
    chats = homes["gemini"] / "tmp" / "wood" / "chats"
    main = GeminiFile(chats)
    nested = GeminiFile(chats / "9e31", "5ub")
    assert [each.path for each in select_transcripts([], homes)] == [main.path, nested.path]


def test_a_hostile_id_leads_nowhere(homes: ProgramHomes) -> None:
    chats = homes["gemini"] / "tmp" / "wood" / "chats"
    file = GeminiFile(chats)
    file.path.write_text('{"sessionId":"../../..","projectHash":"0"}\n')
    assert [each.id for each in select_transcripts([], homes)] == ["../../.."]


def test_a_path_is_a_transcript_a_folder_of_work_or_a_folder_of_transcripts(
    homes: ProgramHomes,
) -> None:
    main = session(homes)
    codex = CodexFile(homes["codex"] / "sessions/2026/11/14")
    assert [each.path for each in select_transcripts([codex.path], homes)] == [codex.path]
    assert [each.path for each in select_transcripts([main.path.parent], homes)] == [main.path]


def test_a_folder_with_nothing_to_take_is_refused(homes: ProgramHomes, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotATranscript, match="contains no transcript, and no session ran there"):
        select_transcripts([tmp_path / "empty"], homes)


def test_programs_and_time_leave_out_the_rest(homes: ProgramHomes) -> None:
    session(homes)
    CodexFile(homes["codex"] / "sessions/2026/11/14")
    only = select_transcripts([], homes, frozenset({"codex"}))
    assert [each.source for each in only] == ["codex"]
    assert select_transcripts([], homes, since=2**62) == []
