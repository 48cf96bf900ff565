"""Decodes the bytes of a row into a struct, and keeps as much of a bad row as possible.

A good row is decoded in one typed pass that skips unknown fields. A row with a field of an
unexpected type, half a surrogate pair or invalid UTF-8 is decoded again without types, and only the
values that do not fit are left out.
"""

import json
from collections.abc import Callable
from typing import Annotated, Any, TypeVar, get_args, get_origin

import msgspec
from msgspec import Meta, Raw, Struct, structs

Natural = Annotated[int, Meta(ge=0, le=2**53)]
"""A count that every program and database can hold."""

T = TypeVar("T", bound=Struct)

_BAD = (msgspec.MsgspecError, ValueError, RecursionError)
_MISFIT: Any = object()


def row_decoder(kind: type[T]) -> Callable[[bytes | Raw], T | None]:
    """Makes a decoder of this struct, which returns None for bytes that are no object."""
    decode_typed = msgspec.json.Decoder(kind).decode

    def decode(row: bytes | Raw) -> T | None:
        try:
            return decode_typed(row)
        except _BAD:
            pass
        try:
            found: Any = json.loads(bytes(row).decode("utf-8", "replace"))
            return _fitted(found, kind) if isinstance(found, dict) else None  # pyright: ignore[reportUnknownArgumentType]
        except _BAD:
            return None

    return decode


def raw_text(raw: Raw) -> str:
    """JSON text as it was written. It was never decoded, so it may contain invalid UTF-8."""
    return bytes(raw).decode("utf-8", "replace")


def _fitted(found: dict[str, Any], kind: type[T]) -> T:
    """Makes the struct from the fields that fit."""
    fits: dict[str, Any] = {}
    for field in structs.fields(kind):
        if field.encode_name in found:
            value = _fit(found[field.encode_name], field.type)
            if value is not _MISFIT:
                fits[field.name] = value
    return kind(**fits)


def _fit(value: Any, kind: Any) -> Any:
    """The value, converted to one of the types of a union; `_MISFIT` if none fits."""
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
    # An exact match, because True is an int in Python.
    return value if type(value) is kind else _MISFIT


def _is_within(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def _whole(text: str) -> str:
    """The text without halves of surrogate pairs, which databases and APIs refuse."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
