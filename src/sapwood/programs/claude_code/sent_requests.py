"""The requests that Claude Code sent to its model, rebuilt from its transcript.

Claude Code stores each request as hashes: that of the system prompt and the tools, and one for each
message. A request repeats the first `keep` hashes of the request that it is based on. A message is
stored in a row of its own if no other row of the transcript contains it as it was sent. So a
rebuilt message is exactly what was sent: its hash says so.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from sapwood.core.content import Text, ToolCall
from sapwood.core.view.request import Block as SystemBlock
from sapwood.core.view.request import Message as SentMessage
from sapwood.core.view.request import MessagePart, Request, ToolResult
from sapwood.programs.claude_code.rows import ClaudeBlock, parts_of, text_of
from sapwood.programs.transcripts.row_file import RowFile, row_decoder
from sapwood.programs.transcripts.sent_requests import RebuiltRequest, SentRequest, SentRequests
from sapwood.programs.transcripts.transcript_events import microseconds

_REQUEST = b'"api-request"'
_BLOB = b'"api-request-blob"'
_SHAPE = b'"api-request-shape"'
_MESSAGES = (b'"user"', b'"assistant"')
_HEAD = 400
"""The type of a row is among its first bytes."""


class _Params(Struct, gc=False):
    model: str = ""


class _RequestRow(Struct, rename="camel", gc=False):
    type: str = ""
    id: str = ""
    timestamp: str | None = None
    params: _Params | None = None
    shape_hash: str = ""
    base: str | None = None
    keep: int = 0
    tail: list[str] = []
    request_digest: str = ""


class _PartRow(Struct, gc=False):
    type: str = ""
    message: dict[str, Any] | None = None
    shape: dict[str, Any] | None = None


class _Message(Struct, gc=False):
    role: str = ""
    content: str | list[ClaudeBlock] | None = None


_decode_request = row_decoder(_RequestRow)
_decode_part = row_decoder(_PartRow)
_decode_message = row_decoder(_Message)


def sent_requests(path: Path) -> list[SentRequest]:
    """The requests of a transcript, oldest first. Raises `OSError` if it cannot be read."""
    found: list[SentRequest] = []
    hashes: dict[str, tuple[str, ...]] = {}
    for row in _rows(path, (_REQUEST,)):
        decoded = _decode_request(row)
        if decoded is None or decoded.type != "api-request":
            continue
        base = hashes.get(decoded.base or "", ())
        messages = hashes[decoded.id] = (*base[: decoded.keep], *decoded.tail)
        if not messages:
            continue  # a version that did not store the messages
        found.append(
            SentRequest(
                len(found) + 1,
                microseconds(decoded.timestamp),
                decoded.params.model if decoded.params else "",
                decoded.request_digest,
                decoded.shape_hash,
                messages,
            )
        )
    return found


def rebuild_request(path: Path, sent: SentRequest) -> RebuiltRequest:
    """The request with its texts. Every part is found by its hash, which is computed again."""
    wanted = {sent.shape, *sent.messages}
    parts = {digest: part for digest, part in _hashed_parts(path) if digest in wanted}
    names: dict[str, str] = {}
    messages = [_message(parts[digest], names) for digest in sent.messages if digest in parts]
    shape = parts.get(sent.shape, {})
    request = Request(sent.model, tuple(_system(shape)), tuple(messages))
    return RebuiltRequest(request, len(wanted - parts.keys()))


def _rows(path: Path, types: Iterable[bytes]) -> Iterator[bytes]:
    """The rows that have one of these types among their first bytes."""
    for row, _ in RowFile(path).read(rest=True):
        head = row[:_HEAD]
        if any(each in head for each in types):
            yield row


def _hashed_parts(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every part of a request that the transcript has, with its hash.

    A reply may be in several rows, one for each of its blocks; it is sent as one message.
    """
    reply, blocks = "", list[Any]()
    for row in _rows(path, (_BLOB, _SHAPE, *_MESSAGES)):
        decoded = _decode_part(row) or _PartRow()
        message = decoded.message or {}
        content = message.get("content")
        if decoded.type == "api-request-shape" and decoded.shape:
            yield _hash(decoded.shape), decoded.shape
        elif content is None:
            continue
        elif decoded.type == "api-request-blob":
            yield _hash(_normal(message)), message
        elif decoded.type == "user":
            said = {"role": message.get("role"), "content": content}
            yield _hash(_normal(said)), said
        elif decoded.type == "assistant" and isinstance(content, list):
            id = str(message.get("id", ""))
            blocks = [*(blocks if id == reply else ()), *cast("list[Any]", content)]
            reply = id
            said = {"role": "assistant", "content": blocks}
            yield _hash(said), said


def _normal(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """The message as Claude Code hashes it: a text is a list with one block."""
    if not isinstance(message["content"], str):
        return message
    return {**message, "content": [{"type": "text", "text": message["content"]}]}


def _hash(value: Mapping[str, Any]) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _system(shape: Mapping[str, Any]) -> Iterator[SystemBlock]:
    """The system prompt, and the names of the tools."""
    for block in shape.get("system", ()):
        yield SystemBlock("system", "", str(block.get("text", "")))
    tools = [str(tool.get("name", "")) for tool in shape.get("tools", ())]
    if tools:
        yield SystemBlock("system", "", f"[Tools: {', '.join(tools)}]")


def _message(found: Mapping[str, Any], names: dict[str, str]) -> SentMessage:
    """A message in our form. `names` are the tools of the calls so far."""
    decoded = _decode_message(msgspec.json.encode(found)) or _Message()
    if decoded.role == "assistant":
        parts = parts_of(decoded.content)
        names.update({part.id: part.name for part in parts if isinstance(part, ToolCall)})
        return SentMessage("assistant", tuple(parts))
    said = list[MessagePart]()
    blocks = decoded.content
    for block in [ClaudeBlock("text", blocks)] if isinstance(blocks, str) else blocks or ():
        if block.type == "tool_result":
            call = block.tool_use_id or ""
            failed = bool(block.is_error)
            said.append(ToolResult(call, names.get(call, ""), text_of(block.content), failed))
        elif words := text_of([block]):
            said.append(Text(words if decoded.role == "user" else f"[{decoded.role}] {words}"))
    return SentMessage("user", tuple(said))


SENT_REQUESTS = SentRequests(sent_requests, rebuild_request)
