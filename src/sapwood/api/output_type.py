"""Answers of a given type: the JSON Schema for the model, and what reads the answer."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec import structs

from sapwood.core.errors import RefusedError
from sapwood.core.refusals import BadValue
from sapwood.core.turn_params import TurnParams

_Value = TypeVar("_Value")


def reader_of(kind: type[_Value]) -> Callable[[str], _Value]:
    """Returns what reads a reply in JSON as a value of this type."""
    return msgspec.json.Decoder(kind).decode


def with_schema(params: TurnParams | None, kind: type[Any]) -> TurnParams:
    """Returns the parameters with the JSON Schema of this type for the answer.

    Raises `RefusedError` for a type that is not an object in JSON.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Forecast:
    ...     city: str
    >>> with_schema(None, Forecast).output_schema
    '{"title":"Forecast","type":"object","properties":{"city":{"type":"string"}},"required":\
["city"],"additionalProperties":false}'
    """
    try:
        (root,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    except TypeError:
        root, parts = {}, {}
    name = str(root.get("$ref", "")).rpartition("/")[2]
    schema = parts.pop(name, root)
    if schema.get("type") != "object":
        rule = "a dataclass, a TypedDict or a msgspec struct"
        raise RefusedError(BadValue("output", rule, getattr(kind, "__name__", str(kind))))
    schema.pop("description", None)
    schema.setdefault("additionalProperties", False)
    if parts:
        schema["$defs"] = parts
    text = msgspec.json.encode(schema).decode()
    return structs.replace(params or TurnParams(), output_schema=text)
