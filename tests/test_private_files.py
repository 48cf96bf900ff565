"""Files are written whole or not at all, in their folder, for their owner alone."""

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.private_files import (
    create_file,
    lock_held,
    locked,
    release_lock,
    replace_file,
    slug,
    try_lock,
    write_new_file,
)


@given(st.text())
def test_a_slug_is_always_safe_as_a_part_of_a_name(words: str) -> None:
    made = slug(words)
    assert len(made) <= 48
    assert all(char.isalnum() or char == "-" for char in made)
    assert not made.startswith("-")


def test_what_fails_midway_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "link", full)
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        replace_file(tmp_path / "focus.json", "{}")
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_links_is_served_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", unsupported)
    names = [write_new_file(tmp_path, "a", text).name for text in ("one", "two")]
    assert names == ["a.txt", "a-2.txt"]
    assert (tmp_path / "a.txt").read_text() == "one"


def test_two_who_change_a_file_at_once_both_do(tmp_path: Path) -> None:
    file = tmp_path / "count"
    replace_file(file, "0")

    def count() -> None:
        for _ in range(20):
            with locked(file):
                replace_file(file, str(int(file.read_text()) + 1))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert file.read_text() == "80"


@pytest.mark.parametrize(
    ("before", "mode", "after"),
    [(0o600, 0o644, 0o600), (0o640, 0o644, 0o640), (0o644, 0o600, 0o600), (0o400, 0o600, 0o400)],
)
def test_a_replaced_file_keeps_or_tightens_its_rights(
    tmp_path: Path, before: int, mode: int, after: int
) -> None:
    file = tmp_path / "settings"
    file.write_text("old")
    file.chmod(before)
    replace_file(file, "new", mode=mode)
    assert file.stat().st_mode & 0o777 == after
    assert file.read_text() == "new"


def test_a_new_file_never_takes_the_place_of_another(tmp_path: Path) -> None:
    create_file(tmp_path / "new" / "session.jsonl", b"one\n")
    with pytest.raises(FileExistsError):
        create_file(tmp_path / "new" / "session.jsonl", b"two\n")
    assert [path.read_bytes() for path in (tmp_path / "new").iterdir()] == [b"one\n"]


def test_a_lock_ends_even_while_a_program_that_is_started_has_a_copy_of_it(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    handle = try_lock(file)
    assert handle is not None
    copy = os.dup(handle)  # as between fork and exec, in another thread
    assert try_lock(file) is None
    release_lock(handle)
    again = try_lock(file)
    os.close(copy)
    assert again is not None
    release_lock(again)


def test_a_folder_can_be_locked_without_a_file(tmp_path: Path) -> None:
    with lock_held(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []
