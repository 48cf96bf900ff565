"""An empty workspace for every test that needs one."""

from pathlib import Path

import pytest

from tests.workspace.tool_calls import ToolWorkspace


@pytest.fixture
def workspace(tmp_path: Path) -> ToolWorkspace:
    """An empty workspace where everything is allowed, beside a folder that is not part of it."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("not yours\n")
    (tmp_path / "wood").mkdir()
    return ToolWorkspace(tmp_path / "wood")
