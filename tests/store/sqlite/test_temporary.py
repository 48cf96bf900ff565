"""The log that `:memory:` opens: a private file that nothing keeps."""

import gc
from pathlib import Path

import pytest

from sapwood.store.sqlite import SqliteLog


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which temporary files are made."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def made_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def test_only_its_owner_can_read_it_and_closing_deletes_it(folder: Path) -> None:
    log = await SqliteLog.open_temporary()
    (place,) = made_in(folder)
    assert place.stat().st_mode & 0o077 == 0
    await log.close()
    assert made_in(folder) == []


async def test_a_log_that_nobody_closed_is_deleted_too(folder: Path) -> None:
    log = await SqliteLog.open_temporary()
    del log
    gc.collect()
    assert made_in(folder) == []


async def test_two_of_them_have_nothing_in_common(folder: Path) -> None:
    one, other = await SqliteLog.open_temporary(), await SqliteLog.open_temporary()
    assert len(made_in(folder)) == 2
    await one.close()
    assert len(made_in(folder)) == 1
    await other.close()
