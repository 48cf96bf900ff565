"""Finds known secret values: as they are, escaped, and broken over several lines."""

import json
import re
import string
from collections.abc import Iterator, Sequence

from sapwood.redaction.byte_text import Span

__all__ = ["KNOWN_KEY", "find_known_values"]

KNOWN_KEY = "known-key"
_MIN_LENGTH = 8
_BREAK = r"[\s\\]*"
_URL_SAFE = frozenset(string.ascii_letters + string.digits + "_.-~")


def find_known_values(text: str, values: Sequence[str]) -> Iterator[Span]:
    """Yields every span that contains one of the values."""
    wanted = [value for value in dict.fromkeys(values) if len(value.strip()) >= _MIN_LENGTH]
    if not wanted:
        return
    text_without_breaks = _without_breaks(text)
    for value in wanted:
        for form in _forms(value.strip()):
            yield from _exact(text, form)
        whole = _without_breaks(value)
        if len(whole) >= _MIN_LENGTH and text_without_breaks.count(whole) > text.count(whole):
            yield from _broken_over_lines(text, whole)


def _forms(value: str) -> set[str]:
    """Returns the value as it is, escaped for JSON, and escaped for a URL."""
    return {
        value,
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        "".join(c if c in _URL_SAFE else _percent_encoded(c) for c in value),
    }


def _percent_encoded(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "replace"))


def _without_breaks(text: str) -> str:
    return "".join(text.split()).replace("\\", "")


def _exact(text: str, value: str) -> Iterator[Span]:
    start = text.find(value)
    while start >= 0:
        yield Span(start, start + len(value), KNOWN_KEY)
        start = text.find(value, start + 1)


def _broken_over_lines(text: str, value: str) -> Iterator[Span]:
    pattern = _BREAK.join(re.escape(char) for char in value)
    yield from (Span(*match.span(), KNOWN_KEY) for match in re.finditer(pattern, text))
