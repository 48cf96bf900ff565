"""Messages are answered as the protocol says, good ones and bad ones."""

import json
from pathlib import Path
from typing import Any

import pytest

from sapwood.config.config_file import Config
from sapwood.mcp_server.catalog import Catalog
from sapwood.mcp_server.mcp_messages import (
    VERSIONS,
    ClientMessage,
    McpResponder,
    ProtocolError,
    parse_message,
)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> McpResponder:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SAPWOOD_DATA", str(tmp_path / "data"))
    return McpResponder(Catalog(Config(database=str(tmp_path / "none.db")), tmp_path))


async def answered(desk: McpResponder, method: str, **params: Any) -> dict[str, Any]:
    told = json.loads(await desk.answer(ClientMessage(method, 7, params)))
    assert (told["jsonrpc"], told["id"]) == ("2.0", 7)
    return told


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_version_that_is_known_is_agreed_on(desk: McpResponder, version: str) -> None:
    told = await answered(desk, "initialize", protocolVersion=version)
    assert told["result"]["protocolVersion"] == version


async def test_of_a_version_that_is_not_known_the_newest_is_offered(desk: McpResponder) -> None:
    told = await answered(desk, "initialize", protocolVersion="2099-01-01")
    assert told["result"]["protocolVersion"] == VERSIONS[0]


async def test_a_method_that_is_not_known_is_answered_as_such(desk: McpResponder) -> None:
    assert (await answered(desk, "resources/list"))["error"]["code"] == -32601


@pytest.mark.parametrize("params", [{}, {"name": 5}, {"name": "context", "arguments": []}])
async def test_a_call_without_a_name_is_a_mistake(
    desk: McpResponder, params: dict[str, Any]
) -> None:
    assert (await answered(desk, "tools/call", **params))["error"]["code"] == -32602


async def test_a_tool_that_is_not_there_is_told_to_the_model(desk: McpResponder) -> None:
    told = await answered(desk, "tools/call", name="saw", arguments={})
    assert told["result"]["isError"]
    assert "The tools are context, slash" in told["result"]["content"][0]["text"]


async def test_a_prompt_that_is_not_there_is_a_mistake(desk: McpResponder) -> None:
    assert (await answered(desk, "prompts/get", name="saw"))["error"]["code"] == -32602


async def test_a_ping_is_answered(desk: McpResponder) -> None:
    assert (await answered(desk, "ping"))["result"] == {}


@pytest.mark.parametrize("line", [b"{", b"5", b"[]", b'{"method": 5}', b"\xff"])
def test_what_is_no_message_is_said_to_be_none(line: bytes) -> None:
    with pytest.raises(ProtocolError):
        parse_message(line)
