"""Rows of a growing file: whole ones only, each once, whatever happens to the file."""

from pathlib import Path

import pytest

from sapwood.programs.transcripts import row_file as following_module
from sapwood.programs.transcripts.row_file import FilePosition, RowFile


def all_of(rows: RowFile, *, rest: bool = False) -> list[bytes]:
    return [row for row, _ in rows.read(rest=rest)]


def test_a_row_without_its_end_is_kept_back_until_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\ntw")
    rows = RowFile(path)
    assert all_of(rows) == [b"one\n"]
    with path.open("ab") as file:
        file.write(b"o\nthree\n")
    assert all_of(rows) == [b"two\n", b"three\n"]
    assert all_of(rows) == []


def test_whoever_wants_the_rest_gets_it(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\ntw")
    assert all_of(RowFile(path), rest=True) == [b"one\n", b"tw"]


def test_reading_goes_on_from_a_place_that_was_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\ntwo\n")
    rows = RowFile(path)
    next(iter(rows.read()))
    assert rows.position.offset == 4
    assert list(RowFile(path, rows.position).read()) == [(b"two\n", 4)]


@pytest.mark.parametrize("how", ["replaced", "shortened"])
def test_another_file_under_the_same_name_is_read_anew(tmp_path: Path, how: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\ntwo\n")
    rows = RowFile(path)
    all_of(rows)
    if how == "replaced":
        (tmp_path / "b.jsonl").write_bytes(b"three\nfour\nfive\n")
        (tmp_path / "b.jsonl").rename(path)
    else:
        path.write_bytes(b"six\n")
    assert not rows.replaced
    read = all_of(rows)
    assert rows.replaced
    assert read[0] in (b"three\n", b"six\n")


def test_a_row_that_is_too_long_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following_module, "MAX_ROW", 8)
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\n" + b"x" * 50 + b"\ntwo\n")
    assert list(RowFile(path).read()) == [(b"one\n", 0), (b"two\n", 55)]


def test_the_file_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\ntw")
    path.chmod(0o400)
    before = path.stat()
    all_of(RowFile(path, FilePosition()))
    after = path.stat()
    assert (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size)
