"""Parses and answers MCP messages for a server of tools and prompts. No I/O.

Does not use the `mcp` library: programs start their servers with every session, and importing the
library takes longer than everything else together.

Serves MCP over standard input and output, to the program that started this one.
"""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from importlib.metadata import version
from threading import Thread
from typing import Any, Protocol

import msgspec
from msgspec import UNSET, Struct, UnsetType

from sapwood.core.model_calls import ToolOutcome
from sapwood.mcp_server.catalog import PromptEntry, ToolEntry

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The supported versions of the protocol, the newest first. Our messages are equal in all."""

_PARSE_ERROR, _NO_METHOD, _BAD_PARAMS = -32700, -32601, -32602


class ClientMessage(Struct, frozen=True):
    """A message from the client: a request if it has an id, else a notification."""

    method: str = ""
    id: int | str | UnsetType = UNSET
    params: dict[str, Any] = {}


class ProtocolError(Exception):
    """An invalid request, with its JSON-RPC error code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def parse_message(line: bytes) -> ClientMessage:
    """Parses a line. Raises `ProtocolError` if it is not a message."""
    try:
        return msgspec.json.decode(line, type=ClientMessage)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(_PARSE_ERROR, f"Not a valid message: {error}") from error


def response_line(id: int | str | None, **outcome: Any) -> bytes:
    """Returns the line of a response with `result=` or `error=`."""
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id, **outcome}) + b"\n"


class ToolCatalog(Protocol):
    """Tools and prompts, and what a client is told of them."""

    instructions: str

    def tools(self) -> list[ToolEntry]:
        """All tools."""
        ...

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolOutcome:
        """Calls a tool and returns its answer. An error is an answer too."""
        ...

    def prompts(self) -> list[PromptEntry]:
        """All prompts."""
        ...

    def prompt(self, name: str, arguments: dict[str, str]) -> str | None:
        """The text of a prompt; None if there is no such prompt."""
        ...


class McpResponder:
    """Answers requests from a catalog."""

    def __init__(self, catalog: ToolCatalog) -> None:
        self._catalog = catalog

    async def answer(self, message: ClientMessage) -> bytes:
        """Returns the response line to a request."""
        assert message.id is not UNSET
        try:
            return response_line(
                message.id, result=await self._result(message.method, message.params)
            )
        except ProtocolError as error:
            return response_line(message.id, error={"code": error.code, "message": str(error)})

    async def _result(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        match method:
            case "initialize":
                return _initialize_result(params, self._catalog.instructions)
            case "ping":
                return {}
            case "tools/list":
                return {"tools": [_tool(each) for each in self._catalog.tools()]}
            case "tools/call":
                return await self._call_tool(params)
            case "prompts/list":
                return {"prompts": [msgspec.to_builtins(each) for each in self._catalog.prompts()]}
            case "prompts/get":
                return self._get_prompt(params)
            case _:
                raise ProtocolError(_NO_METHOD, f"There is no method '{method[:60]}' here.")

    async def _call_tool(self, params: dict[str, Any]) -> dict[str, Any]:
        name, arguments = _name_and_arguments(params)
        outcome = await self._catalog.call(name, arguments)
        return {"content": [_text(outcome.content)], "isError": outcome.error}

    def _get_prompt(self, params: dict[str, Any]) -> dict[str, Any]:
        name, arguments = _name_and_arguments(params)
        text = self._catalog.prompt(name, {key: str(each) for key, each in arguments.items()})
        if text is None:
            raise ProtocolError(_BAD_PARAMS, f"There is no prompt '{name[:60]}'.")
        return {"messages": [{"role": "user", "content": _text(text)}]}


class _NamedCall(Struct):
    name: str
    arguments: dict[str, Any] | None = None


def _name_and_arguments(params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    try:
        named = msgspec.convert(params, _NamedCall)
    except msgspec.ValidationError as error:
        raise ProtocolError(_BAD_PARAMS, str(error)) from error
    return named.name, named.arguments or {}


def _initialize_result(params: dict[str, Any], instructions: str) -> dict[str, Any]:
    wanted = params.get("protocolVersion")
    return {
        "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
        "capabilities": {"tools": {}, "prompts": {}},
        "serverInfo": {"name": "sapwood", "title": "Sapwood", "version": version("sapwood")},
        "instructions": instructions,
    }


def _tool(entry: ToolEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "title": entry.title,
        "description": entry.description,
        "inputSchema": entry.schema,
        "annotations": {"destructiveHint": entry.destructive, "openWorldHint": False},
    }


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


_PIECE = 64 * 1024


async def serve_stdio(responder: McpResponder) -> None:
    """Serves until the input ends. Calls run concurrently and can be cancelled."""
    input_, output, before = sys.stdin.fileno(), sys.stdout.buffer, sys.stdout
    sys.stdout = sys.stderr  # nothing else may write to stdout
    calls = _RunningCalls(responder, lambda line: (output.write(line), output.flush()))
    try:
        async for line in _lines(input_):
            calls.receive(line)
    finally:
        await calls.cancel_all()
        sys.stdout = before


class _RunningCalls:
    """The requests that are being answered."""

    def __init__(self, responder: McpResponder, write: Callable[[bytes], object]) -> None:
        self._responder = responder
        self._write = write
        self._running: dict[int | str, asyncio.Task[None]] = {}

    def receive(self, line: bytes) -> None:
        """Starts to answer a request, or handles a notification."""
        try:
            message = parse_message(line)
        except ProtocolError as error:
            self._write(response_line(None, error={"code": error.code, "message": str(error)}))
            return
        if message.id is not UNSET and message.method:
            self._running[message.id] = asyncio.create_task(self._answer(message, message.id))
        elif message.method == "notifications/cancelled":
            task = self._running.get(message.params.get("requestId", ""))
            if task is not None:
                task.cancel()

    async def cancel_all(self) -> None:
        """Cancels the requests that are not answered yet."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _answer(self, message: ClientMessage, id: int | str) -> None:
        try:
            self._write(await self._responder.answer(message))
        finally:
            self._running.pop(id, None)


async def _lines(descriptor: int) -> AsyncGenerator[bytes]:
    """Yields the lines of an input. A thread reads it, because not every input can be polled."""
    loop = asyncio.get_running_loop()
    read: asyncio.Queue[bytes] = asyncio.Queue()

    def read_input() -> None:
        with suppress(RuntimeError):  # the loop is closed
            piece = b"-"
            while piece:
                piece = os.read(descriptor, _PIECE)
                loop.call_soon_threadsafe(read.put_nowait, piece)

    Thread(target=read_input, daemon=True, name="stdin").start()
    pieces: list[bytes] = []
    while piece := await read.get():
        *ended, rest = piece.split(b"\n")
        for line in ended:
            if whole := b"".join((*pieces, line)).strip():
                yield whole
            pieces.clear()
        pieces.append(rest)
