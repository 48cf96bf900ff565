"""Reads JSON of unknown structure. A value that is absent or of another type reads as empty."""

from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import msgspec

_encoder = msgspec.json.Encoder()


if TYPE_CHECKING:
    Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
else:
    Json = Any  # a name in quotes would have to be known in every module whose types `help` reads
JsonObject: TypeAlias = dict[str, Json]


def decode(raw: bytes | str) -> Json:
    """Parses JSON. Raises `ValueError` if the text is not valid JSON.

    >>> decode('{"n": 1}')
    {'n': 1}
    """
    return msgspec.json.decode(raw)


def encode(value: object) -> bytes:
    """Encodes a value as compact JSON."""
    return _encoder.encode(value)


def is_object(value: Json) -> TypeGuard[JsonObject]:
    """Whether the value is an object."""
    return isinstance(value, dict)


def is_integer(value: Json) -> TypeGuard[int]:
    """Whether the value is an integer. `true` is not."""
    return isinstance(value, int) and not isinstance(value, bool)


def text_at(tree: JsonObject, key: str) -> str:
    """The text under a key.

    >>> text_at({"a": "b", "n": 1}, "a"), text_at({"a": "b", "n": 1}, "n")
    ('b', '')
    """
    value = tree.get(key)
    return value if isinstance(value, str) else ""


def object_at(tree: JsonObject, key: str) -> JsonObject:
    """The object under a key."""
    value = tree.get(key)
    return value if isinstance(value, dict) else {}


def items_at(tree: JsonObject, key: str) -> list[Json]:
    """The list under a key."""
    value = tree.get(key)
    return value if isinstance(value, list) else []


def objects_at(tree: JsonObject, key: str) -> list[JsonObject]:
    """The objects in the list under a key.

    >>> objects_at({"parts": [{"a": 1}, "b"]}, "parts")
    [{'a': 1}]
    """
    return objects(tree.get(key))


def objects(value: Json) -> list[JsonObject]:
    """The objects in a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
