"""Converts values from outside to the plain types that a log stores.

Each function returns a value that every store can hold and read back unchanged: exact `str`, `int`,
`float` or `bool`, without lone surrogates, NaN, or numbers that are too large. A value whose
meaning is not obvious raises `Unfit`.
"""

import math
import operator
import os
import re
from collections.abc import Mapping, Sequence, Set
from typing import Any, cast

import msgspec

MAX_TEXT = 50_000_000
"""The most characters of one text; a longer one is refused."""

LARGEST = 2**40
"""The largest number that is stored; the sum of millions of them still fits into 64 bits."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_DEEPEST = 100
"""The most levels of an object that is written as JSON."""
LAST_MOMENT = 253_402_300_799_000_000
"""The last microsecond that a date can show: the end of the year 9999."""


class Unfit(Exception):
    """A value that cannot be stored. `rule` is what it must be, `place` is its field."""

    def __init__(self, rule: str, given: object, place: str = "") -> None:
        super().__init__(rule)
        self.rule = rule
        is_number = isinstance(given, int | float) and not isinstance(given, bool)
        self.given = f"{given:,}"[:40] if is_number else type(given).__name__
        self.place = place

    def within(self, name: str) -> "Unfit":
        """Adds the field or the item that contains the value to `place`. Returns itself."""
        self.place = f"{name}{'' if self.place[:1] in ('', '[') else '.'}{self.place}"
        return self


def as_text(value: object) -> str:
    """Text with each lone surrogate, which cannot be encoded, replaced by `?`.

    Subclasses of `str` become `str`; bytes are read as UTF-8.

    >>> as_text("caf\\udce9"), as_text(b"caf\\xc3\\xa9")
    ('caf?', 'café')
    """
    if type(value) is not str:
        value = _plain_text(value)
    if len(value) > MAX_TEXT:
        raise Unfit(f"at most {MAX_TEXT:,} characters", value)
    return value if value.isascii() or not _SURROGATE.search(value) else _SURROGATE.sub("?", value)


def as_label(value: Any) -> str:
    """A name, a folder or a model: text without null characters, which not every store can hold."""
    if isinstance(value, os.PathLike):
        value = _path_text(cast("os.PathLike[str]", value))
    text = as_text(value)
    return text.replace("\0", "\ufffd") if "\0" in text else text


def as_identifier(value: object) -> str:
    """An id that another program chose: a label, or a whole number.

    >>> as_identifier(7)
    '7'
    """
    if type(value) is int:
        return str(as_integer(value))
    return as_label(value)


def as_key(value: object) -> str:
    """An id of an agent or a command, unchanged: a changed id would name another thing."""
    if type(value) is int:
        return str(as_integer(value))
    return value if type(value) is str else _plain_text(value)


def as_json(value: Any) -> str:
    """JSON text: a text stays as it is, an object or a list is encoded, None is an empty object.

    >>> as_json({"city": "Oslo"})
    '{"city":"Oslo"}'
    """
    if isinstance(value, str | bytes | bytearray):
        return as_text(value)
    if value is None:
        return "{}"
    if not isinstance(value, Mapping | Sequence):
        raise Unfit("JSON text or an object", value)
    try:
        return msgspec.json.encode(_plain_json(cast("object", value))).decode()
    except Exception:  # an object of another program may raise anything
        rule = "an object that can be serialized as JSON"
        raise Unfit(rule, cast("object", value)) from None


def as_integer(value: object, *, minimum: int = -LARGEST, maximum: int = LARGEST) -> int:
    """A whole number; `True` is 1, and 3.0 is 3.

    >>> as_integer(3.0), as_integer(True)
    (3, 1)
    """
    if type(value) is not int:
        value = _plain_integer(value)
    if not minimum <= value <= maximum:
        raise Unfit(f"a whole number from {minimum:,} to {maximum:,}", value)
    return value


def as_moment(value: object) -> int:
    """Microseconds since 1970, before the year 10000."""
    return as_integer(value, minimum=0, maximum=LAST_MOMENT)


def as_number(value: object) -> float:
    """A finite number."""
    try:
        number = float.__float__(value) if isinstance(value, float) else float(as_integer(value))
    except Unfit:
        raise Unfit("a number", value) from None
    if not math.isfinite(number):
        raise Unfit("a finite number", value)
    return value if type(value) is float else number


def as_flag(value: object) -> bool:
    """True or false; 1 and 0 are accepted too."""
    if value is True or value is False:
        return value
    if isinstance(value, int) and int.__int__(value) in (0, 1):
        return int.__int__(value) == 1
    raise Unfit("true or false", value)


def as_items(value: Any) -> Sequence[object]:
    """A list or a tuple of anything; a text is refused."""
    if type(value) is tuple or type(value) is list:
        return cast("Sequence[object]", value)
    if not isinstance(value, Sequence) or isinstance(value, str | bytes | bytearray | memoryview):
        raise Unfit("a list", cast("object", value))
    try:
        return tuple(cast("Sequence[object]", value))
    except Exception:  # a sequence of another program may raise anything
        raise Unfit("a list", cast("object", value)) from None


def _plain_text(value: object) -> str:
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    raise Unfit("text", value)


def _path_text(value: "os.PathLike[str]") -> object:
    try:
        return os.fspath(value)
    except Exception:  # a path of another program may raise anything
        raise Unfit("text", value) from None


def _plain_integer(value: object) -> int:
    try:
        if isinstance(value, int):
            return int.__int__(value)
        if isinstance(value, float) and float.is_integer(value):
            return int(float.__float__(value))
        if not isinstance(value, float):
            return operator.index(value)  # pyright: ignore[reportArgumentType] # raises for others
    except Exception:  # a number of another program may raise anything
        raise Unfit("a whole number", value) from None
    raise Unfit("a whole number", value)


def _plain_json(value: Any, depth: int = 0) -> object:
    """The value in the types of JSON, so that the stored text has the same meaning."""
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    match value:
        case None | bool():
            return value
        case str() | bytes() | bytearray():
            return as_text(value)
        case int():
            return int.__int__(value)
        case float():
            return as_number(value)
        case Mapping():
            return {
                as_identifier(key): _plain_json(item, depth + 1)
                for key, item in cast("Mapping[object, object]", value).items()
            }
        case Sequence() | Set():
            return [_plain_json(item, depth + 1) for item in cast("Sequence[object]", value)]
        case _:
            return msgspec.to_builtins(value)
