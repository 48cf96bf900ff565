"""Without the MCP library, the error says how to install it."""

import sys

import pytest

from sapwood.workspace.mcp_client.mcp_connection import McpEndpoint
from sapwood.workspace.mcp_client.mcp_toolbox import McpToolbox


async def test_a_missing_library_is_told_with_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    box = McpToolbox("wood", McpEndpoint(command=("wood",)))
    assert await box.specs() == ()
    assert box.trouble.endswith("Type: pip install 'sapwood[mcp]'")
