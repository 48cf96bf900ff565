"""A desk for every test that asks for one."""

from pathlib import Path

import pytest

from tests.workspace.calling import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """An empty workspace where everything is allowed, beside a folder that is not part of it."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("not yours\n")
    (tmp_path / "wood").mkdir()
    return Desk(tmp_path / "wood")
