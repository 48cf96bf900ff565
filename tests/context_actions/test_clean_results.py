"""What is known to have no secret is not searched again; anything else is masked as ever."""

from pathlib import Path

import pytest

from sapwood.context_actions import session_finder
from sapwood.context_actions.session_finder import CleanResults, read_transcript
from sapwood.core.turn import Result
from sapwood.testing.claude_transcript import ClaudeTranscript

SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
PLAIN = "A long line of a build log that has nothing to hide. " * 4


@pytest.fixture
def searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were searched for secrets."""
    monkeypatch.setenv("SAPWOOD_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(session_finder, "_SMALLEST", 0)
    texts: list[str] = []
    whole = session_finder.mask_secrets

    def mask(text: str) -> str:
        texts.append(text)
        return whole(text)

    monkeypatch.setattr(session_finder, "mask_secrets", mask)
    return texts


def results(path: Path) -> list[str]:
    session = read_transcript(path)
    return [i.content for turn in session.turns for i in turn.items if isinstance(i, Result)]


def test_only_new_results_and_those_with_a_secret_are_searched(
    tmp_path: Path, searched: list[str]
) -> None:
    talk = ClaudeTranscript(tmp_path / "s.jsonl").ask("Look.")
    talk.call("Bash", {"command": "make"}, PLAIN)
    talk.call("Bash", {"command": "env"}, f"{PLAIN} TOKEN={SECRET}")
    first = results(talk.path)
    assert SECRET not in first[1]
    searched.clear()
    talk.call("Bash", {"command": "ls"}, f"{PLAIN} and more").say("Done.")
    assert results(talk.path) == [*first, f"{PLAIN} and more"]
    assert searched == [f"{PLAIN} TOKEN={SECRET}", f"{PLAIN} and more"]


def test_other_rules_search_everything_again(
    tmp_path: Path, searched: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = CleanResults(tmp_path)
    assert known.mask(PLAIN) == PLAIN
    known.save()
    monkeypatch.setattr(session_finder, "_rules", lambda: b"0123456789abcdef")
    searched.clear()
    assert CleanResults(tmp_path).mask(PLAIN) == PLAIN
    assert searched == [PLAIN]


def test_a_damaged_file_is_ignored(tmp_path: Path, searched: list[str]) -> None:
    known = CleanResults(tmp_path)
    known.mask(PLAIN)
    known.save()
    (file,) = (tmp_path / "data" / "clean").iterdir()
    assert file.stat().st_mode & 0o077 == 0
    file.write_bytes(file.read_bytes()[:-3])
    searched.clear()
    assert CleanResults(tmp_path).mask(PLAIN) == PLAIN
    assert searched == [PLAIN]


def test_nothing_is_stored_about_a_transcript_that_is_only_shown(
    tmp_path: Path, searched: list[str]
) -> None:
    talk = ClaudeTranscript(tmp_path / "s.jsonl").ask("Look.")
    talk.call("Bash", {"command": "make"}, PLAIN).say("Done.")
    session_finder.read_transcript(talk.path, kept=False)
    assert not (tmp_path / "data" / "clean").exists()
    assert searched == [PLAIN]
