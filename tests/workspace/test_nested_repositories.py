"""How repositories further down in a workspace are found, also where there are too many folders."""

import os
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest

from sapwood.workspace import nested_repositories
from sapwood.workspace.nested_repositories import NestedRepositories, linked_repositories
from tests.workspace.checkpoints.repositories import git, repository


def folders(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).mkdir(parents=True)


def test_every_git_folder_below_is_found_also_after_changes(tmp_path: Path) -> None:
    folders(tmp_path, ".git", "a/.git", "b/c")
    finder = NestedRepositories(str(tmp_path))
    assert (finder.search().paths, finder.search().is_complete) == (("a/.git",), True)
    folders(tmp_path, "b/c/.git")
    (tmp_path / "a").rename(tmp_path / "moved")
    assert set(finder.search().paths) == {"b/c/.git", "moved/.git"}


def test_too_many_folders_are_reported_until_they_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nested_repositories, "MAX_FOLDERS", 5)
    finder = NestedRepositories(str(tmp_path))
    assert finder.search().is_complete
    folders(tmp_path, *(f"many/{number}" for number in range(4)), "s/.git")
    assert not finder.search().is_complete
    assert not finder.search().is_complete
    for number in range(3):
        (tmp_path / "many" / str(number)).rmdir()
    found = finder.search()
    assert found.is_complete
    assert found.paths == ("s/.git",)


def test_a_known_folder_is_looked_at_when_it_changes_although_there_are_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders(tmp_path, "a")
    finder = NestedRepositories(str(tmp_path))
    finder.search()
    monkeypatch.setattr(nested_repositories, "MAX_FOLDERS", 2)
    folders(tmp_path, "b", "c", "a/.git")
    assert finder.search().paths == ("a/.git",)


@pytest.fixture
def deep(tmp_path: Path) -> Generator[Path]:
    """A folder whose path from the top on is longer than the system accepts."""
    home = os.open(".", os.O_RDONLY)
    os.chdir(tmp_path)
    try:
        for _ in range(45):
            os.mkdir("d" * 99)
            os.chdir("d" * 99)
        yield tmp_path
    finally:
        os.chdir(home)
        os.close(home)
        subprocess.run(["rm", "-rf", str(tmp_path / ("d" * 99))], check=True)


def test_a_path_that_is_too_long_for_git_needs_no_search_unless_a_repository_is_above(
    deep: Path,
) -> None:
    finder = NestedRepositories(str(deep))
    assert finder.search().is_complete
    folders(deep, f"{'d' * 99}/.git")
    assert NestedRepositories(str(deep)).search().is_complete is False


def test_what_an_index_has_as_repositories_is_found_without_a_search(tmp_path: Path) -> None:
    top = repository(tmp_path / "top")
    inner = repository(top / "a b" / "inner")
    git(inner, "commit", "--quiet", "--allow-empty", "--message=One")
    (top / "file").write_text("1")
    git(top, "add", ".")
    assert linked_repositories(str(top), str(top / ".git"), str(top)) == ["a b/inner/.git"]
