"""Reading what a model gets about its workspace: the default prompt, AGENTS.md and CLAUDE.md."""

import os
from datetime import date
from pathlib import Path

import pytest

from sapwood.core.settings import Workspace
from sapwood.workspace.instructions import LARGEST, default_prompt_of, read_instructions


def texts(folder: Path) -> dict[str, str]:
    """The texts of the files, by name."""
    read = read_instructions(Workspace(str(folder)), default_prompt=False)
    assert read is not None
    return {each.name: each.text for each in read}


def test_both_files_are_read_in_order(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("Be brief.\n")
    (tmp_path / "AGENTS.md").write_text("Use tabs.\n")
    assert list(texts(tmp_path).items()) == [("AGENTS.md", "Use tabs."), ("CLAUDE.md", "Be brief.")]


def test_the_same_text_is_taken_once(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Use tabs.\n")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    assert texts(tmp_path) == {"AGENTS.md": "Use tabs."}


def test_a_link_out_of_the_workspace_is_not_followed(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "private").write_text("my secret")
    (work / "AGENTS.md").symlink_to(tmp_path / "private")
    (work / "CLAUDE.md").symlink_to("../private")
    assert texts(work) == {}


def test_pipes_folders_and_blank_files_are_left_out(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "AGENTS.md")
    (tmp_path / "CLAUDE.md").mkdir()
    assert texts(tmp_path) == {}
    (tmp_path / "CLAUDE.md").rmdir()
    (tmp_path / "CLAUDE.md").write_text(" \n")
    assert texts(tmp_path) == {}


def test_a_long_file_is_cut_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("é" * LARGEST)
    (text,) = texts(tmp_path).values()
    assert text.startswith("é" * (LARGEST // 2))
    assert text.endswith("[AGENTS.md is longer than 40,000 bytes. The rest was left out.]")
    assert "�" not in text


def test_each_part_can_be_switched_off(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Use tabs.")
    where = Workspace(str(tmp_path))
    both = read_instructions(where)
    default = read_instructions(where, files=False)
    assert both is not None
    assert default is not None
    assert [each.name for each in both] == ["default", "AGENTS.md"]
    assert [each.name for each in default] == ["default"]
    assert read_instructions(where, default_prompt=False, files=False) is None


def test_without_a_folder_there_are_only_date_and_system() -> None:
    read = read_instructions(Workspace())
    assert read is not None
    (only,) = read
    assert [line.partition(":")[0] for line in only.text.splitlines()[1:]] == ["Date", "System"]
    assert read_instructions(Workspace("/nowhere/at/all")) == read


@pytest.mark.parametrize(
    ("head", "shown"),
    [
        ("ref: refs/heads/feature/x\n", "branch feature/x"),
        ("0123456789abcdef0123456789abcdef01234567\n", "commit 0123456789ab"),
        ("root:x:0:0:private\n", "a repository whose branch cannot be read"),
    ],
)
def test_the_branch_is_told(tmp_path: Path, head: str, shown: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text(head)
    (tmp_path / "src").mkdir()
    for folder in (tmp_path, tmp_path / "src"):
        prompt = default_prompt_of(str(folder), date(2026, 5, 1))
        assert prompt.splitlines()[-2:] == [f"Folder: {folder}", f"Git: {shown}"]


def test_the_branch_of_a_linked_worktree_is_told(tmp_path: Path) -> None:
    other = tmp_path / "repo.git" / "worktrees" / "w"
    other.mkdir(parents=True)
    (other / "HEAD").write_text("ref: refs/heads/w\n")
    work = tmp_path / "work"
    work.mkdir()
    (work / ".git").write_text("gitdir: ../repo.git/worktrees/w\n")
    assert default_prompt_of(str(work), date(2026, 5, 1)).endswith("Git: branch w")


def test_a_pipe_in_place_of_git_files_does_not_wait(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git" / "HEAD")
    assert "cannot be read" in default_prompt_of(str(tmp_path), date(2026, 5, 1))
