"""Finds known secret values: as they are, escaped, in base64 and hex, and broken over lines."""

import base64
import json
import re
import string
from collections.abc import Iterator, Sequence
from functools import lru_cache

from sapwood.redaction.byte_text import Span

KNOWN_KEY = "known-key"
_MIN_LENGTH = 8
_MAX_LENGTH = 8_000
_URL_SAFE = frozenset(string.ascii_letters + string.digits + "_.-~")
_BREAKS = str.maketrans("", "", string.whitespace + "\\")
# What may stand between two characters of a value that is broken over lines: white space and
# backslashes, then perhaps the number of the line, or the sign of a quotation or a difference.
# The searched text has one character a byte, so an arrow and a bar are written as their bytes.
_NUMBER = r"(?:[\w./-]{1,80}:)?\d{1,7}(?:[\t:|-]|\xe2\x86\x92|\xe2\x94\x82|[ ])"
_BREAK = rf"(?:[\s\\]++(?:(?:{_NUMBER}|[+>|#*-])[ \t]*+)?)?"
_END_LENGTH = 10


def forms_of_known_values(values: Sequence[str]) -> tuple[str, ...]:
    """Returns every form of the values in which they are looked for, one character a byte.

    Values of fewer than eight characters have none, because they would mask ordinary words.
    """
    return _forms(tuple(values))


def find_known_values(text: str, forms: Sequence[str]) -> Iterator[Span]:
    """Yields every span of the text that contains one of the forms. It has one character a byte."""
    if not forms:
        return
    compact = text.translate(_BREAKS)
    for form in forms:
        yield from _exact(text, form)
        whole = form.translate(_BREAKS)
        if len(whole) >= _MIN_LENGTH and _may_be_broken(text, compact, whole):
            yield from (Span(*match.span(), KNOWN_KEY) for match in _broken(whole).finditer(text))


def _exact(text: str, form: str) -> Iterator[Span]:
    start = text.find(form)
    while start >= 0:
        end = start + len(form)
        yield Span(start, end, KNOWN_KEY)
        start = text.find(form, end)


def _may_be_broken(text: str, compact: str, whole: str) -> bool:
    """Whether the beginning or the end of a value occurs more often than all of it."""
    complete = text.count(whole)
    size = min(_END_LENGTH, len(whole) // 2)
    return (
        compact.count(whole) > complete
        or text.count(whole[:size]) > complete
        or text.count(whole[-size:]) > complete
    )


@lru_cache(maxsize=64)
def _broken(whole: str) -> re.Pattern[str]:
    return re.compile(_BREAK.join(re.escape(char) for char in whole), re.ASCII)


@lru_cache(maxsize=8)
def _forms(values: tuple[str, ...]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for value in values:
        plain = value.strip()
        if _MIN_LENGTH <= len(plain) <= _MAX_LENGTH:
            found |= dict.fromkeys(map(_one_character_a_byte, _encodings(plain)))
    return tuple(found)


def _one_character_a_byte(form: str) -> str:
    return form.encode("utf-8", "surrogatepass").decode("latin-1")


def _encodings(value: str) -> Iterator[str]:
    """Yields the value as it is, escaped for JSON and for a URL, in hex and in base64."""
    yield value
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield "".join(c if c in _URL_SAFE else _percent_encoded(c) for c in value)
    data = value.encode("utf-8", "replace")
    yield data.hex()
    yield data.hex().upper()
    for shift in range(3):
        # The characters at both ends depend on what stands beside the value, so they are cut.
        encoded = base64.b64encode(b"\0" * shift + data)
        first = (0, 2, 3)[shift]
        last = len(encoded) - (0, 3, 2)[(shift + len(data)) % 3]
        for form in (encoded, encoded.replace(b"+", b"-").replace(b"/", b"_")):
            yield form[first:last].decode()


def _percent_encoded(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "replace"))
