"""Files in the content blocks of frameworks: images, documents and sounds in base64."""

from collections.abc import Mapping
from typing import cast

from sapwood.core.content import File

_NESTED = ("source", "image_url", "file", "input_audio")
"""Fields that have an object with the content in it, by provider."""
_DATA = ("base64", "data", "file_data", "url", "image_url")
_TYPES = ("mime_type", "media_type")
_NAMES = ("filename", "name", "title")


def file_in(block: Mapping[str, object]) -> File | None:
    """The file in a block, in any form that LangChain or Anthropic has; None if it is only named.

    >>> file_in({"type": "image", "base64": "SGk=", "mime_type": "text/plain"}).words
    'Hi'
    >>> file_in({"type": "image_url", "image_url": {"url": "data:text/plain;base64,SGk="}}).words
    'Hi'
    """
    for field in _NESTED:
        if isinstance(inner := block.get(field), Mapping):
            block = {**block, **cast("Mapping[str, object]", inner)}
    data = _first(block, _DATA)
    name, kind = _first(block, _NAMES), _first(block, _TYPES)
    address = data if data.startswith("data:") else f"data:{kind};base64,{data}"
    return File.from_data_url(address, name)


def not_kept(kind: object) -> str:
    """The remark that stands for a part that is not kept."""
    return f"[{kind}: not kept in the history]"


def _first(block: Mapping[str, object], fields: tuple[str, ...]) -> str:
    return next((found for field in fields if isinstance(found := block.get(field), str)), "")
