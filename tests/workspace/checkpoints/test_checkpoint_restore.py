"""A restore changes the files that differ, and never files that could not be saved."""

import os
import shutil
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from sapwood.core.checkpoint import LeftOut, Restored, Saved, Unsaved
from sapwood.core.settings import Workspace
from sapwood.workspace.checkpoints import file_replacement
from sapwood.workspace.checkpoints.checkpoint_save import CheckpointLimits
from sapwood.workspace.checkpoints.git_checkpoints import GitCheckpoints
from sapwood.workspace.checkpoints.git_command import Git, object_reader
from tests.workspace.checkpoints.repositories import files_of, git, repository, saved


async def restored(folder: Path, files: Saved, bounds: CheckpointLimits | None = None) -> Restored:
    """Saves the present state and goes back."""
    present = await saved(folder, bounds)
    found = await GitCheckpoints(bounds).restore(Workspace(str(folder)), present, files)
    assert isinstance(found, Restored), found
    return found


def names(folder: Path) -> list[str]:
    """What is in a folder."""
    return sorted(path.name for path in folder.iterdir())


_TERABYTE = 1 << 40


def _deep_folder(top: Path, depth: int) -> Path:
    """Makes folders in each other, and returns the last one."""
    deepest = top
    top.mkdir()
    for _ in range(depth):
        deepest /= "d"
        deepest.mkdir()
    return deepest


def _remove(folder: Path) -> None:
    """Removes a folder that is too deep for `shutil.rmtree`."""
    subprocess.run(["rm", "-rf", "--", folder], check=True)


async def test_it_counts_what_it_did(tmp_path: Path) -> None:
    repository(tmp_path)
    for name in ("same", "changed", "removed"):
        (tmp_path / name).write_text(name)
    files = await saved(tmp_path)
    (tmp_path / "changed").write_text("otherwise")
    (tmp_path / "removed").unlink()
    (tmp_path / "added").write_text("new")
    assert await restored(tmp_path, files) == Restored(written=2, removed=1)
    assert files_of(tmp_path).keys() == {"same", "changed", "removed"}


async def test_a_folder_with_nothing_but_ignored_files_keeps_its_permissions(
    tmp_path: Path,
) -> None:
    repository(tmp_path)
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "logs").mkdir(mode=0o700)
    (tmp_path / "logs" / "one.log").write_text("1")
    files = await saved(tmp_path)
    (tmp_path / ".gitignore").unlink()
    await restored(tmp_path, files)
    assert stat.S_IMODE((tmp_path / "logs").stat().st_mode) == 0o700
    assert names(tmp_path / "logs") == ["one.log"]


@pytest.mark.parametrize("left_out", ["one.log", "large"])
async def test_permissions_of_a_folder_without_covered_files_come_back(
    tmp_path: Path, left_out: str
) -> None:
    repository(tmp_path)
    limits = CheckpointLimits(max_file=10)
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "src" / "deep" / "a").write_text("1")
    (tmp_path / "src").chmod(0o775)
    files = await saved(tmp_path, limits)
    shutil.rmtree(tmp_path / "src" / "deep")
    (tmp_path / "src" / left_out).write_text("x" * 11)
    (tmp_path / "src").chmod(0o755)
    before = await saved(tmp_path, limits)
    await restored(tmp_path, files, limits)
    assert stat.S_IMODE((tmp_path / "src").stat().st_mode) == 0o775
    await restored(tmp_path, before, limits)
    assert stat.S_IMODE((tmp_path / "src").stat().st_mode) == 0o755
    assert names(tmp_path / "src") == [left_out]


async def test_a_file_that_does_not_differ_is_not_written(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "same").write_text("same")
    files = await saved(tmp_path)
    before = (tmp_path / "same").stat()
    (tmp_path / "added").write_text("new")
    await restored(tmp_path, files)
    assert (tmp_path / "same").stat() == before


async def test_folders_that_become_empty_go_and_others_stay(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / ".gitignore").write_text("*.log\n")
    files = await saved(tmp_path)
    for folder in ("deep/er", "logs"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "file").write_text("new")
    (tmp_path / "logs" / "x.log").write_text("ignored")
    await restored(tmp_path, files)
    assert names(tmp_path) == [".git", ".gitignore", "logs"]
    assert names(tmp_path / "logs") == ["x.log"]


async def test_what_was_ignored_then_is_not_removed_though_it_is_not_ignored_now(
    tmp_path: Path,
) -> None:
    repository(tmp_path)
    (tmp_path / ".gitignore").write_text("*.key\n")
    (tmp_path / "my.key").write_text("secret")
    files = await saved(tmp_path)
    (tmp_path / ".gitignore").unlink()
    await restored(tmp_path, files)
    assert (tmp_path / "my.key").read_text() == "secret"
    assert (tmp_path / ".gitignore").read_text() == "*.key\n"


async def test_what_is_ignored_now_and_not_saved_is_not_overwritten(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "out").write_text("then")
    files = await saved(tmp_path)
    (tmp_path / "out").unlink()
    (tmp_path / ".gitignore").write_text("out\n")
    await saved(tmp_path)
    (tmp_path / "out").write_text("now, and ignored")
    found = await restored(tmp_path, files)
    assert found.left == (LeftOut("out", "unsaved"),)
    assert (tmp_path / "out").read_text() == "now, and ignored"


async def test_what_is_ignored_now_keeps_its_permissions_if_it_has_the_saved_content(
    tmp_path: Path,
) -> None:
    repository(tmp_path)
    (tmp_path / "out").write_text("then")
    (tmp_path / "out").chmod(0o444)
    files = await saved(tmp_path)
    (tmp_path / "out").unlink()
    (tmp_path / ".gitignore").write_text("out\n")
    await saved(tmp_path)
    (tmp_path / "out").write_text("then")
    (tmp_path / "out").chmod(0o664)
    found = await restored(tmp_path, files)
    assert found.left == (LeftOut("out", "unsaved"),)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o664


async def test_what_was_too_large_then_is_not_removed(tmp_path: Path) -> None:
    repository(tmp_path)
    bounds = CheckpointLimits(max_file=10)
    (tmp_path / "data").write_bytes(b"x" * 11)
    files = await saved(tmp_path, bounds)
    (tmp_path / "data").write_bytes(b"small")
    found = await restored(tmp_path, files, bounds)
    assert found == Restored(left=(LeftOut("data", "large"),))
    assert (tmp_path / "data").read_bytes() == b"small"


async def test_what_is_too_large_now_is_not_overwritten(tmp_path: Path) -> None:
    repository(tmp_path)
    bounds = CheckpointLimits(max_file=10)
    (tmp_path / "data").write_bytes(b"small")
    files = await saved(tmp_path, bounds)
    (tmp_path / "data").write_bytes(b"x" * 11)
    found = await restored(tmp_path, files, bounds)
    assert found.left == (LeftOut("data", "large"),)
    assert (tmp_path / "data").read_bytes() == b"x" * 11


async def test_a_file_larger_than_memory_is_kept_and_the_others_are_restored(
    tmp_path: Path,
) -> None:
    repository(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name).write_text("then")
    files = await saved(tmp_path)
    os.truncate(tmp_path / "a", _TERABYTE)
    (tmp_path / "b").write_text("now")
    found = await restored(tmp_path, files)
    assert found == Restored(written=1, left=(LeftOut("a", "large"),))
    assert (tmp_path / "a").stat().st_size == _TERABYTE
    assert (tmp_path / "b").read_text() == "then"


@pytest.mark.parametrize("then", ["was there", "was not"])
async def test_a_file_that_becomes_larger_than_memory_since_it_was_saved_is_kept(
    tmp_path: Path, then: str
) -> None:
    repository(tmp_path)
    if then == "was there":
        (tmp_path / "a").write_text("then")
    files = await saved(tmp_path)
    (tmp_path / "a").write_text("now")
    present = await saved(tmp_path)
    os.truncate(tmp_path / "a", _TERABYTE)
    found = await GitCheckpoints().restore(Workspace(str(tmp_path)), present, files)
    assert found == Restored(left=(LeftOut("a", "unsaved"),))
    assert (tmp_path / "a").stat().st_size == _TERABYTE


async def test_a_folder_with_what_was_not_saved_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "place").write_text("a file")
    files = await saved(tmp_path)
    (tmp_path / "place").unlink()
    (tmp_path / "place").mkdir()
    (tmp_path / "place" / "x.log").write_text("ignored")
    found = await restored(tmp_path, files)
    assert found.left == (LeftOut("place", "unsaved"),)
    assert (tmp_path / "place" / "x.log").read_text() == "ignored"


async def test_an_empty_folder_is_in_nobodys_way(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "place").write_text("a file")
    files = await saved(tmp_path)
    (tmp_path / "place").unlink()
    (tmp_path / "place" / "deep").mkdir(parents=True)
    assert await restored(tmp_path, files) == Restored(written=1)
    assert (tmp_path / "place").read_text() == "a file"


@pytest.mark.parametrize("bottom", ["empty", "a file"])
async def test_a_very_deep_folder_in_place_of_a_file_is_removed_if_it_is_empty(
    tmp_path: Path, bottom: str
) -> None:
    repository(tmp_path)
    (tmp_path / ".gitignore").write_text("*.log\n")
    for name in ("a", "place"):
        (tmp_path / name).write_text("then")
    files = await saved(tmp_path)
    (tmp_path / "a").write_text("now")
    (tmp_path / "place").unlink()
    try:
        deepest = _deep_folder(tmp_path / "place", 600)
        if bottom == "a file":
            (deepest / "x.log").write_text("mine")
        found = await restored(tmp_path, files)
        assert (tmp_path / "a").read_text() == "then"
        if bottom == "a file":
            assert found == Restored(written=1, left=(LeftOut("place", "unsaved"),))
            assert (deepest / "x.log").read_text() == "mine"
        else:
            assert found == Restored(written=2)
            assert (tmp_path / "place").read_text() == "then"
    finally:
        _remove(tmp_path / "place")


@pytest.mark.night
async def test_a_file_in_a_very_deep_folder_comes_back(tmp_path: Path) -> None:
    repository(tmp_path)
    try:
        deepest = _deep_folder(tmp_path / "place", sys.getrecursionlimit())
        (deepest / "x").write_text("then")
        files = await saved(tmp_path)
        _remove(tmp_path / "place")
        assert await restored(tmp_path, files) == Restored(written=1)
        assert (deepest / "x").read_text() == "then"
    finally:
        _remove(tmp_path / "place")


async def test_a_folder_that_is_moved_away_while_it_is_removed_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top, outside = repository(tmp_path / "top"), tmp_path / "outside"
    (top / "place").write_text("a file")
    files = await saved(top)
    (top / "place").unlink()
    (top / "place" / "deep" / "deeper").mkdir(parents=True)
    present = await saved(top)
    outside.mkdir()
    rmdir = os.rmdir

    def moving(path: str, *, dir_fd: int | None = None) -> None:
        rmdir(path, dir_fd=dir_fd)
        if path == "deeper":
            os.rename(top / "place" / "deep", outside / "deep")

    monkeypatch.setattr(os, "rmdir", moving)
    found = await GitCheckpoints().restore(Workspace(str(top)), present, files)
    assert found == Restored(left=(LeftOut("place", "unsaved"),))
    assert names(outside) == ["deep"]


async def test_nothing_is_written_through_a_symlink(tmp_path: Path) -> None:
    top, outside = repository(tmp_path / "top"), tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("not ours")
    (top / "folder").mkdir()
    (top / "folder" / "file").write_text("ours")
    files = await saved(top)
    (top / "folder" / "file").unlink()
    (top / "folder").rmdir()
    (top / "folder").symlink_to(outside)
    await restored(top, files)
    assert (outside / "file").read_text() == "not ours"
    assert (top / "folder" / "file").read_text() == "ours"


@pytest.mark.parametrize("then", ["was there", "was not"])
async def test_what_somebody_wrote_since_it_was_saved_is_not_lost(
    tmp_path: Path, then: str
) -> None:
    repository(tmp_path)
    if then == "was there":
        (tmp_path / "a").write_text("then")
    files = await saved(tmp_path)
    (tmp_path / "a").write_text("now")
    present = await saved(tmp_path)
    (tmp_path / "a").write_text("at the last moment")
    found = await GitCheckpoints().restore(Workspace(str(tmp_path)), present, files)
    assert found == Restored(left=(LeftOut("a", "unsaved"),))
    assert (tmp_path / "a").read_text() == "at the last moment"


async def test_permissions_stay_but_for_that_to_run(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "private").write_text("1")
    (tmp_path / "private").chmod(0o600)
    files = await saved(tmp_path)
    (tmp_path / "private").write_text("2")
    (tmp_path / "private").chmod(0o700)
    await restored(tmp_path, files)
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o600
    again = await saved(tmp_path)
    assert again.tree == files.tree


async def test_a_full_disk_stops_it_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository(tmp_path)
    (tmp_path / "a").write_text("1")
    files = await saved(tmp_path)
    (tmp_path / "a").write_text("2")
    present = await saved(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(file_replacement, "_create", full)
    found = await GitCheckpoints().restore(Workspace(str(tmp_path)), present, files)
    assert found == Unsaved("No space left on device.")
    assert (tmp_path / "a").read_text() == "2"
    assert names(tmp_path) == [".git", "a"]


async def test_an_error_that_nobody_expected_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository(tmp_path)
    (tmp_path / "a").write_text("1")
    files = await saved(tmp_path)
    (tmp_path / "a").write_text("2")
    present = await saved(tmp_path)

    def fails(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(file_replacement, "_create", fails)
    found = await GitCheckpoints().restore(Workspace(str(tmp_path)), present, files)
    assert found == Unsaved("An unexpected error: MemoryError().")


async def test_one_file_that_cannot_be_written_does_not_keep_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name).write_text("then")
    files = await saved(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name).write_text("now")
    present = await saved(tmp_path)
    carry_out = file_replacement.Replacement.carry_out

    def denied(self: file_replacement.Replacement, folder: int, name: str, *rest: object) -> bool:
        if name == "a":
            raise PermissionError(13, os.strerror(13))
        return carry_out(self, folder, name, *rest)  # pyright: ignore[reportArgumentType] - as given

    monkeypatch.setattr(file_replacement.Replacement, "carry_out", denied)
    found = await GitCheckpoints().restore(Workspace(str(tmp_path)), present, files)
    assert found == Restored(written=1, left=(LeftOut("a", "unwritable"),))
    assert (tmp_path / "b").read_text() == "then"


def test_an_object_that_is_not_read_to_its_end_does_not_spoil_the_next(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "large").write_bytes(b"x" * 3_000_000)
    (tmp_path / "small").write_bytes(b"small")
    hashes = git(tmp_path, "hash-object", "-w", "large", "small").encode().split()
    with object_reader(Git(str(tmp_path), {})) as read:
        with closing(read(hashes[0])) as pieces:
            assert len(next(pieces)) < 3_000_000
        assert b"".join(read(hashes[1])) == b"small"
