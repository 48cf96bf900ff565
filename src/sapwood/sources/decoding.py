"""From the bytes of a row to a typed value, losing as little of a bad row as can be.

A good row is decoded in one typed pass, which skips all that is not asked for. A row with a field
of an unexpected type, half a surrogate pair or bytes that are no UTF-8 is read once more without
types, and only what does not fit is left out.
"""

import json
from collections.abc import Callable
from typing import Annotated, Any, TypeVar, get_args, get_origin

import msgspec
from msgspec import Meta, Raw, Struct, structs

__all__ = ["Natural", "raw_text", "typed"]

Natural = Annotated[int, Meta(ge=0, le=2**53)]
"""A count, as large as every program and database can hold."""

T = TypeVar("T", bound=Struct)

_BAD = (msgspec.MsgspecError, ValueError, RecursionError)
_MISFIT: Any = object()


def typed(kind: type[T]) -> Callable[[bytes | Raw], T | None]:
    """A function that decodes bytes into this kind of struct; None for what is no object at all."""
    decode = msgspec.json.Decoder(kind).decode

    def decoded(row: bytes | Raw) -> T | None:
        try:
            return decode(row)
        except _BAD:
            pass
        try:
            found: Any = json.loads(bytes(row).decode("utf-8", "replace"))
            return _fitted(found, kind) if isinstance(found, dict) else None  # pyright: ignore[reportUnknownArgumentType]
        except _BAD:
            return None

    return decoded


def raw_text(raw: Raw) -> str:
    """JSON as it was written. What is not decoded was not looked at: it may be no UTF-8."""
    return bytes(raw).decode("utf-8", "replace")


def _fitted(found: dict[str, Any], kind: type[T]) -> T:
    """The struct with every field that fits."""
    fits: dict[str, Any] = {}
    for field in structs.fields(kind):
        if field.encode_name in found:
            value = _fit(found[field.encode_name], field.type)
            if value is not _MISFIT:
                fits[field.name] = value
    return kind(**fits)


def _fit(value: Any, kind: Any) -> Any:
    """The value as one of the types of a union, or `_MISFIT`."""
    for option in get_args(kind) or (kind,):
        fit = _fit_one(value, option)
        if fit is not _MISFIT:
            return fit
    return _MISFIT


def _fit_one(value: Any, kind: Any) -> Any:
    if get_origin(kind) is Annotated:
        return value if _is_within(value, kind) else _MISFIT
    if get_origin(kind) is list:
        (inner,) = get_args(kind)
        fits = [_fit(each, inner) for each in value] if isinstance(value, list) else _MISFIT  # pyright: ignore[reportUnknownVariableType]
        return fits if fits is _MISFIT else [fit for fit in fits if fit is not _MISFIT]
    if kind is Raw:
        return Raw(json.dumps(value).encode())
    if isinstance(kind, type) and issubclass(kind, Struct):
        return _fitted(value, kind) if isinstance(value, dict) else _MISFIT  # pyright: ignore[reportUnknownArgumentType]
    if kind is str and isinstance(value, str):
        return _whole(value)
    # An exact match: to Python, True is a number too.
    return value if type(value) is kind else _MISFIT


def _is_within(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def _whole(text: str) -> str:
    """The text without halves of surrogate pairs, which no database and no API would take."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
