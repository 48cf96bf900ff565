"""The result of an MCP tool as text. Images, audio and other data are only described."""

from typing import TYPE_CHECKING, cast

import msgspec

from sapwood.workspace.tool_output import byte_size, truncate

if TYPE_CHECKING:
    from mcp.types import (
        BlobResourceContents,
        CallToolResult,
        ContentBlock,
        ResourceLink,
        TextResourceContents,
    )


def result_text(result: "CallToolResult") -> str:
    """All parts of a result, separated by new lines."""
    parts = [_block(block) for block in result.content]
    texts = [block.text for block in result.content if block.type == "text"]
    structured: object = result.structured_content
    if structured is not None and not _repeats(texts, structured):
        parts.append(msgspec.json.encode(structured).decode())
    return truncate("\n".join(parts)) or "[no content]"


def _block(block: "ContentBlock") -> str:
    match block.type:
        case "text":
            return block.text
        case "image" | "audio":
            return f"[{block.type}, {block.mime_type}, {_bytes(block.data)}: not shown]"
        case "resource_link":
            return _link(block)
        case "resource":
            return _resource(block.resource)


def _repeats(texts: list[str], structured: object) -> bool:
    """Whether the texts only repeat the structured content, as they do for most servers."""
    values = [structured]
    if isinstance(structured, dict) and list(cast(dict[str, object], structured)) == ["result"]:
        values.append(cast(dict[str, object], structured)["result"])
    return any(
        [_read(text) for text in texts] == expected
        for value in values
        for expected in ([_plain(value)], [_plain(each) for each in _items(value)])
    )


def _items(value: object) -> list[object]:
    return cast(list[object], value) if isinstance(value, list) else [value]


def _plain(value: object) -> object:
    return _read(value) if isinstance(value, str) else value


def _read(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


def _link(block: "ResourceLink") -> str:
    about = [
        text for text in (block.mime_type, byte_size(block.size) if block.size else "") if text
    ]
    details = f" ({', '.join(about)})" if about else ""
    return f"[{block.name}: {block.uri}{details}]" + (
        f" {block.description}" if block.description else ""
    )


def _resource(resource: "TextResourceContents | BlobResourceContents") -> str:
    text: str | None = getattr(resource, "text", None)
    if text is not None:
        return f"[{resource.uri}]\n{text}"
    blob: str = getattr(resource, "blob", "")
    kind = resource.mime_type or "unknown type"
    return f"[{resource.uri}, {kind}, {_bytes(blob)}: not shown]"


def _bytes(base64: str) -> str:
    return byte_size(len(base64.rstrip("=")) * 3 // 4)
