"""The server in a process of its own, and a client of the library's to call it."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import CallToolResult

PROGRAM = (sys.executable, "-m", "sapwood.cli", "mcp")


@asynccontextmanager
async def stdio(folder: Path, environ: dict[str, str], *args: str) -> AsyncGenerator[Client]:
    """A client of a server that it started over stdio, in a folder."""
    parameters = StdioServerParameters(
        command=PROGRAM[0], args=[*PROGRAM[1:], *args], env=environ, cwd=str(folder)
    )

    @asynccontextmanager
    async def transport() -> AsyncGenerator[Any]:
        async with stdio_client(parameters) as streams:
            yield streams

    async with asyncio.timeout(60), Client(transport()) as client:
        yield client


@asynccontextmanager
async def http_server(folder: Path, environ: dict[str, str], *args: str) -> AsyncGenerator[str]:
    """The address of a server that serves HTTP from a folder."""
    server = await asyncio.create_subprocess_exec(
        *PROGRAM,
        *("--http", "--port", "0", *args),
        cwd=folder,
        env=environ,
        stderr=asyncio.subprocess.PIPE,
        stdin=asyncio.subprocess.DEVNULL,
    )
    try:
        assert server.stderr is not None
        async with asyncio.timeout(60):
            line = (await server.stderr.readline()).decode()
        assert line.startswith("Serving MCP on "), line
        yield line.split()[3].rstrip(".")
    finally:
        server.terminate()
        await server.wait()


def text_of(result: CallToolResult) -> str:
    """What a tool said."""
    return "\n".join(block.text for block in result.content if block.type == "text")
