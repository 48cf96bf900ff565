"""Archives keep what was said in files that people read, and can be read back."""

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.analysis.session import TopicArchive
from sapwood.context_actions.archive_files import (
    archive_of,
    parse_archive,
    read_archives,
    render_archive,
    write_archive,
)
from tests.analysis.sessions import ToolRun, asked, session

NOW = "2026-01-12T15:30:00Z"
WORK = session(
    asked(
        "Add OAuth.", ToolRun("Write", '{"file_path": "/srv/shop/oauth.py"}', "ok"), "It is there."
    ),
    asked("Now the tests.", "They pass."),
)


def test_it_holds_topic_time_session_and_project() -> None:
    archive = archive_of(WORK, at=NOW, topic="OAuth")
    assert render_archive(archive).splitlines()[:6] == [
        "---",
        "Topic: OAuth",
        f"Archived: {NOW}",
        "Session: s-1",
        "Project: /srv/shop",
        "---",
    ]


def test_it_tells_the_files_that_were_touched() -> None:
    (file,) = archive_of(WORK, at=NOW).files
    assert file.endswith("oauth.py (created)")


def test_its_excerpt_is_what_was_said_in_order() -> None:
    excerpt = archive_of(WORK, at=NOW).excerpt
    said = ("User: Add OAuth.", "Agent: It is there.", "User: Now the tests.", "Agent: They pass.")
    places = [excerpt.index(each) for each in said]
    assert places == sorted(places)


def test_an_excerpt_that_is_too_long_keeps_the_newest() -> None:
    long = session(*(asked(f"Request {n}", "word " * 700) for n in range(100)))
    excerpt = archive_of(long, at=NOW).excerpt
    assert "Request 99" in excerpt
    assert "User: Request 1\n" not in excerpt


def test_the_last_message_is_kept_though_the_transcript_lacks_it() -> None:
    assert "Agent: And done." in archive_of(WORK, at=NOW, last_message="And done.").excerpt
    assert archive_of(WORK, at=NOW, last_message="They pass.").excerpt.count("They pass.") == 1


def test_secrets_stay_out() -> None:
    key = "sk-ant-api03-0aB1cD2eF3gH4iJ5kL6mN7"
    leaky = session(
        asked(f"Use {key}.", ToolRun("Bash", '{"command": "env"}', f"KEY={key}"), "Yes.")
    )
    assert key not in render_archive(archive_of(leaky, at=NOW, topic=f"the key {key}"))


words = st.text(max_size=40).map(lambda text: " ".join(text.split()))
entries = st.lists(words.filter(bool), max_size=4).map(tuple)


@given(
    st.builds(
        TopicArchive,
        topic=words,
        archived=st.just(NOW),
        session=words,
        project=words,
        decisions=entries,
        files=entries,
        questions=entries,
        excerpt=words,
    )
)
def test_what_was_written_is_read_back(archive: TopicArchive) -> None:
    text = render_archive(archive)
    assert render_archive(parse_archive(text)) == text


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    parse_archive(text)


@pytest.mark.parametrize("topic", ["../../escape", "/etc/passwd", "", "a\0b", "..", "x" * 500])
def test_no_topic_leads_out_of_the_folder(tmp_path: Path, topic: str) -> None:
    folder = tmp_path / "archives"
    path = write_archive(folder, TopicArchive(topic, NOW, session="../../s"))
    assert path.parent == folder
    assert list(tmp_path.iterdir()) == [folder]
    assert list(folder.iterdir()) == [path]


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "archives", TopicArchive("OAuth", NOW))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_an_archive_never_takes_the_place_of_another(tmp_path: Path) -> None:
    archive = TopicArchive("OAuth", NOW)
    paths = [write_archive(tmp_path, archive).name for _ in range(3)]
    assert paths == ["2026-01-12-oauth.txt", "2026-01-12-oauth-2.txt", "2026-01-12-oauth-3.txt"]


def test_archives_are_found_newest_first(tmp_path: Path) -> None:
    for day in ("11", "13", "12"):
        write_archive(tmp_path, TopicArchive(f"of the {day}th", f"2026-01-{day}T00:00:00Z"))
    (tmp_path / "unreadable.txt").mkdir()
    topics = [archive.topic for _, archive in read_archives(tmp_path)]
    assert topics == ["of the 13th", "of the 12th", "of the 11th"]


def test_without_a_folder_there_are_none(tmp_path: Path) -> None:
    assert list(read_archives(tmp_path / "nowhere")) == []
