"""A handoff holds what another agent has to know, in a file that people read."""

import os
import stat
from pathlib import Path

import pytest

from sapwood.garden.handing import (
    HandedFile,
    Handoff,
    count_lines,
    handoff_of,
    render_handoff,
    write_handoff,
)
from tests.garden.sessions import Ran, asked, session

NOW = "2026-01-12T15:30:00Z"
WORK = session(
    asked(
        "Implement OAuth for the mobile app.",
        Ran("Write", '{"file_path": "/srv/shop/oauth.py", "content": "a\\nb\\n"}', "ok"),
        Ran(
            "Bash",
            '{"command": "pytest -q"}',
            "Exit code 1\n=== 1 failed, 3 passed in 0.10s ===",
            error=True,
        ),
        "One test fails still.",
    )
)


def test_it_names_the_task_for_the_role_and_the_original_request() -> None:
    text = render_handoff(handoff_of(WORK, "reviewer", at=NOW))
    assert text.splitlines()[:2] == [
        "Task: Review: Implement OAuth for the mobile app.",
        'Original request: "Implement OAuth for the mobile app."',
    ]


def test_a_task_that_was_given_is_taken_as_it_is() -> None:
    assert handoff_of(WORK, "smith", at=NOW, task="Forge it.").task == "Forge it."
    assert handoff_of(WORK, "smith", at=NOW).task.startswith("Go on with: Implement OAuth")


def test_it_tells_what_was_done_and_what_still_fails() -> None:
    made = handoff_of(WORK, "reviewer", at=NOW)
    assert any(line.startswith("Created oauth.py") for line in made.done)
    assert any("3 passed, 1 failed" in line for line in made.done)
    assert made.concerns[0].startswith("Fails: pytest -q")
    assert made.last_said == "One test fails still."


def test_files_come_with_their_lines() -> None:
    made = handoff_of(WORK, "reviewer", at=NOW, count=lambda path: 247)
    assert "- oauth.py (247 lines, new)" in render_handoff(made)
    gone = handoff_of(WORK, "reviewer", at=NOW)
    assert "- oauth.py (2 lines, new)" in render_handoff(gone)


def test_a_modified_file_tells_what_was_added_and_removed() -> None:
    file = HandedFile("tokens.py", "modified", 89, 45, 12)
    text = render_handoff(Handoff("reviewer", "Review", "", files=(file,)))
    assert "- tokens.py (89 lines, modified +45/-12)" in text


def test_secrets_stay_out() -> None:
    key = "sk-ant-api03-0aB1cD2eF3gH4iJ5kL6mN7"
    made = handoff_of(session(asked(f"Use {key}.", "Yes.")), "reviewer", at=NOW)
    assert key not in render_handoff(made)


@pytest.mark.parametrize("target", ["reviewer", "../../etc", "a/b", "名"])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, target: str) -> None:
    folder = tmp_path / "handoffs"
    path = write_handoff(folder, handoff_of(WORK, target, at=NOW))
    assert path.parent == folder
    assert list(folder.iterdir()) == [path]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_package_never_takes_the_place_of_another(tmp_path: Path) -> None:
    made = handoff_of(WORK, "reviewer", at=NOW)
    names = [write_handoff(tmp_path, made).name for _ in range(2)]
    assert names == ["2026-01-12-to-reviewer.txt", "2026-01-12-to-reviewer-2.txt"]


def test_lines_are_counted_of_texts_inside_the_project_only(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.py").write_text("one\ntwo\n")
    (project / "b.bin").write_bytes(b"\0\n\n")
    (tmp_path / "secret.txt").write_text("x\n")
    (project / "link.txt").symlink_to(tmp_path / "secret.txt")
    os.mkfifo(project / "pipe")
    assert count_lines(project, "a.py") == 2
    assert count_lines(project, str(project / "a.py")) == 2
    for path in ("b.bin", "../secret.txt", "link.txt", "pipe", "none.py", "/etc/passwd", "a\0b"):
        assert count_lines(project, path) is None, path
