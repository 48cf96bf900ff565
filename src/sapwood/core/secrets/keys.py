"""Private keys in armour: from the line that opens them to the line that closes them."""

import re
from collections.abc import Iterator

from sapwood.core.secrets.span import Span

__all__ = ["KIND", "private_keys"]

KIND = "private-key"
_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_OPEN = "-----BEGIN "
_CLOSE = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_LONGEST = 30_000
# What a key's lines hold when its end was cut off: a line number or quote, and armour.
_BODY = re.compile(
    r"(?:(?:\\[nr]|\s)+(?:\d+[\t:|]\s?)?[\"'+> ]*[A-Za-z0-9+/=]{16,}[\"',]*)*", re.ASCII
)


def private_keys(text: str) -> Iterator[Span]:
    """Every private key in the text, also one whose end is missing."""
    if _OPEN not in text:
        return
    place = 0
    while opening := _BEGIN.search(text, place):
        place = _end(text, opening.end())
        yield Span(opening.start(), place, KIND)


def _end(text: str, place: int) -> int:
    following = text.find(_OPEN, place, place + _LONGEST)
    limit = following if following >= 0 else place + _LONGEST
    closing = text.find("-----END ", place, limit)
    closed = _CLOSE.match(text, closing) if closing >= 0 else None
    if closed:
        return closed.end()
    body = _BODY.match(text, place)
    return body.end() if body else place
