"""A model server for one probe: fixed answers on loopback, and a record of the requests.

It speaks the streams of the Anthropic Messages API and of the OpenAI Responses API, and never calls
a tool. Its address contains a secret, so that no other process of the machine can take part.
"""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any  # requests are JSON

import msgspec

_HOST = "127.0.0.1"
_MAX_BODY = 8 * 1024 * 1024
_MAX_REQUESTS = 200
_MAX_LINES = 200
_MODEL = "probe-model"
_USAGE = {"input_tokens": 100, "output_tokens": 1}


class ModelServer:
    """The running server. `requests` are the bodies that asked for an answer, in order."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.answer = "ok"
        """The text of every answer until it is changed."""
        self.key = f"sk-ant-probe-{secrets.token_hex(16)}"
        self._secret = secrets.token_hex(16)
        self._port = 0

    @property
    def url(self) -> str:
        """The address of the API, without `/v1`."""
        return f"http://{_HOST}:{self._port}/{self._secret}"

    @classmethod
    @asynccontextmanager
    async def running(cls) -> AsyncGenerator["ModelServer"]:
        """A server on a free port, which is closed at the end."""
        server = cls()
        listener = await asyncio.start_server(server._serve, _HOST, 0)
        server._port = listener.sockets[0].getsockname()[1]
        try:
            yield server
        finally:
            listener.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ValueError, asyncio.IncompleteReadError):
            method, target, headers = await _read_head(reader)
            body = await _read_body(reader, headers)
            writer.write(self._response(method, target, body))
            await writer.drain()
        writer.close()

    def _response(self, method: str, target: str, body: bytes) -> bytes:
        prefix, _, path = target.partition("?")[0].removeprefix("/").partition("/")
        if not secrets.compare_digest(prefix.encode(), self._secret.encode()):
            return _http("404 Not Found", b"{}")
        if path == "v1/messages/count_tokens":
            return _http("200 OK", msgspec.json.encode({"input_tokens": 100}))
        events = {"v1/messages": _messages_events, "v1/responses": _responses_events}.get(path)
        if method != "POST" or events is None:
            return _http("404 Not Found", b"{}")
        if len(self.requests) >= _MAX_REQUESTS:
            return _http("429 Too Many Requests", b"{}")
        request = msgspec.json.decode(body, type=dict[str, Any])
        self.requests.append(request)
        if not request.get("stream"):
            return _http("200 OK", msgspec.json.encode(_whole_message(self.answer)))
        stream = b"".join(
            f"event: {event['type']}\n".encode() + b"data: " + msgspec.json.encode(event) + b"\n\n"
            for event in events(self.answer)
        )
        return _http("200 OK", stream, "text/event-stream")


async def _read_head(reader: asyncio.StreamReader) -> tuple[str, str, Mapping[str, str]]:
    method, target, _ = (await reader.readline()).decode("latin-1").split(" ", 2)
    headers: dict[str, str] = {}
    for _ in range(_MAX_LINES):
        line = (await reader.readline()).decode("latin-1").strip()
        if not line:
            return method, target, headers
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    raise ValueError("too many headers")


async def _read_body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.readexactly(_allowed(int(headers.get("content-length", "0"))))
    body = b""
    while size := int((await reader.readline()).split(b";")[0], 16):
        _allowed(len(body) + size)
        body += await reader.readexactly(size)
        await reader.readline()
    return body


def _allowed(size: int) -> int:
    if not 0 <= size <= _MAX_BODY:
        raise ValueError("the body is too large")
    return size


def _http(status: str, body: bytes, kind: str = "application/json") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n"
    return head.encode() + b"connection: close\r\n\r\n" + body


def _whole_message(text: str) -> dict[str, object]:
    return {
        "id": f"msg_{secrets.token_hex(8)}",
        "type": "message",
        "role": "assistant",
        "model": _MODEL,
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": _USAGE,
    }


def _messages_events(text: str) -> Iterator[dict[str, object]]:
    empty = {**_whole_message(text), "content": list[object](), "stop_reason": None}
    yield {"type": "message_start", "message": empty}
    block = {"type": "text", "text": ""}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    delta = {"type": "text_delta", "text": text}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": _USAGE}
    yield {"type": "message_stop"}


def _responses_events(text: str) -> Iterator[dict[str, object]]:
    response = {"id": f"resp_{secrets.token_hex(8)}", "object": "response", "model": _MODEL}
    item = {"type": "message", "id": f"msg_{secrets.token_hex(8)}", "role": "assistant"}
    content = [{"type": "output_text", "text": text, "annotations": list[object]()}]
    done = {**item, "status": "completed", "content": content}
    empty = {**item, "status": "in_progress", "content": list[object]()}
    yield {"type": "response.created", "response": {**response, "status": "in_progress"}}
    yield {"type": "response.output_item.added", "output_index": 0, "item": empty}
    place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
    yield {"type": "response.output_text.delta", **place, "delta": text}
    yield {"type": "response.output_item.done", "output_index": 0, "item": done}
    usage = {**_USAGE, "total_tokens": sum(_USAGE.values())}
    completed = {**response, "status": "completed", "output": [done], "usage": usage}
    yield {"type": "response.completed", "response": completed}
