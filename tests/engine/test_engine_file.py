"""The file of the engine stands beside the log, however the log's address is written."""

from pathlib import Path

import pytest

from sapwood.engine.wake_database import open_wake_database
from sapwood.engine.wake_requests import engine_file


async def test_a_file_in_the_home_is_found_where_it_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    (home / "data").mkdir(parents=True)
    (elsewhere / "~" / "data").mkdir(parents=True)  # what a name that is not expanded means
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(elsewhere)
    address = "~/data/log.db"
    await (await open_wake_database(address)).close()
    file = home / "data" / "log.engine.db"
    assert engine_file(address) == file
    assert file.exists()
    assert not list((elsewhere / "~" / "data").iterdir())
