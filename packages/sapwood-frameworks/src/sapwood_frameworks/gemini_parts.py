"""Converts contents of Google's API, which the Agent Development Kit stores, to turns and back.

A content is the dictionary of the class `Content`. Google signs the part after a thought; as in
Sapwood's own model calls, the thought keeps that signature.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from typing import cast

from msgspec import structs

from sapwood.core.content import (
    File,
    RecordedReply,
    RecordedResult,
    ReplyPart,
    Text,
    Thinking,
    ToolCall,
)
from sapwood.core.view import Message, ToolResult
from sapwood_frameworks.content_files import not_kept
from sapwood_frameworks.conversation import Item, Prompt

Part = dict[str, object]

_PROVIDER = "google"


def items_of_user(parts: Sequence[Mapping[str, object]]) -> list[Item]:
    """The results of functions and the texts in a content of the user."""
    items: list[Item] = []
    for part in parts:
        if isinstance(response := part.get("function_response"), Mapping):
            items.append(_result(cast("Mapping[str, object]", response)))
        elif isinstance(text := part.get("text"), str):
            items += [Prompt((Text(text),))] if text.strip() else []
        elif (file := _file(part)) is None:
            items.append(Prompt((Text(not_kept(next(iter(part), "part"))),)))
        elif items and isinstance(last := items[-1], RecordedResult):
            items[-1] = structs.replace(last, files=(*last.files, file))
        else:
            items.append(Prompt((file,)))
    return items


def _file(part: Mapping[str, object]) -> File | None:
    inline = part.get("inline_data")
    if not isinstance(inline, Mapping):
        return None
    fields = cast("Mapping[str, object]", inline)
    data, name = fields.get("data"), str(fields.get("display_name") or "")
    if isinstance(data, bytes):
        return File.of(data, name=name, media_type=str(fields.get("mime_type") or ""))
    return None


def _result(response: Mapping[str, object]) -> RecordedResult:
    call = str(response.get("id"))
    given = cast("Mapping[str, object]", response.get("response") or {})
    for field in ("result", "error"):
        if list(given) == [field] and isinstance(value := given[field], str):
            return RecordedResult(call, value, error=field == "error")
    return RecordedResult(call, json.dumps(given, ensure_ascii=False, default=str))


def reply_of(parts: Sequence[Mapping[str, object]], model: str) -> RecordedReply:
    """A content of the model."""
    found: list[ReplyPart] = []
    for part in parts:
        text, call = part.get("text"), part.get("function_call")
        if part.get("thought"):
            found.append(Thinking(str(text or ""), _PROVIDER))
            continue
        signature = part.get("thought_signature")
        if isinstance(signature, bytes):
            _sign(found, base64.b64encode(signature).decode())
        if isinstance(text, str) and text.strip():
            found.append(Text(text))
        elif isinstance(call, Mapping):
            given = cast("Mapping[str, object]", call)
            args = json.dumps(given.get("args") or {}, ensure_ascii=False)
            found.append(ToolCall(str(given.get("id")), str(given.get("name")), args))
    return RecordedReply(tuple(found), f"{_PROVIDER}:{model}" if model else "")


def _sign(parts: list[ReplyPart], signature: str) -> None:
    last = parts[-1] if parts else None
    if isinstance(last, Thinking) and not last.signature:
        parts[-1] = structs.replace(last, signature=signature)
    else:
        parts.append(Thinking("", _PROVIDER, signature))


def parts_of(message: Message) -> list[Part]:
    """The parts of a message as Google takes them. Thinking without a signature is left out."""
    parts: list[Part] = []
    signature = ""
    for part in message.parts:
        made: Part
        files: list[Part] = []
        match part:
            case Text():
                made = {"text": part.text}
            case File():
                made = _inline(part)
            case ToolCall():
                call = {"id": part.id, "name": part.name, "args": _object(part.args)}
                made = {"function_call": call}
            case ToolResult():
                answer = {"error" if part.error else "result": part.content}
                if not part.error and part.content.startswith("{"):
                    answer = _object(part.content) or answer
                response = {"id": part.call, "name": part.name, "response": answer}
                made = {"function_response": response}
                files = [_inline(file) for file in part.files]
            case Thinking(provider="google") if part.signature:
                if part.text:
                    parts.append({"text": part.text, "thought": True})
                signature = part.signature
                continue
            case _:
                continue
        if signature:
            made["thought_signature"] = base64.b64decode(signature)
            signature = ""
        parts += [made, *files]
    return parts


def _inline(file: File) -> Part:
    blob: Part = {"mime_type": file.media_type, "data": file.content}
    return {"inline_data": {**blob, "display_name": file.name} if file.name else blob}


def _object(text: str) -> dict[str, object]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}
