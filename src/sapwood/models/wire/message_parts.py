"""What the conversion of messages has in common in every wire format.

Thinking is left out if it came from another provider, has no signature, or has nothing after it:
the provider would treat it as plain text or refuse it. Nothing else is left out or invented.
"""

import hashlib
import re
from collections.abc import Mapping

import msgspec
from msgspec import Raw

from sapwood.core.content import File, Text, Thinking
from sapwood.core.view import Message, Request, ToolResult
from sapwood.core.view.request import MessagePart, SignedSummary
from sapwood.models.model_routes import ModelRoute, Wire
from sapwood.models.wire.chat_thinking import decode_chat_thinking

NO_TEXT = "[no words]"
"""Replaces a message that has no content left."""

_EMPTY = "[empty]"
_ERROR = "[error]\n"
_INVALID = "INVALID_JSON"
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_TAKEN: Mapping[Wire, frozenset[str]] = {
    "messages": _IMAGES | {"application/pdf"},
    "responses": _IMAGES | {"application/pdf"},
    "chat": _IMAGES | {"audio/wav", "audio/mpeg"},
    "gemini": (_IMAGES - {"image/gif"})
    | {"application/pdf", "audio/wav", "audio/mpeg", "video/mp4", "image/heic", "image/heif"},
}
"""The types of files that each wire format takes."""
_FLAGS_ERRORS: frozenset[Wire] = frozenset({"messages", "gemini"})

_arguments = msgspec.json.Decoder(dict[str, object])


def user_content(message: Message, wire: Wire) -> list[str | File]:
    """The texts and files of a user's message, without its tool results but with their files."""
    content: list[str | File] = []
    for part in message.parts:
        if isinstance(part, Text) and part.text.strip():
            content.append(part.text)
        elif isinstance(part, File):
            content.append(file_or_text(part, wire))
        elif isinstance(part, ToolResult):
            for file in part.files:
                content.append(f"[Returned by {part.name}, call {call_id(part.call)}]")
                content.append(file_or_text(file, wire))
    if not content and not any(isinstance(part, ToolResult) for part in message.parts):
        return [NO_TEXT]
    return content


def without_signed_summary(request: Request) -> Request:
    """The request with its summary as text, which every provider takes; itself if it has none."""
    first = next(iter(request.messages), None)
    if first is None or not first.parts or not isinstance(first.parts[0], SignedSummary):
        return request
    parts = (Text(first.parts[0].text), *first.parts[1:])
    messages = (Message("user", parts), *request.messages[1:])
    return Request(request.model, request.system, messages)


def file_or_text(file: File, wire: Wire) -> str | File:
    """The file if the provider takes it; else its text, or a line that says it was not sent."""
    if file.media_type in _TAKEN[wire]:
        return file
    if words := file.words:
        return f"{file.text}\n{words}"
    return f"{file.text} It was not sent: this provider takes no files of this type."


def result_text(result: ToolResult, wire: Wire) -> str:
    """The text of a tool result, marked as an error if the wire format has no field for that."""
    content = result.content or _EMPTY
    return _ERROR + content if result.error and wire not in _FLAGS_ERRORS else content


def model_parts(message: Message, route: ModelRoute) -> list[MessagePart]:
    """The parts of a model's message that are sent back to the provider of the route."""
    parts = list(message.parts)
    while route.wire != "chat" and parts and isinstance(parts[-1], Thinking):
        parts.pop()
    sent: list[MessagePart] = []
    for part in parts:
        if isinstance(part, Thinking):
            if is_own_thinking(part, route):
                sent.append(part)
        elif isinstance(part, File):  # no provider takes files in messages of the model
            sent.append(Text(part.text))
        elif not isinstance(part, Text) or part.text.strip():
            sent.append(part)
    if all(isinstance(part, Thinking) for part in sent):
        sent.append(Text(NO_TEXT))
    return sent


def is_own_thinking(part: Thinking, route: ModelRoute) -> bool:
    """Whether the thinking goes back to this provider: it signed it."""
    if part.provider != route.provider or not part.signature:
        return False
    return route.wire != "chat" or decode_chat_thinking(part.signature) is not None


def arguments_object(args: str) -> Raw:
    r"""The arguments as an object, which every provider accepts, even if they are not valid JSON.

    >>> bytes(arguments_object('{"city": "Oslo"}')), bytes(arguments_object('{"city": "Os'))
    (b'{"city": "Oslo"}', b'{"INVALID_JSON":"{\\"city\\": \\"Os"}')
    """
    if not args.strip():
        return Raw(b"{}")
    try:
        _arguments.decode(args)
    except (msgspec.DecodeError, RecursionError):
        return Raw(msgspec.json.encode({_INVALID: args}))
    return Raw(args.encode())


def call_id(id: str) -> str:
    """A call id that every provider accepts; equal ids stay equal."""
    if _ID.fullmatch(id):
        return id
    return "call_" + hashlib.blake2b(id.encode(), digest_size=12).hexdigest()


def tool_name(name: str) -> str:
    """A tool name that every provider accepts; a model may have invented the name."""
    if _NAME.fullmatch(name):
        return name
    return "_" + re.sub(r"[^A-Za-z0-9_-]", "_", name)[:63]
