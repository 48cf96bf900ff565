"""The first command on a long session is carried out at once, and recorded by the import."""

import json
from pathlib import Path

import pytest

from sapwood.app import staged_session
from sapwood.cli.exit_codes import Exit
from sapwood.config.folders import pending_folder
from sapwood.hooks import session_importer, watched_session
from sapwood.imports import importer
from tests.cli.calling import Sapwooder
from tests.cli.program_sessions import SESSION, boundaries, claude_session, in_view
from tests.programs.transcripts.writing import ClaudeFile


@pytest.fixture
def claude(home: Path, monkeypatch: pytest.MonkeyPatch) -> ClaudeFile:
    return claude_session(home, monkeypatch)


@pytest.fixture(autouse=True)
def imports(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The processes that were asked to import a session; none is started. Every session is long."""
    found: list[list[str]] = []

    def start(args: list[str], environ: dict[str, str], module: str) -> None:
        found.append([module, *args, environ["SAPWOOD_SPACE"]])

    monkeypatch.setattr(staged_session, "LONG", 0)
    monkeypatch.setattr(watched_session, "start_process", start)
    return found


def waiting() -> list[Path]:
    return list(pending_folder().iterdir()) if pending_folder().is_dir() else []


def events(sapwood: Sapwooder) -> list[str]:
    lines = sapwood("log", SESSION, "--json").out.splitlines()
    return [json.loads(line)["kind"] for line in lines]


def test_the_session_has_the_change_at_once_and_the_log_has_it_after_the_import(
    sapwood: Sapwooder, claude: ClaudeFile, imports: list[list[str]]
) -> None:
    claude.user("My key is sk-ant-api03-0aB1cD2eF3gH4iJ5kL6mN7oP8.")
    claude.says("Noted.")
    ran = sapwood("clear", "3", "--session", SESSION)
    assert ran.code == Exit.OK, ran.err
    assert "Kept the last 3 turns; 2 turns removed from view." in ran.out
    assert len(boundaries(claude.path)[-1]) == 6
    assert imports == [["sapwood.hooks.session_importer", str(claude.path), "local"]]
    (file,) = waiting()
    assert b"sk-ant" not in file.read_bytes()
    session_importer.main(str(claude.path))
    assert not waiting()
    assert events(sapwood)[-3:] == ["turn.recorded", "context.trimmed", "session.assumed"]
    assert in_view(sapwood, SESSION) == ["Ask 3.", "Ask 4."]
    assert "Undone: /clear 3. 2 turns back in view." in sapwood("undo", "--session", SESSION).out
    assert in_view(sapwood, SESSION) == ["Ask 1.", "Ask 2.", "Ask 3.", "Ask 4."]
    assert len(imports) == 1


def test_a_command_meanwhile_imports_the_session_first(
    sapwood: Sapwooder, claude: ClaudeFile
) -> None:
    assert sapwood("mark", "START").out == "Marked 'START'.\n"
    claude.user("Ask 5.")
    claude.says("Answer 5.")
    assert "1 turn removed from view" in sapwood("rewind", "START").out
    assert len(boundaries(claude.path)[-1]) == 8


def test_a_command_that_was_refused_leaves_nothing(sapwood: Sapwooder, claude: ClaudeFile) -> None:
    before = claude.path.read_bytes()
    assert sapwood("rewind", "NOWHERE").code == Exit.FAILED
    assert (waiting(), claude.path.read_bytes()) == ([], before)


def test_an_import_that_was_killed_gives_no_command_twice(
    sapwood: Sapwooder, claude: ClaudeFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sapwood("clear", "2").code == Exit.OK

    def killed(file: Path) -> None:
        raise OSError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(importer, "forget_commands", killed)
        session_importer.main(str(claude.path))
    assert waiting()
    assert events(sapwood).count("context.trimmed") == 1
    assert not waiting()
    assert in_view(sapwood, SESSION) == ["Ask 3.", "Ask 4."]


def test_after_another_import_the_command_is_not_given_to_another_log(
    sapwood: Sapwooder, claude: ClaudeFile
) -> None:
    assert sapwood("clear", "2").code == Exit.OK
    (file,) = waiting()
    decided = json.loads(file.read_bytes())
    file.write_text(json.dumps(decided | {"version": decided["version"] + 1}))
    session_importer.main(str(claude.path))
    assert not waiting()
    assert events(sapwood).count("context.trimmed") == 1
    assert in_view(sapwood, SESSION) == ["Ask 3.", "Ask 4."]
    assert "Another import finished first." in sapwood("journal").out


def test_without_its_file_the_change_is_found_in_the_session(
    sapwood: Sapwooder, claude: ClaudeFile
) -> None:
    assert sapwood("clear", "2").code == Exit.OK
    for file in waiting():
        file.unlink()
    session_importer.main(str(claude.path))
    assert in_view(sapwood, SESSION) == ["Ask 3.", "Ask 4."]
    assert "2 turns back in view" in sapwood("undo").out
