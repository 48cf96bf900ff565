"""Serves MCP over standard input and output, to the program that started this one."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from threading import Thread

from msgspec import UNSET

from sapwood.mcp_server.mcp_messages import (
    ClientMessage,
    McpResponder,
    ProtocolError,
    parse_message,
    response_line,
)

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
