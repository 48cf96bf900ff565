"""A connection to an MCP server, kept by a task of its own.

The library's contexts must be left in the task that entered them, and calls come from many: so one
task opens, waits and closes, and others call in between.
"""

import asyncio
import importlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from sapwood.workspace.servers.server import Server, ServerError
from sapwood.workspace.servers.words import LastWords

if TYPE_CHECKING:
    from anyio import CancelScope
    from mcp import Client
    from mcp.client import Transport
    from mcp.types import CallToolResult, Tool

__all__ = ["Connection", "Gone"]

_PAGES = 100
_IN_PEACE = 10.0
"""Seconds for a server to take its leave."""


class Gone(ServerError):
    """The connection ended. `maybe_done` says whether the call may have taken effect."""

    def __init__(self, message: str, maybe_done: bool) -> None:
        super().__init__(message)
        self.maybe_done = maybe_done


class Connection:
    """One life of a server: opened once, closed once."""

    def __init__(self, name: str, server: Server) -> None:
        self._name = name
        self._server = server
        self._words = LastWords()
        self._stop = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None
        self._scope: CancelScope | None = None
        self._client: Client | None = None
        self.is_gone = False

    async def open(self) -> None:
        """Starts the server or calls it. Raises `ServerError`."""
        await _import_library()
        ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._keeper = asyncio.create_task(self._keep(ready), name=f"mcp server {self._name}")
        try:
            async with asyncio.timeout(self._server.start_timeout):
                self._client = await asyncio.shield(ready)
        except TimeoutError as error:
            await self._end()
            waited = f"{self._server.start_timeout:g} seconds"
            raise ServerError(self._told(f"did not answer within {waited}")) from error
        except asyncio.CancelledError:
            await self._end()
            raise
        except Exception as error:
            await self._end()
            failed = "started" if self._server.command else "reached"
            raise ServerError(self._told(f"could not be {failed}: {_reason(error)}")) from error

    async def tools(self) -> "list[Tool]":
        """What the server offers. Raises `ServerError`."""
        client = self._living()
        found: list[Tool] = []
        cursor: str | None = None
        for _ in range(_PAGES):
            try:
                async with asyncio.timeout(self._server.start_timeout):
                    page = await client.list_tools(cursor=cursor)
            except Exception as error:
                raise self._failed(error, self._server.start_timeout) from error
            found += page.tools
            cursor = page.next_cursor
            if cursor is None:
                break
        return found

    async def call(self, tool: str, arguments: dict[str, Any]) -> "CallToolResult":
        """Runs a tool. Raises `Gone` if the connection ended, else `ServerError`."""
        client = self._living()
        timeout = self._server.call_timeout
        try:
            async with asyncio.timeout(timeout):
                return await client.call_tool(tool, arguments)
        except Exception as error:
            raise self._failed(error, timeout) from error

    async def close(self) -> None:
        """Ends the program, or the session with the server."""
        await self._end()

    async def _keep(self, ready: "asyncio.Future[Client]") -> None:
        from anyio import CancelScope
        from mcp import Client

        if self._stop.is_set():  # given up before it began
            return
        try:
            with CancelScope() as self._scope:
                async with Client(self._transport()) as client:
                    ready.set_result(client)
                    await self._stop.wait()
        except Exception as error:
            if not ready.done():
                ready.set_exception(error)
        finally:
            self.is_gone = True
            ready.cancel()

    def _transport(self) -> "Transport":
        return self._program() if self._server.command else self._address()

    @asynccontextmanager
    async def _program(self) -> AsyncGenerator[Any]:
        from mcp import StdioServerParameters, stdio_client

        command, *arguments = self._server.command
        parameters = StdioServerParameters(
            command=command,
            args=arguments,
            env=self._server.env or None,
            cwd=self._server.folder or None,
        )
        with self._words.listening() as words:
            async with (
                stdio_client(parameters, errlog=words) as (reading, writing),
                self._watched(reading) as watched,
            ):
                yield watched, writing

    @asynccontextmanager
    async def _watched(self, reading: Any) -> AsyncGenerator[Any]:
        """Passes messages on and notices when the server stops sending."""
        import anyio

        send, receive = anyio.create_memory_object_stream[Any](0)

        async def pass_on() -> None:
            async with send:
                async for message in reading:
                    await send.send(message)
            self.is_gone = True

        async with anyio.create_task_group() as group:
            group.start_soon(pass_on)
            yield receive
            group.cancel_scope.cancel()

    @asynccontextmanager
    async def _address(self) -> AsyncGenerator[Any]:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        # Servers may hold an answer open as long as the call takes.
        timeout = httpx2.Timeout(self._server.start_timeout, read=self._server.call_timeout + 5)
        async with (
            httpx2.AsyncClient(headers=self._server.headers, timeout=timeout) as client,
            streamable_http_client(self._server.url, http_client=client) as streams,
        ):
            yield streams

    def _living(self) -> "Client":
        if self._client is None or self.is_gone:
            raise Gone(self._told("is not running"), maybe_done=False)
        return self._client

    def _failed(self, error: Exception, timeout: float) -> ServerError:
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED, INVALID_REQUEST, REQUEST_TIMEOUT

        if isinstance(error, TimeoutError) or (
            isinstance(error, MCPError) and error.code == REQUEST_TIMEOUT
        ):
            told = f"MCP server '{self._name}' did not answer within {timeout:g} seconds."
            return ServerError(told)
        is_forgotten = (  # a server that was restarted turns calls of an older session away
            isinstance(error, MCPError)
            and error.code == INVALID_REQUEST
            and "session" in error.message.lower()
        )
        if isinstance(error, MCPError) and error.code != CONNECTION_CLOSED and not is_forgotten:
            return ServerError(f"MCP server '{self._name}' answered: {error.message}")
        self.is_gone = True
        return Gone(self._told(f"ended: {_reason(error)}"), maybe_done=not is_forgotten)

    def _told(self, what: str) -> str:
        last = self._words.text
        said = f" Its last words: {last}" if last else ""
        return f"MCP server '{self._name}' {what}.{said}"

    async def _end(self) -> None:
        """Leaves the library's contexts: in peace if they were entered, and within bounds."""
        self._stop.set()
        if self._keeper is None:
            return
        if self._client is not None:
            await asyncio.wait({self._keeper}, timeout=_IN_PEACE)
        if not self._keeper.done() and self._scope is not None:
            self._scope.cancel()
        await asyncio.shield(self._keeper)


async def _import_library() -> None:
    """Imports the library without holding up everything else: it takes a while."""
    try:
        await asyncio.to_thread(importlib.import_module, "mcp")
    except ModuleNotFoundError as error:
        raise ServerError(
            "MCP servers need a library that is not installed. Type: pip install 'sapwood[mcp]'"
        ) from error


def _reason(error: BaseException) -> str:
    """The first real reason; task groups wrap theirs."""
    if isinstance(error, BaseExceptionGroup):
        return _reason(cast(BaseExceptionGroup[BaseException], error).exceptions[0])
    return str(error).strip().rstrip(".") or type(error).__name__
