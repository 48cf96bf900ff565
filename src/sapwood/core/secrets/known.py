"""Values that are known to be secret: found as they are, escaped, and broken over lines."""

import json
import re
import string
from collections.abc import Iterator, Sequence

from sapwood.core.secrets.span import Span

__all__ = ["KIND", "known_values"]

KIND = "known-key"
_SHORTEST = 8
_BREAK = r"[\s\\]*"
_PLAIN = frozenset(string.ascii_letters + string.digits + "_.-~")


def known_values(text: str, values: Sequence[str]) -> Iterator[Span]:
    """Every place where one of the values stands."""
    wanted = [value for value in dict.fromkeys(values) if len(value.strip()) >= _SHORTEST]
    if not wanted:
        return
    joined = _joined(text)
    for value in wanted:
        for form in _forms(value.strip()):
            yield from _plain(text, form)
        whole = _joined(value)
        if len(whole) >= _SHORTEST and joined.count(whole) > text.count(whole):
            yield from _broken(text, whole)


def _forms(value: str) -> set[str]:
    """As it is, inside JSON, and inside a URL."""
    return {
        value,
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        "".join(c if c in _PLAIN else _percent(c) for c in value),
    }


def _percent(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "replace"))


def _joined(text: str) -> str:
    return "".join(text.split()).replace("\\", "")


def _plain(text: str, value: str) -> Iterator[Span]:
    place = text.find(value)
    while place >= 0:
        yield Span(place, place + len(value), KIND)
        place = text.find(value, place + 1)


def _broken(text: str, value: str) -> Iterator[Span]:
    pattern = _BREAK.join(re.escape(char) for char in value)
    yield from (Span(*match.span(), KIND) for match in re.finditer(pattern, text))
