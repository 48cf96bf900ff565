"""Searches a text for secrets of every sort, in pieces, so that no single step takes long.

Python releases its lock only between steps, so a step over a whole text would block every other
thread. The pieces overlap: a secret that begins in one piece may end in the next.
"""

import re
from collections.abc import Iterator, Sequence

from sapwood.redaction.assignments import find_assigned_values
from sapwood.redaction.byte_text import Searched, Span
from sapwood.redaction.credential_places import find_placed_secrets
from sapwood.redaction.escapes import decoded_texts
from sapwood.redaction.known_values import find_known_values
from sapwood.redaction.private_keys import find_private_keys
from sapwood.redaction.token_search import find_tokens

__all__ = ["find_spans"]

_PIECE = 256 * 1024
_BEFORE = 512
"""Characters before a piece that are searched with it, as the context of what begins in it."""
_AFTER = 32 * 1024
"""Characters after a piece that are searched with it: at least the longest private key."""
_REST_OF_WORD = re.compile(r"[\w.~+/=%-]*+", re.ASCII)


def find_spans(text: str, known: Sequence[str]) -> list[Span]:
    """Returns the span of every secret, unordered. The text has one character a byte."""
    if len(text) <= _PIECE + _AFTER:
        return list(_search(text, known))
    found: list[Span] = []
    for start in range(0, len(text), _PIECE):
        first = max(0, start - _BEFORE)
        last = min(len(text), start + _PIECE + _AFTER)
        found.extend(
            _whole(text, first, last, span)
            for span in _search(text[first:last], known)
            if start <= first + span.start < start + _PIECE
        )
    return found


def _whole(text: str, first: int, last: int, span: Span) -> Span:
    """Returns the span in the whole text; a word that reaches the end of a piece is continued."""
    end = first + span.end
    if end == last:
        rest = _REST_OF_WORD.match(text, end)
        end = rest.end() if rest else end
    return Span(first + span.start, end, span.kind)


def _search(text: str, known: Sequence[str]) -> Iterator[Span]:
    yield from _search_once(text, known)
    for decoded in decoded_texts(text):
        for span in _search_once(decoded.text, known):
            original = decoded.original_span(span)
            if original is not None and original.start < original.end:
                yield original


def _search_once(text: str, known: Sequence[str]) -> Iterator[Span]:
    searched = Searched(text)
    yield from find_tokens(searched)
    yield from find_private_keys(text)
    yield from find_placed_secrets(searched)
    yield from find_assigned_values(searched)
    yield from find_known_values(text, known)
