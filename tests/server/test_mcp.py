"""`/mcp` with the real client of MCP: the same identity, spaces and scopes as everywhere else."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the library for MCP is not installed (extra: mcp)")

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from sapwood.core.ids import AgentId
from tests.mcp_server.calling import text_of
from tests.server.live_server import LiveServer
from tests.server.serving import record


@asynccontextmanager
async def connected(live: LiveServer, token: str, path: str = "/mcp") -> AsyncGenerator[Client]:
    @asynccontextmanager
    async def transport() -> AsyncGenerator[Any]:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            streamable_http_client(f"{live.address}{path}", http_client=http) as streams,
        ):
            yield streams

    async with Client(transport()) as client:
        yield client


@pytest.fixture
async def agent(live: LiveServer) -> AgentId:
    """A conversation of three turns."""
    turns = [(f"Question {n}?", f"Answer {n}.") for n in (1, 2, 3)]
    return await record(live.connection, *turns)


async def test_conversations_are_found_read_and_trimmed(live: LiveServer, agent: AgentId) -> None:
    async with connected(live, live.token()) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert tools == {"conversations", "read", "search", "slash"}
        assert agent in text_of(await client.call_tool("conversations", {}))
        assert "Question 2" in text_of(await client.call_tool("search", {"query": "Question"}))
        call = {"agent": agent, "command": "clear", "args": "1"}
        cleared = await client.call_tool("slash", call)
        assert not cleared.is_error, text_of(cleared)
        shown = text_of(await client.call_tool("read", {"agent": agent}))
    assert "Question 3?" in shown
    assert "Answer 3." in shown
    assert "Question 1?" not in shown
    events = await live.connection.log.read(live.connection.space, agent, 1)
    assert str(events[-1].actor) == "human:ada"


async def test_a_token_does_what_its_scopes_allow(live: LiveServer, agent: AgentId) -> None:
    async with connected(live, live.token("read")) as client:
        assert "Answer 3." in text_of(await client.call_tool("read", {"agent": agent}))
        call = {"agent": agent, "command": "clear", "args": "1"}
        denied = await client.call_tool("slash", call)
    assert denied.is_error
    assert "does not allow 'write'" in text_of(denied)


async def test_nothing_of_another_space_is_found(live: LiveServer, agent: AgentId) -> None:
    async with connected(live, live.token(space="other")) as client:
        assert "no conversations" in text_of(await client.call_tool("conversations", {}))
        assert "Question" not in text_of(await client.call_tool("search", {"query": "Question"}))
        for tool, more in (("read", {}), ("slash", {"command": "mark", "args": "A"})):
            answer = await client.call_tool(tool, {"agent": agent, **more})
            assert answer.is_error
            assert "There is no conversation" in text_of(answer)


async def test_an_address_of_one_conversation_serves_no_other(
    live: LiveServer, agent: AgentId
) -> None:
    other = await record(live.connection, ("The heron is blue.", "Yes."))
    async with connected(live, live.token(), f"/mcp/{agent}") as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"read", "slash"}
        assert "agent" not in tools["read"].input_schema["properties"]
        assert "Answer 3." in text_of(await client.call_tool("read", {}))
        stolen = await client.call_tool("read", {"agent": other})
        assert stolen.is_error
        marked = await client.call_tool("slash", {"command": "mark", "args": "A"})
        assert text_of(marked) == "Marked 'A'."


async def test_wrong_calls_are_answered_with_a_sentence(live: LiveServer) -> None:
    async with connected(live, live.token()) as client:
        for tool, arguments in (
            ("nothing", {}),
            ("read", {}),
            ("read", {"agent": 3}),
            ("search", {"query": ""}),
            ("conversations", {"limit": 1_000_000}),
            ("slash", {"agent": "a", "command": "permissions", "args": "all"}),
        ):
            answer = await client.call_tool(tool, arguments)
            assert answer.is_error, tool
            assert text_of(answer)


async def test_without_a_token_there_is_no_tool(live: LiveServer) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    async with httpx2.AsyncClient() as nobody:
        answer = await nobody.post(f"{live.address}/mcp", json=message)
        assert answer.status_code == 401
        stream = await nobody.get(f"{live.address}/mcp")
        assert stream.status_code == 405
