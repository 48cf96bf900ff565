"""The file of the engine stands beside the log, however the log's address is written."""

from pathlib import Path

import pytest

from sapwood.engine.dbos.system_database import find_system_database, open_system_database
from sapwood.engine.wake_requests import engine_file


def test_a_file_in_the_home_is_found_where_it_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    (home / "data").mkdir(parents=True)
    (elsewhere / "~" / "data").mkdir(parents=True)  # what a name that is not expanded means
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(elsewhere)
    address = "~/data/log.db"
    open_system_database(address).sql.dispose()
    assert engine_file(address) == home / "data" / "log.engine.db"
    found = find_system_database(address)
    assert found is not None
    found.sql.dispose()
    assert not list((elsewhere / "~" / "data").iterdir())
