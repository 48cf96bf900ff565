"""A client of `codex app-server`: one JSON object a line on its standard input and output.

The server is a process of its own group. It ends when its input is closed, and is killed if it does
not end in time.
"""

import asyncio
import contextlib
import itertools
import os
import signal
from collections import deque
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

_CLIENT = {"name": "sapwood", "title": "Sapwood", "version": "1"}
_ANSWER_SECONDS = 60.0
_READ = 1 << 18
_STDERR_LINES = 20
_SECONDS_FOR_ERRORS = 1.0
"""How long the end of the output waits for the end of the error output, which says why."""
_NO_SUCH_METHOD = -32601


class CodexRefused(Exception):
    """The server answered a request with an error."""

    def __init__(self, method: str, message: str) -> None:
        super().__init__(message)
        self.method = method


class CodexEnded(Exception):
    """The server ended, or did not answer in time. The message has its last words."""


class Notification(Struct, frozen=True):
    """Something that happened in the server."""

    method: str
    params: Raw


class ServerRequest(Struct, frozen=True):
    """A question of the server. It waits for the answer."""

    id: int | str
    method: str
    params: Raw


class _ServerError(Struct):
    message: str = ""


class _Message(Struct):
    id: int | str | None = None
    method: str = ""
    params: Raw = Raw(b"{}")
    result: Raw = Raw(b"null")
    error: _ServerError | None = None


_decode = msgspec.json.Decoder(_Message).decode


class AppServer:
    """A running server. `events` are its notifications and questions; None comes last."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._output_ended = False
        self._numbers = itertools.count(1)
        self._waiting: dict[int | str, asyncio.Future[Raw]] = {}
        self._methods: dict[int | str, str] = {}
        self._last_words: deque[str] = deque(maxlen=_STDERR_LINES)
        self.events: asyncio.Queue[Notification | ServerRequest | None] = asyncio.Queue()
        self._tasks = [
            asyncio.create_task(self._read()),
            asyncio.create_task(self._read_stderr()),
        ]

    @classmethod
    async def start(cls, program: str, folder: str, environment: Mapping[str, str]) -> "AppServer":
        """Starts the server and greets it. Raises `OSError`, `CodexEnded`, `CodexRefused`."""
        process = await asyncio.create_subprocess_exec(
            program,
            "app-server",
            cwd=folder,
            env=dict(environment),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        server = cls(process)
        try:
            capabilities = {"experimentalApi": True}
            await server.call("initialize", clientInfo=_CLIENT, capabilities=capabilities)
            server.send({"method": "initialized", "params": {}})
        except BaseException:
            await server.kill()
            raise
        return server

    @property
    def is_running(self) -> bool:
        """Whether the process runs."""
        return self._process.returncode is None

    @property
    def pid(self) -> int:
        """The id of the process, which is also that of its group."""
        return self._process.pid

    def send(self, message: Mapping[str, object]) -> None:
        """Sends a line. Raises `CodexEnded`."""
        stdin = self._process.stdin
        # Its output can be at the end before the system reports that the process has ended.
        if stdin is None or stdin.is_closing() or self._output_ended or not self.is_running:
            raise CodexEnded(self._end_message())
        stdin.write(msgspec.json.encode(message) + b"\n")

    async def call(self, method: str, **params: object) -> Any:
        """Calls a method and returns its result. Raises `CodexRefused`, `CodexEnded`."""
        return msgspec.json.decode(await self.call_raw(method, params))

    async def call_raw(self, method: str, params: Mapping[str, object]) -> Raw:
        """Calls a method and returns its result as bytes. A `Raw` parameter is sent as it is."""
        number = next(self._numbers)
        answer: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        self._methods[number] = method
        try:
            if not self.is_running:
                await asyncio.wait(self._tasks, timeout=_SECONDS_FOR_ERRORS)
            self.send({"id": number, "method": method, "params": params})
            async with asyncio.timeout(_ANSWER_SECONDS):
                return await answer
        except TimeoutError:
            raise CodexEnded(
                f"Codex did not answer '{method}' within {_ANSWER_SECONDS:g} seconds."
            ) from None
        finally:
            self._waiting.pop(number, None)
            self._methods.pop(number, None)

    def answer(self, request: int | str, result: Mapping[str, object]) -> None:
        """Answers a question of the server."""
        self.send({"id": request, "result": result})

    def refuse(self, request: int | str, reason: str) -> None:
        """Answers a question that this client does not know."""
        self.send({"id": request, "error": {"code": _NO_SUCH_METHOD, "message": reason}})

    async def close(self, seconds: float = 1.5) -> None:
        """Ends the server by closing its input; kills it and its children after some seconds."""
        stdin = self._process.stdin
        if stdin is not None:
            with contextlib.suppress(OSError, RuntimeError):
                stdin.close()
        if self.is_running and seconds:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._process.wait()
        await self.kill()

    async def kill(self) -> None:
        """Kills the server and everything in its process group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._fail_waiting()

    async def _read(self) -> None:
        """Takes in lines of any length until the server closes its output."""
        stdout = self._process.stdout
        assert stdout is not None
        rest = bytearray()
        try:
            while data := await stdout.read(_READ):
                rest += data
                if b"\n" not in data:
                    continue
                *lines, last = bytes(rest).split(b"\n")
                rest = bytearray(last)
                for line in lines:
                    self._take(line)
            await asyncio.wait(self._tasks[1:], timeout=_SECONDS_FOR_ERRORS)
        finally:
            self._output_ended = True
            self._fail_waiting()
            self.events.put_nowait(None)

    def _take(self, line: bytes) -> None:
        try:
            message = _decode(line)
        except msgspec.MsgspecError:
            return
        if message.method:
            params = Raw(bytes(message.params))
            if message.id is None:
                self.events.put_nowait(Notification(message.method, params))
            else:
                self.events.put_nowait(ServerRequest(message.id, message.method, params))
        elif message.id is not None and (waiting := self._waiting.get(message.id)) is not None:
            if waiting.done():
                return
            if message.error is not None:
                method = self._methods.get(message.id, "")
                waiting.set_exception(CodexRefused(method, message.error.message))
            else:
                waiting.set_result(Raw(bytes(message.result)))

    async def _read_stderr(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None
        rest = b""
        while data := await stderr.read(_READ):
            *lines, rest = (rest + data[-_READ:]).split(b"\n")
            rest = rest[-_READ:]
            self._last_words.extend(line.decode("utf-8", "replace")[:500] for line in lines)

    def _fail_waiting(self) -> None:
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(CodexEnded(self._end_message()))

    def _end_message(self) -> str:
        words = " ".join(line.strip() for line in list(self._last_words)[-3:] if line.strip())
        return f"Codex ended unexpectedly{f': {words[:500]}' if words else '.'}"
