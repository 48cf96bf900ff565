"""Finds secrets in a text and replaces them by masks.

A secret becomes `[secret: github-token …9xQ2]`. The same text always gives the same masks, and the
secret cannot be recovered from its mask. The rules find tokens of a known form, values after a name
such as `password`, secrets by their place, and values that the caller passes as known; also behind
escapes and colours. They do not find other secrets, nor a token that is broken over several lines.

The time grows with the length of the text only. A long text is searched in pieces, so that another
thread never waits long.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from sapwood.redaction.assignments import ASSIGNED_KINDS
from sapwood.redaction.byte_text import ByteText, Span
from sapwood.redaction.credential_places import PLACE_KINDS, URL_PASSWORD
from sapwood.redaction.known_values import KNOWN_KEY, forms_of_known_values
from sapwood.redaction.private_keys import PRIVATE_KEY
from sapwood.redaction.secret_search import find_spans
from sapwood.redaction.token_search import TOKEN_KINDS

__all__ = ["Secret", "find_masks", "find_secrets", "mask_secrets"]

_VAGUE_KINDS = frozenset({*ASSIGNED_KINDS, URL_PASSWORD})
"""Kinds that say where a secret was found, not what it is; any other kind is preferred."""
_KINDS = "|".join(sorted({*_VAGUE_KINDS, *PLACE_KINDS, *TOKEN_KINDS, KNOWN_KEY, PRIVATE_KEY}))
_MASK = re.compile(rf"\[secret: (?:{_KINDS})(?: …[\w=+/.~-]{{4}})?\]", re.ASCII)
_TAIL = re.compile(r"[\w=+/.~-]{4}", re.ASCII)
_MOST_ROUNDS = 8
_TAIL_MIN_LENGTH = 20
"""A mask shows the last four characters only of secrets of this length or longer."""


class Secret(Struct, frozen=True, gc=False):
    """A secret: its kind, and its start and end in the searched text."""

    kind: str
    start: int
    end: int


def find_secrets(text: str, known: Sequence[str] = ()) -> list[Secret]:
    """Returns the secrets of a text in order; they do not overlap, and masks are not secrets.

    `known` are values that are always secret, such as the user's own API keys. Known values of
    fewer than eight characters are ignored, because they would mask ordinary words.

    >>> find_secrets("ANTHROPIC_API_KEY=sk-ant-api03-0aB1cD2eF3gH4iJ5kL6mN7")
    [Secret(kind='anthropic-key', start=18, end=53)]
    """
    byte_text = ByteText(text)
    found = find_spans(byte_text.text, forms_of_known_values(known))
    spans = list(byte_text.character_spans(found))
    return list(_joined(_outside_masks(text, spans))) if spans else []


def mask_secrets(
    text: str, known: Sequence[str] = (), *, only: Callable[[str], bool] | None = None
) -> str:
    """Returns the text with every secret replaced by its mask. Masking twice changes nothing more.

    If `only` is given, secrets for which it returns False stay as they are.

    >>> mask_secrets("git clone https://me:hunter2024@example.org/wood.git")
    'git clone https://me:[secret: url-password]@example.org/wood.git'
    >>> mask_secrets("commit 5f0c8a7d3b1e9f2464c7a0d8e5b3f1a29c6d7e80")
    'commit 5f0c8a7d3b1e9f2464c7a0d8e5b3f1a29c6d7e80'
    """
    # A mask ends a word, so a token may appear beside it that was part of a longer word before.
    for _ in range(_MOST_ROUNDS):
        found = find_secrets(text, known)
        if only is not None:
            found = [secret for secret in found if only(text[secret.start : secret.end])]
        if not found:
            break
        pieces = _pieces(text, found)
        text = "".join(pieces)
        if not _touch_words(pieces):
            break
    return text


def find_masks(text: str) -> list[str]:
    """Returns the masks in a text.

    >>> find_masks("TOKEN=[secret: github-token …9xQ2]")
    ['[secret: github-token …9xQ2]']
    """
    return _MASK.findall(text) if "[secret: " in text else []


def _touch_words(pieces: list[str]) -> bool:
    """Whether a letter or digit stands directly before or after a mask."""
    return any(text[-1:].isalnum() for text in pieces[:-1:2]) or any(
        text[:1].isalnum() for text in pieces[2::2]
    )


def _outside_masks(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    """Leaves out spans that lie inside a mask; a span may contain a whole mask and more."""
    masks = [match.span() for match in _MASK.finditer(text)]
    if not masks:
        yield from spans
        return
    starts = [start for start, _ in masks]

    def is_inside(position: int) -> bool:
        before = bisect_left(starts, position) - 1
        return before >= 0 and position < masks[before][1]

    whole = set(masks)
    for span in spans:
        if not (is_inside(span.start) or is_inside(span.end) or (span.start, span.end) in whole):
            yield span


def _joined(spans: Iterable[Span]) -> Iterator[Secret]:
    """Sorts the spans and joins those that overlap, so that no part of either stays visible."""
    current: Span | None = None
    for span in sorted(spans):
        if current is None:
            current = span
        elif span.start < current.end:
            kind = span.kind if current.kind in _VAGUE_KINDS else current.kind
            current = Span(current.start, max(current.end, span.end), kind)
        else:
            yield Secret(current.kind, current.start, current.end)
            current = span
    if current is not None:
        yield Secret(current.kind, current.start, current.end)


def _pieces(text: str, found: Iterable[Secret]) -> list[str]:
    """Cuts the text into what is not secret and masks, in turn."""
    pieces: list[str] = []
    position = 0
    for secret in found:
        start, end = secret.start, secret.end
        pieces += (text[position:start], _mask(secret.kind, text[start:end]))
        position = end
    pieces.append(text[position:])
    return pieces


def _mask(kind: str, value: str) -> str:
    if len(value) < _TAIL_MIN_LENGTH or kind == PRIVATE_KEY:
        return f"[secret: {kind}]"
    tail = value[-4:]
    if not _TAIL.fullmatch(tail):
        return f"[secret: {kind}]"
    return f"[secret: {kind} …{tail}]"
