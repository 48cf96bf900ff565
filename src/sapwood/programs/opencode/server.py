"""A client of `opencode serve`: HTTP on loopback with a password of its own, and its event stream.

The server is a process of its own group, and is killed with everything that it started. It does not
read its standard input, so a small process beside it does: when Sapwood ends, however it ends, the
input is closed, and that process kills the group.
"""

import asyncio
import base64
import contextlib
import os
import re
import secrets
import signal
from collections.abc import AsyncIterator, Mapping
from typing import Any  # answers are JSON

import msgspec

from sapwood.programs.transcripts.row_file import decode_json

_HOST = "127.0.0.1"
_START_SECONDS = 90.0
_ANSWER_SECONDS = 120.0
_LIMIT = 256 * 1024 * 1024
"""Bytes of one line of the event stream: a whole part of a message is in it."""
_ADDRESS = re.compile(rb"listening on http://[^:/\s]+:(\d+)")


_ENDS_WITH_US = 'exec 3<&0; (cat <&3; kill -KILL 0) >/dev/null 2>&1 & exec "$@" </dev/null 3<&-'


class OpencodeEnded(Exception):
    """The server ended, or did not answer in time."""


class OpencodeRefused(Exception):
    """The server answered a request with an error. `status` is that of HTTP."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class OpencodeServer:
    """A running server."""

    def __init__(self, process: asyncio.subprocess.Process, port: int, password: str) -> None:
        self._process = process
        self._port = port
        token = base64.b64encode(f"opencode:{password}".encode()).decode()
        self._authorization = f"Basic {token}"
        self._drain: asyncio.Task[None] | None = None

    @classmethod
    async def start(
        cls, program: str, folder: str, environment: Mapping[str, str]
    ) -> "OpencodeServer":
        """Starts a server and waits until it listens. Raises `OSError`, `OpencodeEnded`."""
        password = secrets.token_hex(24)
        process = await asyncio.create_subprocess_exec(
            *("/bin/sh", "-c", _ENDS_WITH_US, "sh"),
            *(program, "serve", "--hostname", _HOST, "--port", "0"),
            cwd=folder,
            env={**environment, "OPENCODE_SERVER_PASSWORD": password},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        server = cls(process, 0, password)
        try:
            async with asyncio.timeout(_START_SECONDS):
                server._port = await server._listening()
        except TimeoutError:
            await server.kill()
            raise OpencodeEnded(f"opencode did not start in {_START_SECONDS:g} seconds.") from None
        except BaseException:
            await server.kill()
            raise
        server._drain = asyncio.create_task(server._drain_output())
        return server

    @property
    def is_running(self) -> bool:
        """Whether the process runs."""
        return self._process.returncode is None

    @property
    def pid(self) -> int:
        """The id of the process, which is also that of its group."""
        return self._process.pid

    async def call(self, method: str, path: str, body: object = None) -> Any:
        """The answer to a request. Raises `OpencodeRefused`, `OpencodeEnded`."""
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                status, content = await self._request(method, path, body)
        except TimeoutError:
            raise OpencodeEnded(f"opencode did not answer {method} {path}.") from None
        except (OSError, ValueError, asyncio.IncompleteReadError) as error:
            raise OpencodeEnded(f"opencode ended unexpectedly ({error}).") from error
        if status >= 400:
            words = content.decode("utf-8", "replace")[:500]
            raise OpencodeRefused(status, f"opencode refused {method} {path} ({status}): {words}")
        return decode_json(content, object) if content.strip() else None

    async def events(self) -> AsyncIterator[bytes]:
        """What happens in the server, as JSON, from the moment of the first value on.

        The first value says that the stream is open. Raises `OpencodeEnded` when it ends.
        """
        try:
            reader, writer = await self._connect()
            try:
                await self._send(writer, "GET", "/event", None)
                status, headers = await _read_head(reader)
                if status != 200:
                    raise OpencodeEnded(f"opencode has no event stream ({status}).")
                rest = b""
                async for piece in _pieces(reader, headers):
                    *lines, rest = (rest + piece).split(b"\n")
                    for line in lines:
                        if line.startswith(b"data:"):
                            yield line[5:].strip()
            finally:
                writer.close()
        except (OSError, ValueError, asyncio.IncompleteReadError) as error:
            raise OpencodeEnded(f"opencode ended unexpectedly ({error}).") from error
        raise OpencodeEnded("opencode exited in the middle of a turn.")

    async def close(self, seconds: float = 3.0) -> None:
        """Asks the server to end; kills it and its children after some seconds."""
        if self.is_running:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._process.wait()
        await self.kill()

    async def kill(self) -> None:
        """Kills the server and everything in its process group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        if self._drain is not None:
            self._drain.cancel()
            await asyncio.gather(self._drain, return_exceptions=True)

    async def _listening(self) -> int:
        """The port, which the server prints when it is ready."""
        assert self._process.stdout is not None
        words: list[str] = []
        while line := await self._process.stdout.readline():
            if found := _ADDRESS.search(line):
                return int(found[1])
            words.append(line.decode("utf-8", "replace").strip())
        raise OpencodeEnded(f"opencode exited immediately: {' '.join(words[-3:])[:500]}")

    async def _drain_output(self) -> None:
        assert self._process.stdout is not None
        while await self._process.stdout.read(1 << 16):
            pass

    async def _request(self, method: str, path: str, body: object) -> tuple[int, bytes]:
        reader, writer = await self._connect()
        try:
            await self._send(writer, method, path, body)
            status, headers = await _read_head(reader)
            return status, b"".join([piece async for piece in _pieces(reader, headers)])
        finally:
            writer.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(_HOST, self._port, limit=_LIMIT)

    async def _send(
        self, writer: asyncio.StreamWriter, method: str, path: str, body: object
    ) -> None:
        data = b"" if body is None else msgspec.json.encode(body)
        head = (
            f"{method} {path} HTTP/1.1\r\nhost: {_HOST}:{self._port}\r\nconnection: close\r\n"
            f"authorization: {self._authorization}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(data)}\r\n\r\n"
        )
        writer.write(head.encode() + data)
        await writer.drain()


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, Mapping[str, str]]:
    status = int((await reader.readline()).split(b" ")[1])
    headers: dict[str, str] = {}
    while line := (await reader.readline()).strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip().lower()
    return status, headers


async def _pieces(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> AsyncIterator[bytes]:
    """The body of an answer as it comes."""
    if "chunked" in headers.get("transfer-encoding", ""):
        while size := int((await reader.readline()).split(b";")[0] or b"0", 16):
            yield await reader.readexactly(size)
            await reader.readline()
    elif (length := headers.get("content-length")) is not None:
        yield await reader.readexactly(int(length))
    else:
        while piece := await reader.read(1 << 16):
            yield piece
