"""Without the library for MCP servers, the way to get it is told."""

import sys

import pytest

from sapwood.workspace.servers.server import Server
from sapwood.workspace.servers.toolbox import ServerToolbox


async def test_a_missing_library_is_told_with_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    box = ServerToolbox("wood", Server(command=("wood",)))
    assert await box.specs() == ()
    assert box.trouble.endswith("Type: pip install 'sapwood[mcp]'")
