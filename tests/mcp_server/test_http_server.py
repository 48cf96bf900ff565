"""Over HTTP, this machine is served and no other, and with a token only who bears it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the library for MCP servers is not installed (extra: mcp)")

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.mcp_server.calling import http_server, text_of


@asynccontextmanager
async def connected(url: str, **headers: str) -> AsyncGenerator[Client]:
    @asynccontextmanager
    async def transport() -> AsyncGenerator[Any]:
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            streamable_http_client(url, http_client=http) as streams,
        ):
            yield streams

    async with Client(transport()) as client:
        yield client


async def test_tools_are_called_over_http(project: Path, environ: dict[str, str]) -> None:
    async with http_server(project, environ) as url, connected(url) as client:
        assert url.startswith("http://127.0.0.1:")
        drift = await client.call_tool("context", {"action": "drift"})
        assert "Topic drift analysis" in text_of(drift)


async def test_a_folder_can_be_named(
    project: Path, tmp_path: Path, environ: dict[str, str]
) -> None:
    async with http_server(tmp_path, environ) as url, connected(url) as client:
        asked = {"action": "ledger", "folder": str(project)}
        assert "echo two" in text_of(await client.call_tool("context", asked))


@pytest.mark.parametrize(
    "header", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}], ids=["host", "origin"]
)
async def test_a_web_page_cannot_reach_it_by_a_name_of_its_own(
    project: Path, environ: dict[str, str], header: dict[str, str]
) -> None:
    async with http_server(project, environ) as url, httpx2.AsyncClient() as http:
        told = {"Accept": "application/json, text/event-stream", **header}
        answer = await http.post(url, json={"jsonrpc": "2.0"}, headers=told)
        assert answer.status_code in (403, 421)


async def test_with_a_token_only_who_bears_it_is_served(
    project: Path, environ: dict[str, str]
) -> None:
    guarded = {**environ, "SAPWOOD_MCP_TOKEN": "oak"}
    async with http_server(project, guarded) as url:
        async with httpx2.AsyncClient() as http:
            assert (await http.post(url, json={})).status_code == 401
            wrong = await http.post(url, json={}, headers={"Authorization": "Bearer elm"})
            assert wrong.status_code == 401
        async with connected(url, Authorization="Bearer oak") as client:
            assert (await client.list_tools()).tools
