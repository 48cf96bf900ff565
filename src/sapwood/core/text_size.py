"""How much text a command or an event holds. Long work on a large one is done in a thread."""

from collections.abc import Iterator
from types import NoneType
from typing import cast

import msgspec
from msgspec import Struct, UnsetType
from msgspec.structs import astuple

from sapwood.core.file_part import File

LARGE_TEXT = 8_000
"""Characters from which masking, counting or encoding is done in a thread.

On the event loop, such work would delay everything else: keys, other agents, other requests.
"""

_MAX_LISTS = 50_000
_CONTAINERS = (tuple, list, dict)
_WITHOUT_TEXT = frozenset({int, bool, float, NoneType, UnsetType})
_encode = msgspec.msgpack.Encoder().encode


def is_large(value: object) -> bool:
    """Whether a struct holds about `LARGE_TEXT` characters or more.

    Encoding it takes a fraction of the time of a walk over its fields. What cannot be encoded, such
    as an object of a caller, is walked.
    """
    try:
        return stored_size(value) >= LARGE_TEXT
    except Exception:  # a value of another program may raise anything
        return text_size(value) >= LARGE_TEXT


def stored_size(value: object) -> int:
    """Returns about how many bytes a struct takes that passed the gate."""
    return len(_encode(value))


def text_size(value: object) -> int:
    """Returns about how many characters of text a struct holds."""
    return sum(map(_length, texts_in(value)))


def texts_in(value: object) -> Iterator[str | bytes | bytearray]:
    """Yields every text of a struct, of its lists and of the structs in it.

    The values may be unchecked. So this calls no method of a caller's class, and it ends after
    `_MAX_LISTS` lists for values that contain themselves.
    """
    rest, opened = [value], 0
    while rest and opened < _MAX_LISTS:
        one = rest.pop()
        kind = type(one)
        if kind is str:
            yield cast("str", one)
        elif kind in _WITHOUT_TEXT:
            continue
        elif kind is File:  # as bytes: nobody counts the tokens of its letters
            data: object = getattr(cast("File", one), "data", None)
            if type(data) is str:
                yield data.encode("ascii", "replace")
        elif issubclass(kind, Struct):
            rest.extend(_fields(cast("Struct", one)))
        elif kind in _CONTAINERS:
            opened += 1
            items = cast("dict[object, object]", one).values() if kind is dict else one
            rest.extend(cast("list[object]", items))
        elif issubclass(kind, str | bytes | bytearray):
            yield cast("str", one)


def _fields(struct: Struct) -> tuple[object, ...]:
    try:
        return astuple(struct)
    except AttributeError:  # a field was never set
        return tuple(getattr(struct, name, None) for name in struct.__struct_fields__)


def _length(text: str | bytes | bytearray) -> int:
    """The true length, whatever a subclass says."""
    if isinstance(text, str):
        return str.__len__(text)
    return bytes.__len__(text) if isinstance(text, bytes) else bytearray.__len__(text)
