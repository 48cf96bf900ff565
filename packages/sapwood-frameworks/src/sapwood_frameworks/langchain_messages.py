"""Converts messages of LangChain, as dictionaries, to turns and back.

A block of the model that is neither text nor a tool call, such as its reasoning, is kept word for
word as a `Thinking` part, because LangChain sends it back in the form in which it came.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import cast

from sapwood.core.content import (
    File,
    Note,
    RecordedReply,
    RecordedResult,
    ReplyPart,
    Text,
    Thinking,
    ToolCall,
    Usage,
)
from sapwood.core.view import Message, Request, ToolResult
from sapwood.core.view.frames import EMPTY_RESULT
from sapwood_frameworks.content_files import file_in, not_kept
from sapwood_frameworks.conversation import Item, Prompt

Fields = dict[str, object]

_PROVIDER = "langchain"
_CALLS = ("tool_use", "tool_call", "function_call")


def item_of(kind: str, fields: Mapping[str, object]) -> Item | None:
    """The prompt, reply or result in a message; None for a system message."""
    content = fields.get("content")
    match kind:
        case "human":
            return Prompt(_prompt_parts(content))
        case "ai":
            return _reply(fields)
        case "tool":
            error = fields.get("status") == "error"
            files = tuple(part for part in _prompt_parts(content) if isinstance(part, File))
            call = str(fields.get("tool_call_id"))
            return RecordedResult(call, _text(content, with_files=False), error, files=files)
        case "system":
            return None
        case _:
            return Prompt((Note("program", _text(content)),))


def _reply(fields: Mapping[str, object]) -> RecordedReply:
    parts: list[ReplyPart] = []
    for block in _blocks(fields.get("content")):
        kind = block.get("type")
        if kind == "text":
            text = str(block.get("text") or "")
            parts += [Text(text)] if text.strip() else []
        elif kind not in _CALLS:
            parts.append(Thinking(_thought(block), _PROVIDER, json.dumps(dict(block))))
    for call in cast("Sequence[Mapping[str, object]]", fields.get("tool_calls") or ()):
        args = json.dumps(call.get("args") or {}, ensure_ascii=False)
        parts.append(ToolCall(str(call.get("id")), str(call.get("name")), args))
    metadata = cast("Mapping[str, object]", fields.get("response_metadata") or {})
    return RecordedReply(tuple(parts), str(metadata.get("model_name") or ""), _usage(fields))


def _usage(fields: Mapping[str, object]) -> Usage | None:
    usage = cast("Mapping[str, int]", fields.get("usage_metadata") or {})
    if not usage:
        return None
    return Usage(usage.get("input_tokens", 0), usage.get("output_tokens", 0))


def _thought(block: Mapping[str, object]) -> str:
    for field in ("thinking", "reasoning"):
        if isinstance(found := block.get(field), str):
            return found
    return "\n\n".join(_text([each]) for each in _blocks(block.get("summary")))


def _blocks(content: object) -> list[Mapping[str, object]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return []
    return [
        {"type": "text", "text": each} if isinstance(each, str) else each
        for each in cast("list[str | Mapping[str, object]]", content)
    ]


def _prompt_parts(content: object) -> tuple[Text | File, ...]:
    """The texts and files of a content. Texts that follow each other are one part."""
    found: list[Text | File] = []
    for is_file, blocks in groupby(_blocks(content), lambda block: file_in(block) is not None):
        if is_file:
            found += [file for block in blocks if (file := file_in(block))]
        else:
            found.append(Text(_text(list(blocks))))
    return tuple(found)


def _text(content: object, *, with_files: bool = True) -> str:
    """The texts of a content, and remarks about everything else."""
    return "\n\n".join(
        str(block["text"]) if "text" in block else not_kept(block.get("type"))
        for block in _blocks(content)
        if with_files or file_in(block) is None
    )


def messages_of(request: Request) -> list[tuple[str, Fields]]:
    """The messages of a request: the kind of each and its fields. System texts are left out."""
    found: list[tuple[str, Fields]] = []
    for message in request.messages:
        if message.role == "assistant":
            found.append(("ai", _assistant(message)))
            continue
        said: list[Text | File] = []
        for part in message.parts:
            if isinstance(part, ToolResult):
                found.append(("tool", _result(part)))
            elif isinstance(part, Text | File):
                said.append(part)
        if said:
            found.append(("human", {"content": _content(said)}))
    return found


def _result(part: ToolResult) -> Fields:
    texts = [] if part.files and part.content == EMPTY_RESULT else [Text(part.content)]
    return {
        "content": _content([*texts, *part.files]),
        "tool_call_id": part.call,
        "name": part.name,
        "status": "error" if part.error else "success",
    }


def _content(parts: Sequence[Text | File]) -> object:
    """The content of a message: one text, or blocks in the form that every provider takes."""
    match parts:
        case [Text(text)]:
            return text
        case _:
            return [_block(part) for part in parts]


def _block(part: Text | File) -> Fields:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    kind = part.media_type.partition("/")[0]
    kind = kind if kind in ("image", "audio", "video") else "file"
    block: Fields = {"type": kind, "base64": part.data, "mime_type": part.media_type}
    return {**block, "filename": part.name} if part.name else block


def _assistant(message: Message) -> Fields:
    blocks: list[object] = []
    calls: list[Fields] = []
    for part in message.parts:
        match part:
            case Text():
                blocks.append({"type": "text", "text": part.text})
            case Thinking(provider="langchain"):
                blocks.append(json.loads(part.signature))
            case ToolCall():
                calls.append({"id": part.id, "name": part.name, "args": _arguments(part.args)})
            case _:
                pass
    content = message.text if all(_is_text(block) for block in blocks) else blocks
    return {"content": content, "tool_calls": calls}


def _is_text(block: object) -> bool:
    return cast("Mapping[str, object]", block).get("type") == "text"


def _arguments(args: str) -> object:
    try:
        value = json.loads(args)
    except (ValueError, RecursionError):
        return {"INVALID_JSON": args}
    return cast("object", value)
