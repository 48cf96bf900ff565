"""The action `handoff` writes one private file inside its folder, and counts lines safely."""

import os
import stat
from pathlib import Path

import pytest

from sapwood.analysis.handoff import handoff_of
from sapwood.context_actions.archive_actions import count_lines, write_handoff
from tests.analysis.sessions import asked, session

NOW = "2026-01-12T15:30:00Z"
WORK = session(asked("Implement OAuth for the mobile app.", "One test fails still."))


@pytest.mark.parametrize("target", ["reviewer", "../../etc", "a/b", "名"])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, target: str) -> None:
    folder = tmp_path / "handoffs"
    path = write_handoff(folder, handoff_of(WORK, target, at=NOW))
    assert path.parent == folder
    assert list(folder.iterdir()) == [path]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_package_never_replaces_another(tmp_path: Path) -> None:
    made = handoff_of(WORK, "reviewer", at=NOW)
    names = [write_handoff(tmp_path, made).name for _ in range(2)]
    assert names == ["2026-01-12-to-reviewer.txt", "2026-01-12-to-reviewer-2.txt"]


def test_only_lines_of_text_files_inside_the_project_are_counted(tmp_path: Path) -> None:
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
