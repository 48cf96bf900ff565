"""The focus stack says what matters now, per project."""

from pathlib import Path

import msgspec
import pytest

from sapwood.analysis.focus import (
    Focus,
    focused,
    names_in_focus,
    of_project,
    read_focus,
    unfocused,
)
from sapwood.core.errors import SapwoodError

NOW = "2026-01-12T10:00:00Z"


def stack(*topics: str, project: str = "/srv/shop", focus: Focus | None = None) -> Focus:
    made = focus or Focus()
    for topic in topics:
        made = focused(made, topic, project=project, at=NOW)
    return made


def test_the_newest_topic_is_on_top() -> None:
    made = stack("OAuth", "Refresh tokens")
    assert names_in_focus(made) == ("Refresh tokens", "OAuth")
    assert [each.priority for each in made.topics] == [1, 2]


def test_a_topic_can_take_a_lower_place() -> None:
    made = focused(stack("A", "B"), "C", project="/srv/shop", at=NOW, priority=2)
    assert names_in_focus(made) == ("B", "C", "A")


def test_a_topic_is_in_focus_once_however_it_is_spelt() -> None:
    assert names_in_focus(stack("OAuth", "Docs", "  oauth ")) == ("oauth", "Docs")


def test_an_unfocused_topic_goes_to_the_background_and_back() -> None:
    away = unfocused(stack("A", "B"), "a", project="/srv/shop")
    assert names_in_focus(away) == ("B",)
    assert [each.name for each in away.background] == ["A"]
    back = stack("A", focus=away)
    assert names_in_focus(back) == ("A", "B")
    assert back.background == ()


def test_what_is_not_in_focus_cannot_leave_it() -> None:
    with pytest.raises(SapwoodError, match="In focus: OAuth"):
        unfocused(stack("OAuth"), "OAut", project="/srv/shop")
    with pytest.raises(SapwoodError, match="nothing is"):
        unfocused(Focus(), "OAuth", project="/srv/shop")


def test_a_topic_needs_a_name() -> None:
    with pytest.raises(SapwoodError, match="needs a name"):
        focused(Focus(), " \n", project="", at=NOW)


def test_projects_do_not_mix() -> None:
    both = stack("Docs", project="/srv/site", focus=stack("OAuth"))
    assert names_in_focus(of_project(both, "/srv/shop")) == ("OAuth",)
    less = unfocused(both, "OAuth", project="/srv/shop")
    assert names_in_focus(of_project(less, "/srv/site")) == ("Docs",)


def test_the_file_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    file = tmp_path / "focus.json"
    made = unfocused(stack("A", "B"), "A", project="/srv/shop")
    file.write_bytes(msgspec.json.encode(made))
    assert read_focus(file) == made


def test_a_file_that_is_not_there_is_an_empty_stack(tmp_path: Path) -> None:
    assert read_focus(tmp_path / "focus.json") == Focus()


def test_a_broken_file_is_named_and_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "focus.json"
    file.write_text("{")
    with pytest.raises(SapwoodError, match=r"focus\.json cannot be understood"):
        read_focus(file)
    assert file.read_text() == "{"
