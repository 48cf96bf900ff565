"""How much text a command or an event holds. Long work on a large one is done in a thread."""

from collections.abc import Iterator
from typing import cast

from msgspec import Struct

__all__ = ["LARGE_TEXT", "text_size", "texts_in"]

LARGE_TEXT = 8_000
"""Characters from which masking, counting or encoding is done in a thread.

On the event loop, such work would delay everything else: keys, other agents, other requests.
"""


def text_size(value: object) -> int:
    """Returns about how many characters of text a struct holds."""
    return sum(map(len, texts_in(value)))


def texts_in(value: object) -> Iterator[str | bytes | bytearray]:
    """Yields every text of a struct, of its lists and of the structs in it."""
    if isinstance(value, str | bytes | bytearray):
        yield value
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            yield from texts_in(getattr(value, name, None))
    elif isinstance(value, tuple | list):
        for item in cast("list[object]", value):
            yield from texts_in(item)
    elif isinstance(value, dict):
        for item in cast("dict[object, object]", value).values():
            yield from texts_in(item)
