"""What comes from anywhere, made fit to be stored."""

from typing import TypeVar

import msgspec
from msgspec import Struct, structs

__all__ = ["canonical", "clean", "cleaned"]

P = TypeVar("P", bound=Struct)


def clean(text: str) -> str:
    """The text without lone surrogates, which no encoding can hold.

    >>> clean("caf\\udce9")
    'caf?'
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def cleaned(part: P) -> P:
    """The part of a message with every text in it clean.

    >>> from sapwood.core.content import Text
    >>> cleaned(Text("caf\\udce9"))
    Text(text='caf?')
    """
    mended = {
        name: clean(text)
        for name in part.__struct_fields__
        if isinstance(text := getattr(part, name), str) and not text.isascii()
    }
    return structs.replace(part, **mended) if mended else part


def canonical(value: object) -> str:
    """The value as JSON, the same text for equal values.

    >>> canonical({"top_p": 1, "temperature": 0})
    '{"temperature":0,"top_p":1}'
    """
    return msgspec.json.encode(value, order="deterministic").decode()
