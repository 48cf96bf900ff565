"""What a server's tool returned, as text. What is no text is told, not shown."""

from typing import TYPE_CHECKING, cast

import msgspec

from sapwood.workspace.bounds import cut, size

if TYPE_CHECKING:
    from mcp.types import (
        BlobResourceContents,
        CallToolResult,
        ContentBlock,
        ResourceLink,
        TextResourceContents,
    )

__all__ = ["result_text"]


def result_text(result: "CallToolResult") -> str:
    """All parts of a result, one below the other."""
    parts = [_block(block) for block in result.content]
    texts = [block.text for block in result.content if block.type == "text"]
    structured: object = result.structured_content
    if structured is not None and not _says_the_same(texts, structured):
        parts.append(msgspec.json.encode(structured).decode())
    return cut("\n".join(parts)) or "[no content]"


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


def _says_the_same(texts: list[str], structured: object) -> bool:
    """Whether the texts only repeat the structure, as most servers have them do."""
    values = [structured]
    if isinstance(structured, dict) and list(cast(dict[str, object], structured)) == ["result"]:
        values.append(cast(dict[str, object], structured)["result"])
    return any(
        [_read(text) for text in texts] == told
        for value in values
        for told in ([_plain(value)], [_plain(each) for each in _items(value)])
    )


def _items(value: object) -> list[object]:
    return cast(list[object], value) if isinstance(value, list) else [value]


def _plain(value: object) -> object:
    return _read(value) if isinstance(value, str) else value


def _read(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _link(block: "ResourceLink") -> str:
    about = [text for text in (block.mime_type, size(block.size) if block.size else "") if text]
    told = f" ({', '.join(about)})" if about else ""
    return f"[{block.name}: {block.uri}{told}]" + (
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
    return size(len(base64.rstrip("=")) * 3 // 4)
