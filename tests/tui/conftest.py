"""A configuration of its own for every test of a screen: keys write settings into it."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that stands for the configuration of the person."""
    file = tmp_path / "own" / "config.toml"
    monkeypatch.setenv("SAPWOOD_CONFIG", str(file))
    return file
