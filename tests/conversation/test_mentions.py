"""What an `@` completes: files, folders, marks, agents and conversations."""

from pathlib import Path

from sapwood.conversation.completion import Choice, KnownNames
from sapwood.conversation.mentions import (
    WorkspaceFiles,
    is_complete_mention,
    mention_choices,
    with_tokens,
)


async def test_files_come_first_and_a_complete_name_has_no_choices(tmp_path: Path) -> None:
    for name in ("shop/refund.py", "refunds/a b.md"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    listed = WorkspaceFiles()
    await listed.refresh(str(tmp_path))
    known = KnownNames(
        marks=(("BEFORE_REFUND", ""),), agents=(("ab12", "Refund by mail"),), conversations=()
    )
    found = [(each.word, each.help) for each in mention_choices("@refu", known, listed)]
    assert found == [
        ("@shop/refund.py", "file"),
        ('@"refunds/a b.md"', "file"),
        ("@refunds/", "folder"),
        ("@BEFORE_REFUND", "mark"),
        ("@ab12", "agent Refund by mail"),
    ]
    for word in ("@shop/refund.py", "@shop/refund.py:10-40", "refund"):
        assert mention_choices(word, known, listed) == []
    assert is_complete_mention("@shop/refund.py:3", listed)
    assert not is_complete_mention("@shop/ref", listed)


def test_files_and_folders_have_their_tokens(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "a.py").write_text("heron = 1\n" * 400)
    (tmp_path / "empty.py").touch()
    choices = [Choice("@a.py", "", "file"), Choice("@empty.py", "", "file")]
    choices += [Choice("@src/", "", "folder"), Choice("@src", "", "mark")]
    found = [each.help for each in with_tokens(choices, str(tmp_path))]
    assert found == ["file, ~1.0k tokens", "file", "folder, ~0 tokens", "mark"]


def test_a_link_out_of_the_folder_has_no_tokens(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    for each in (outside, folder):
        each.mkdir()
        (each / "a.py").write_text("heron = 1\n" * 400)
    (folder / "away.py").symlink_to(outside / "a.py")
    (folder / "away").symlink_to(outside)
    (folder / "here.py").symlink_to(folder / "a.py")
    choices = [Choice(f"@{name}", "", "file") for name in ("away.py", "away/a.py", "here.py")]
    choices += [Choice("@away/", "", "folder"), Choice(f"@{outside}/a.py", "", "file")]
    found = [each.help for each in with_tokens(choices, str(folder))]
    assert found == ["file", "file", "file, ~1.0k tokens", "folder", "file"]


async def test_a_list_is_used_again_until_it_is_old(tmp_path: Path) -> None:
    now = 0.0
    listed = WorkspaceFiles(lambda: now)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").touch()
    (tmp_path / "b.log").touch()
    (tmp_path / ".gitignore").write_text("*.log")
    assert await listed.refresh(str(tmp_path))
    assert list(listed.files.paths) == [".gitignore", "src/a.py"]
    assert list(listed.folders.paths) == ["src"]
    (tmp_path / "src" / "c.py").touch()
    assert not await listed.refresh(str(tmp_path))
    now = 6.0
    assert await listed.refresh(str(tmp_path))
    assert "src/c.py" in listed.files
    now = 12.0
    assert await listed.refresh(str(tmp_path / "gone"))
    assert not listed.files.paths
