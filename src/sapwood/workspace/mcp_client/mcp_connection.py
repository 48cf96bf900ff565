"""A connection to an MCP server, held by a task of its own.

The contexts of the MCP library must be left in the task that entered them, but calls come from many
tasks. So one task opens the connection, waits, and closes it; other tasks make calls meanwhile.
"""

import asyncio
import importlib
import os
import shlex
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, TextIO, cast
from urllib.parse import urlsplit

from msgspec import Struct

from sapwood.redaction import mask_secrets
from sapwood.workspace.mcp_client.mcp_errors import McpConnectionLost, McpServerError
from sapwood.workspace.mcp_client.server_text import one_line

if TYPE_CHECKING:
    from anyio import CancelScope
    from mcp import Client
    from mcp.client import Transport
    from mcp.types import CallToolResult, Tool

    from sapwood.workspace.mcp_client.login_auth import LoginAuth


_MAX_PAGES = 100
_MAX_BYTES = 4_000_000
"""Of an answer over HTTP. Parsed, it can take fifty times as much memory."""
_CLOSE_SECONDS = 10.0
"""Seconds that a server gets to close its session."""
_STDERR_BYTES = 1_000
_STDERR_LINES = 3
_MAX_ANSWER = 2_000


class McpEndpoint(Struct, frozen=True):
    """How to reach a server: a `command` that starts it, or the `url` of a running one.

    A started program gets `env` and the few variables that every program needs, such as PATH; it
    gets none of the user's API keys unless `env` names them. Timeouts are in seconds. A server of
    the `operator` is used by people who cannot log in to it themselves.

    >>> McpEndpoint(command=("python", "-m", "wood_server")).url
    ''
    """

    command: tuple[str, ...] = ()
    url: str = ""
    env: dict[str, str] = {}
    headers: dict[str, str] = {}
    folder: str = ""
    start_timeout: float = 30
    call_timeout: float = 120
    operator: bool = False


class McpConnection:
    """One connection: opened once, closed once, never reopened."""

    def __init__(self, name: str, endpoint: McpEndpoint) -> None:
        self._name = name
        self._endpoint = endpoint
        self._stderr = _StderrTail()
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._scope: CancelScope | None = None
        self._client: Client | None = None
        self._auth: LoginAuth | None = None
        self.is_lost = False

    async def open(self) -> None:
        """Starts the program or connects to the address. Raises `McpServerError`."""
        await _import_library()
        ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold(ready), name=f"mcp server {self._name}")
        try:
            async with asyncio.timeout(self._endpoint.start_timeout):
                self._client = await asyncio.shield(ready)
        except TimeoutError as error:
            await self._end()
            waited = f"{self._endpoint.start_timeout:g} seconds"
            raise McpServerError(self._message(f"did not answer within {waited}")) from error
        except asyncio.CancelledError:
            await self._end()
            raise
        except Exception as error:
            await self._end()
            if self._auth is not None and self._auth.problem is not None:
                raise self._auth.problem from error
            failed = "started" if self._endpoint.command else "reached"
            raise McpServerError(
                self._message(f"could not be {failed}: {_reason(error)}")
            ) from error

    async def tools(self) -> "list[Tool]":
        """The tools that the server offers. Raises `McpServerError`."""
        client = self._open_client()
        found: list[Tool] = []
        cursor: str | None = None
        try:
            async with asyncio.timeout(self._endpoint.start_timeout):
                for _ in range(_MAX_PAGES):
                    page = await client.list_tools(cursor=cursor)
                    found += page.tools
                    cursor = page.next_cursor
                    if cursor is None:
                        break
        except Exception as error:
            raise self._error(error, self._endpoint.start_timeout) from error
        return found

    async def call(self, tool: str, arguments: dict[str, Any]) -> "CallToolResult":
        """Runs a tool. Raises `McpConnectionLost` if the connection ended, or `McpServerError`."""
        client = self._open_client()
        timeout = self._endpoint.call_timeout
        try:
            async with asyncio.timeout(timeout):
                return await client.call_tool(tool, arguments)
        except Exception as error:
            raise self._error(error, timeout) from error

    @property
    def notice(self) -> str:
        """What somebody should do about the login, although it works."""
        return self._auth.notice if self._auth is not None else ""

    def without_tokens(self, text: str) -> str:
        """A text of the server, without the tokens that were sent to it."""
        tokens = self._auth.tokens if self._auth is not None else ()
        return mask_secrets(text, tokens) if any(token in text for token in tokens) else text

    async def close(self) -> None:
        """Ends the program, or the session with the server."""
        await self._end()

    async def _hold(self, ready: "asyncio.Future[Client]") -> None:
        from anyio import CancelScope
        from mcp import Client

        if self._stop.is_set():  # it was closed before it was opened
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
            self.is_lost = True
            ready.cancel()

    def _transport(self) -> "Transport":
        return self._program_transport() if self._endpoint.command else self._http_transport()

    @asynccontextmanager
    async def _program_transport(self) -> AsyncGenerator[Any]:
        from mcp import StdioServerParameters, stdio_client

        command, *arguments = self._endpoint.command
        parameters = StdioServerParameters(
            command=command,
            args=arguments,
            env=self._endpoint.env or None,
            cwd=self._endpoint.folder or None,
        )
        with self._stderr.capture() as stderr:
            async with (
                stdio_client(parameters, errlog=stderr) as (reading, writing),
                self._watched(reading) as watched,
            ):
                yield watched, writing

    @asynccontextmanager
    async def _watched(self, reading: Any) -> AsyncGenerator[Any]:
        """Forwards messages and notices when the server closes the stream."""
        import anyio

        send, receive = anyio.create_memory_object_stream[Any](0)

        async def forward() -> None:
            async with send:
                async for message in reading:
                    await send.send(message)
            self.is_lost = True

        async with anyio.create_task_group() as group:
            group.start_soon(forward)
            yield receive
            group.cancel_scope.cancel()

    @asynccontextmanager
    async def _http_transport(self) -> AsyncGenerator[Any]:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        from sapwood.workspace.mcp_client.limited_client import limited_client

        self._auth = self._login_auth()
        # A server may keep a response open as long as the call takes.
        timeout = httpx2.Timeout(self._endpoint.start_timeout, read=self._endpoint.call_timeout + 5)
        async with (
            limited_client(
                max_bytes=_MAX_BYTES,
                headers=self._endpoint.headers,
                timeout=timeout,
                auth=self._auth,
            ) as client,
            streamable_http_client(self._endpoint.url, http_client=client) as streams,
        ):
            yield streams

    def _login_auth(self) -> "LoginAuth | None":
        """What sends the token of a login; None if the configuration has another secret."""
        headers = {name.lower() for name in self._endpoint.headers}
        if "authorization" in headers or urlsplit(self._endpoint.url).username is not None:
            return None
        from sapwood.workspace.mcp_client.login_auth import LoginAuth

        command = f"Type: sapwood mcp login {shlex.quote(self._name)}"
        step = "Ask the operator of Sapwood to log in." if self._endpoint.operator else command
        return LoginAuth(self._name, self._endpoint.url, step)

    def _open_client(self) -> "Client":
        if self._client is None or self.is_lost:
            raise McpConnectionLost(self._message("is not running"), maybe_done=False)
        return self._client

    def _error(self, error: Exception, timeout: float) -> McpServerError:
        from mcp import MCPError
        from mcp.types import CONNECTION_CLOSED, INVALID_REQUEST, PARSE_ERROR, REQUEST_TIMEOUT

        if self._auth is not None and self._auth.problem is not None:
            return self._auth.problem
        if isinstance(error, TimeoutError) or (
            isinstance(error, MCPError) and error.code == REQUEST_TIMEOUT
        ):
            return McpServerError(
                f"MCP server '{self._name}' did not answer within {timeout:g} seconds."
            )
        is_unknown_session = (  # a restarted server refuses calls of an older session
            isinstance(error, MCPError)
            and error.code == INVALID_REQUEST
            and "session" in error.message.lower()
        )
        if (
            isinstance(error, MCPError)
            and error.code != CONNECTION_CLOSED
            and not is_unknown_session
        ):
            # What the library says of an unreadable answer quotes it below the first line.
            text = error.message.partition("\n")[0] if error.code == PARSE_ERROR else error.message
            answer = one_line(self.without_tokens(text), _MAX_ANSWER)
            return McpServerError(f"MCP server '{self._name}' answered: {answer}")
        self.is_lost = True
        return McpConnectionLost(
            self._message(f"ended: {_reason(error)}"), maybe_done=not is_unknown_session
        )

    def _message(self, what: str) -> str:
        last = self._stderr.text
        stderr = f" Its last output: {last}" if last else ""
        return f"MCP server '{self._name}' {what}.{stderr}"

    async def _end(self) -> None:
        """Ends the task that holds the connection, if needed by cancelling it after a while."""
        self._stop.set()
        if self._task is None:
            return
        if self._client is not None:
            await asyncio.wait({self._task}, timeout=_CLOSE_SECONDS)
        if not self._task.done() and self._scope is not None:
            self._scope.cancel()
        await asyncio.shield(self._task)


class _StderrTail:
    """Collects the last lines that a program writes to stderr, to explain why it ended."""

    def __init__(self) -> None:
        self._tail = b""

    @property
    def text(self) -> str:
        """The last lines as one, '' if there are none."""
        lines = self._tail.decode("utf-8", "replace").strip().splitlines()
        return one_line(" ".join(lines[-_STDERR_LINES:]), _STDERR_BYTES)

    @contextmanager
    def capture(self) -> Generator[TextIO]:
        """Yields a file for the program to write to, and collects from it until the end."""
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        loop = asyncio.get_running_loop()
        loop.add_reader(reading, self._read, reading)
        try:
            with os.fdopen(writing, "w") as file:
                yield file
        finally:
            self._read(reading)
            loop.remove_reader(reading)
            os.close(reading)

    def _read(self, descriptor: int) -> None:
        try:
            data = os.read(descriptor, 65_536)
        except BlockingIOError:
            return
        if not data:  # the program closed it
            asyncio.get_running_loop().remove_reader(descriptor)
        self._tail = (self._tail + data)[-_STDERR_BYTES:]


async def _import_library() -> None:
    """Imports the MCP library in a thread, because that takes a while."""
    try:
        await asyncio.to_thread(importlib.import_module, "mcp")
    except ModuleNotFoundError as error:
        raise McpServerError(
            "MCP support is not installed. Type: pip install 'sapwood[mcp]'"
        ) from error


def _reason(error: BaseException) -> str:
    """The message of the first error inside groups of errors."""
    if isinstance(error, BaseExceptionGroup):
        return _reason(cast(BaseExceptionGroup[BaseException], error).exceptions[0])
    from sapwood.workspace.mcp_client.limited_client import HTTP_ERRORS, http_reason

    if isinstance(error, HTTP_ERRORS):
        return http_reason(error)
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{one_line(str(error.filename))}: {error.strerror}"
    # The lines below the first of a message quote what the server has sent.
    first = str(error).strip().partition("\n")[0]
    return one_line(first).rstrip(".") or type(error).__name__
