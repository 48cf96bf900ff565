"""Files over HTTP: uploads, and the files that a conversation has.

An uploaded file is an event of its agent, so every process of every server finds it, and erasing
the conversation erases it. Its id is the SHA-256 of its content: one content is stored once.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Annotated
from urllib.parse import quote

from msgspec import Meta, Struct, structs
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from sapwood.core.commands import AddFile
from sapwood.core.content import File, Note, PromptPart, Text, Thinking, ToolCall
from sapwood.core.events import FileAdded, Recorded, ToolFinished
from sapwood.core.file_part import LARGEST_FILE
from sapwood.core.ids import AgentId, CommandId
from sapwood.core.timeline.row_content import MessageEvent, message_parts
from sapwood_server.access.rate_limit import OpenStreams
from sapwood_server.problems import Problem
from sapwood_server.request_context import Endpoint, QueryParameters, RequestContext, Routes

_SECONDS = 120.0
_AT_ONCE = 4
_MAX_IN_PROMPT = 20
_MAX_NAME = 200
_OF_FORMS = ("", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain")
"""Content types that a page of another origin may send without asking the server first."""
_SHOWN = ("image/gif", "image/jpeg", "image/png", "image/webp")
"""Types that a browser shows in a page; it saves every other file."""
_SANDBOX = "default-src 'none'; sandbox"
_READING = Routes(answers="application/octet-stream")
_AGENT = "/v1/agents/{agent}"


class UploadQuery(QueryParameters, frozen=True):
    """What is said of an upload."""

    name: Annotated[str, Meta(description="The name of the file.")] = ""


class FileFacts(Struct, frozen=True):
    """What is known of a file. Its id is the SHA-256 of its content.

    `width` and `height` are those of an image, `text` is the text that was found in a document.
    """

    id: str
    name: str
    media_type: str
    size: int
    width: int
    height: int
    text: str


class FileUploaded(Struct, frozen=True):
    """A file that prompts of this agent can have."""

    file: FileFacts


def file_endpoints() -> tuple[Endpoint, ...]:
    """The routes of files."""
    uploads = OpenStreams(_AT_ONCE, "uploads are in progress")
    routes = Routes()

    @routes.add(
        "POST",
        f"{_AGENT}/files",
        "write",
        f"Upload a file for a prompt: the body is its content, up to {LARGEST_FILE:,} bytes",
        statuses=(201,),
        takes="application/octet-stream",
    )
    async def upload(call: RequestContext, agent: AgentId, asked: UploadQuery) -> FileUploaded:
        """Stores the body as a file. The same content again gives the first answer."""
        name = asked.name.replace("\\", "/").rpartition("/")[2][:_MAX_NAME]
        uploads.enter(call.principal.id)
        try:
            content = await _content(call.request)
            digest = hashlib.sha256(content).hexdigest()
            file = await asyncio.to_thread(File.of, content, name=name)
            once = _command_id(agent, digest)
            await call.service.dispatch(
                AddFile(agent, file), call.principal.actor, command_id=once, request=once
            )
        finally:
            uploads.leave(call.principal.id)
        return FileUploaded(_facts(digest, file))

    return (*routes.endpoints, *_READING.endpoints)


@_READING.add("GET", f"{_AGENT}/files/{{sha256}}", "read", "Read an uploaded file")
async def show_upload(call: RequestContext, agent: AgentId, sha256: str) -> Response:
    """A file that was uploaded to this agent, by its id."""
    [file] = await named_files(call, agent, [sha256])
    return _file_response(file)


@_READING.add(
    "GET",
    f"{_AGENT}/log/{{version}}/files/{{number}}",
    "read",
    "Read a file attached to an event, counting from 0",
)
async def show_file(call: RequestContext, agent: AgentId, version: str, number: str) -> Response:
    """A file of a prompt, a reply or a tool result."""
    connection = call.space.connection
    if all(each.isascii() and each.isdigit() and len(each) <= 15 for each in (version, number)):
        found = await connection.log.read(connection.space, agent, int(version), int(version))
        files = [file for recorded in found for file in _files(recorded)]
        if int(number) < len(files):
            return _file_response(files[int(number)])
    raise Problem(404, "Unknown file", "This event has no such file.")


async def named_files(
    call: RequestContext, agent: AgentId, wanted: Sequence[str]
) -> tuple[File, ...]:
    """The uploaded files with these ids. Raises `Problem` if one is not there."""
    if len(wanted) > _MAX_IN_PROMPT:
        raise Problem(422, "Too many files", f"A prompt can have up to {_MAX_IN_PROMPT} files.")
    return tuple([await _uploaded(call, agent, each) for each in wanted])


class Upload(Struct, frozen=True, tag="upload"):
    """A file that was uploaded before, in place of its content."""

    id: str
    name: str = ""


GivenPart = Text | Note | File | Upload
"""A part of a prompt."""


async def prompt_parts(
    call: RequestContext, agent: AgentId, given: Sequence[GivenPart]
) -> tuple[PromptPart, ...]:
    """The parts of a prompt, with the content of each file. Raises `Problem`."""
    if sum(not isinstance(part, Text | Note) for part in given) > _MAX_IN_PROMPT:
        raise Problem(422, "Too many files", f"A prompt can have up to {_MAX_IN_PROMPT} files.")
    found: list[PromptPart] = []
    for part in given:
        if isinstance(part, Upload):
            file = await _uploaded(call, agent, part.id)
            found.append(structs.replace(file, name=part.name or file.name))
        else:
            found.append(part)
    return tuple(found)


async def _uploaded(call: RequestContext, agent: AgentId, digest: str) -> File:
    connection = call.space.connection
    command = CommandId(_command_id(agent, digest))
    receipt = await connection.log.receipt(connection.space, command)
    for ref in receipt.events if receipt else ():
        for recorded in await connection.log.read(
            connection.space, agent, ref.version, ref.version
        ):
            if isinstance(recorded.event, FileAdded):
                return recorded.event.file
    raise Problem(
        404,
        "Unknown file",
        f"There is no file '{digest[:64]}'. Upload it first: POST /v1/agents/{agent}/files",
    )


def _command_id(agent: AgentId, digest: str) -> str:
    """The id under which a content is stored, so that it is stored once."""
    whose = f"{agent}\n{digest}"
    return "file-" + hashlib.sha256(whose.encode("utf-8", "surrogatepass")).hexdigest()[:40]


async def _content(request: Request) -> bytes:
    """The body of an upload. Raises `Problem` if it is empty, too large or too slow."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in _OF_FORMS:
        raise Problem(
            415,
            "Unsupported content type",
            "Send the file as Content-Type: application/octet-stream.",
        )
    too_large = Problem(413, "File too large", f"A file can be up to {LARGEST_FILE:,} bytes.")
    said = request.headers.get("content-length", "")
    if said.isascii() and said.isdigit() and int(said[:15]) > LARGEST_FILE:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(_SECONDS):
            async for piece in request.stream():
                body += piece
                if len(body) > LARGEST_FILE:
                    raise too_large
    except TimeoutError:
        raise Problem(
            408, "Body too slow", f"The file did not arrive within {_SECONDS:g} seconds."
        ) from None
    except ClientDisconnect:
        raise Problem(400, "Disconnected", "The file did not arrive.") from None
    if not body:
        raise Problem(422, "Empty file", "The file has no content. Nothing was stored.")
    return bytes(body)


def _files(recorded: Recorded) -> list[File]:
    event = recorded.event
    if isinstance(event, FileAdded):
        return [event.file]
    if isinstance(event, ToolFinished):
        return list(event.files)
    found: list[File] = []
    for part in message_parts(event) if isinstance(event, MessageEvent) else ():
        match part:
            case File():
                found.append(part)
            case Text() | Note() | Thinking() | ToolCall():
                pass
            case _:
                found += part.files
    return found


def _facts(digest: str, file: File) -> FileFacts:
    return FileFacts(
        digest, file.name, file.media_type, file.size, file.width, file.height, file.text
    )


def _file_response(file: File) -> Response:
    """The content, so that a browser runs nothing of it: it shows images and saves the rest."""
    is_shown = file.media_type in _SHOWN
    how = "inline" if is_shown else "attachment"
    name = quote(file.name or "file", safe="")
    headers = {
        "Content-Disposition": f"{how}; filename*=UTF-8''{name}",
        "Content-Security-Policy": _SANDBOX,
        "Cache-Control": "private, max-age=300",
    }
    kind = file.media_type if is_shown else "application/octet-stream"
    return Response(file.content, headers=headers, media_type=kind)
