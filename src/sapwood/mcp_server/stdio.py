"""Serves over standard input and output, to the program that started this one."""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from threading import Thread

from msgspec import UNSET

from sapwood.mcp_server.protocol import Asked, Desk, Wrong, read_message, written

__all__ = ["serve_stdio"]

_PIECE = 64 * 1024


async def serve_stdio(desk: Desk) -> None:
    """Serves until the input ends. Calls run side by side, and can be cancelled."""
    input_, output = sys.stdin.fileno(), sys.stdout.buffer
    sys.stdout = sys.stderr  # nothing else may write between messages
    calls = _Calls(desk, lambda line: (output.write(line), output.flush()))
    try:
        async for line in _lines(input_):
            calls.take(line)
    finally:
        await calls.end()
        sys.stdout = sys.__stdout__


class _Calls:
    """The requests that are being answered."""

    def __init__(self, desk: Desk, write: Callable[[bytes], object]) -> None:
        self._desk = desk
        self._write = write
        self._running: dict[int | str, asyncio.Task[None]] = {}

    def take(self, line: bytes) -> None:
        """Begins to answer a request, or heeds a notification."""
        try:
            asked = read_message(line)
        except Wrong as wrong:
            self._write(written(None, error={"code": wrong.code, "message": str(wrong)}))
            return
        if asked.id is not UNSET and asked.method:
            self._running[asked.id] = asyncio.create_task(self._answer(asked, asked.id))
        elif asked.method == "notifications/cancelled":
            task = self._running.get(asked.params.get("requestId", ""))
            if task is not None:
                task.cancel()

    async def end(self) -> None:
        """Gives up what is not answered yet."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _answer(self, asked: Asked, id: int | str) -> None:
        try:
            self._write(await self._desk.answer(asked))
        finally:
            self._running.pop(id, None)


async def _lines(descriptor: int) -> AsyncGenerator[bytes]:
    """The lines of an input of any kind: a thread reads it, because not all can be waited for."""
    loop = asyncio.get_running_loop()
    read: asyncio.Queue[bytes] = asyncio.Queue()

    def reading() -> None:
        with suppress(RuntimeError):  # nobody listens any more
            piece = b"-"
            while piece:
                piece = os.read(descriptor, _PIECE)
                loop.call_soon_threadsafe(read.put_nowait, piece)

    Thread(target=reading, daemon=True, name="stdin").start()
    pieces: list[bytes] = []
    while piece := await read.get():
        *ended, rest = piece.split(b"\n")
        for line in ended:
            if whole := b"".join((*pieces, line)).strip():
                yield whole
            pieces.clear()
        pieces.append(rest)
