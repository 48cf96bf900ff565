"""Folders are where platformdirs says, which is not imported for it."""

from pathlib import Path

import platformdirs
import pytest

from sapwood.config.folders import config_folder, data_folder


@pytest.mark.parametrize("given", [None, "", "relative", "~/elsewhere", "absolute"])
def test_both_are_where_the_platform_has_them(
    given: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SAPWOOD_DATA", raising=False)
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        if given is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, str(tmp_path) if given == "absolute" else given)
    assert data_folder() == platformdirs.user_data_path("sapwood", appauthor=False)
    assert config_folder() == platformdirs.user_config_path("sapwood", appauthor=False)
