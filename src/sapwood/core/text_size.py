"""How much text a command or an event holds. Long work on a large one is done in a thread."""

from collections.abc import Iterator
from typing import cast

from msgspec import Struct

__all__ = ["LARGE_TEXT", "text_size", "texts_in"]

LARGE_TEXT = 8_000
"""Characters from which masking, counting or encoding is done in a thread.

On the event loop, such work would delay everything else: keys, other agents, other requests.
"""

_MOST = 50_000
_CONTAINERS = (tuple, list, dict)


def text_size(value: object) -> int:
    """Returns about how many characters of text a struct holds."""
    return sum(map(_length, texts_in(value)))


def texts_in(value: object) -> Iterator[str | bytes | bytearray]:
    """Yields every text of a struct, of its lists and of the structs in it.

    The values may be unchecked. So this calls no method of a caller's class, and it ends after
    `_MOST` lists for values that contain themselves.
    """
    rest, opened = [value], 0
    while rest and opened < _MOST:
        one = rest.pop()
        kind = type(one)
        if issubclass(kind, str | bytes | bytearray):
            yield cast("str", one)
        elif issubclass(kind, Struct):
            rest.extend(getattr(one, name, None) for name in kind.__struct_fields__)
        elif kind in _CONTAINERS:
            opened += 1
            items = cast("dict[object, object]", one).values() if kind is dict else one
            rest.extend(cast("list[object]", items))


def _length(text: str | bytes | bytearray) -> int:
    """The true length, whatever a subclass says."""
    if isinstance(text, str):
        return str.__len__(text)
    return bytes.__len__(text) if isinstance(text, bytes) else bytearray.__len__(text)
