"""Over HTTP, this machine is served and no other, and only who bears the token."""

import asyncio
import os
import socket
import stat
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the library for MCP servers is not installed (extra: mcp)")

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from sapwood.config.server_tokens import find_token
from sapwood.core.errors import SapwoodError
from tests.mcp_server.calling import http_server, text_of

NOBODY = 65534


@asynccontextmanager
async def connected(url: str, token: str) -> AsyncGenerator[Client]:
    @asynccontextmanager
    async def transport() -> AsyncGenerator[Any]:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            streamable_http_client(url, http_client=http) as streams,
        ):
            yield streams

    async with Client(transport()) as client:
        yield client


@pytest.fixture
def token(environ: dict[str, str]) -> str:
    """The token that the server is started with."""
    environ["SAPWOOD_MCP_TOKEN"] = "oak"
    return "oak"


async def test_tools_are_called_over_http(
    project: Path, environ: dict[str, str], token: str
) -> None:
    async with http_server(project, environ) as url, connected(url, token) as client:
        assert url.startswith("http://127.0.0.1:")
        drift = await client.call_tool("context", {"action": "drift"})
        assert "Chapters:" in text_of(drift)


async def test_a_folder_is_named_only_where_the_user_allowed_it(
    project: Path, tmp_path: Path, environ: dict[str, str], token: str
) -> None:
    asked = {"action": "ledger", "folder": str(project)}
    async with http_server(tmp_path, environ) as url, connected(url, token) as client:
        refused = await client.call_tool("context", asked)
        assert refused.is_error
        assert "echo two" not in text_of(refused)
    wide = http_server(tmp_path, environ, "--all-projects")
    async with wide as url, connected(url, token) as client:
        assert "echo two" in text_of(await client.call_tool("context", asked))


@pytest.mark.parametrize(
    "header", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}], ids=["host", "origin"]
)
async def test_a_web_page_cannot_reach_it_by_a_name_of_its_own(
    project: Path, environ: dict[str, str], token: str, header: dict[str, str]
) -> None:
    async with http_server(project, environ) as url, httpx2.AsyncClient() as http:
        told = {
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {token}",
            **header,
        }
        answer = await http.post(url, json={"jsonrpc": "2.0"}, headers=told)
        assert answer.status_code in (403, 421)


async def test_only_who_bears_the_token_is_served(
    project: Path, environ: dict[str, str], token: str
) -> None:
    async with http_server(project, environ) as url:
        async with httpx2.AsyncClient() as http:
            assert (await http.post(url, json={})).status_code == 401
            wrong = await http.post(url, json={}, headers={"Authorization": "Bearer elm"})
            assert wrong.status_code == 401
        async with connected(url, token) as client:
            assert (await client.list_tools()).tools


async def test_without_a_given_token_one_is_made_and_stored_privately(
    project: Path, environ: dict[str, str], home: Path
) -> None:
    file = home / "data" / "mcp-token"
    async with http_server(project, environ) as url:
        async with httpx2.AsyncClient() as http:
            assert (await http.post(url, json={})).status_code == 401
        made = file.read_text().strip()
        assert len(made) >= 32
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        async with connected(url, made) as client:
            assert (await client.list_tools()).tools


@pytest.mark.skipif(os.getuid() != 0, reason="only root can act as another user")
async def test_another_user_of_the_machine_is_not_served(
    project: Path, environ: dict[str, str], home: Path
) -> None:
    async with http_server(project, environ) as url:
        seen = await asyncio.to_thread(_as_another_user, url, home / "data" / "mcp-token")
    assert seen == ["401", "PermissionError"]


def _as_another_user(url: str, file: Path) -> list[str]:
    """What a process of another user gets from the server and from the file of the token."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.write(writing, " ".join((_posted(url), _read(file))).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        seen = pipe.read().split()
    os.waitpid(child, 0)
    return seen


def _posted(url: str) -> str:
    """The status of a request without a token. Imports nothing: another user may not read it."""
    host, port = url.removeprefix("http://").partition("/")[0].split(":")
    with socket.socket() as connection:
        connection.settimeout(30)
        connection.connect((host, int(port)))
        connection.sendall(
            f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 2\r\n\r\n{{}}".encode()
        )
        return connection.recv(1024).split()[1].decode()


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError as error:
        return type(error).__name__


def test_a_token_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("oak\n")
    file.chmod(0o644)
    with pytest.raises(SapwoodError, match="chmod 600"):
        find_token({}, str(file))
    file.chmod(0o600)
    assert find_token({}, str(file)).value == "oak"


def test_a_stored_token_that_others_could_read_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAPWOOD_DATA", str(tmp_path))
    first = find_token({})
    assert find_token({}) == first
    assert first.file is not None
    first.file.chmod(0o644)
    second = find_token({})
    assert second.value != first.value
    assert stat.S_IMODE(first.file.stat().st_mode) == 0o600
