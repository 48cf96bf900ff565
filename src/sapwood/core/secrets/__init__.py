"""Secrets in text: where they stand, and the text without them.

Pure, and the same at every run: a secret becomes `[secret: github-token …9xQ2]`, so that two
texts with the same key still read alike and the key cannot be had back. Not a proof: what has no
known form, no telling name before it and was not given as known stays, and so does a token whose
own text is broken over lines.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from sapwood.core.secrets.assignments import KINDS as ASSIGNED
from sapwood.core.secrets.assignments import assignments
from sapwood.core.secrets.keys import KIND as PRIVATE_KEY
from sapwood.core.secrets.keys import private_keys
from sapwood.core.secrets.known import KIND as KNOWN
from sapwood.core.secrets.known import known_values
from sapwood.core.secrets.narrow import Narrow
from sapwood.core.secrets.span import Span
from sapwood.core.secrets.tokens import KINDS as TOKENS
from sapwood.core.secrets.tokens import tokens
from sapwood.core.secrets.urls import KIND as URL
from sapwood.core.secrets.urls import url_passwords

__all__ = ["Secret", "find_masks", "find_secrets", "mask_secrets"]

_VAGUE = frozenset({*ASSIGNED, URL})
"""Kinds that say where a secret stood and not what it was: another name for it is better."""
_KINDS = "|".join(sorted({*_VAGUE, *TOKENS, KNOWN, PRIVATE_KEY}))
_MASK = re.compile(rf"\[secret: (?:{_KINDS})(?: …[\w=+/.~-]{{4}})?\]", re.ASCII)
_TAIL = re.compile(r"[\w=+/.~-]{4}", re.ASCII)
_ENOUGH_FOR_A_TAIL = 20
"""The last four characters tell keys apart; of a short secret they would tell too much."""


class Secret(Struct, frozen=True, gc=False):
    """A secret: its kind, and where it stands in the text that was searched."""

    kind: str
    start: int
    end: int


def find_secrets(text: str, known: Sequence[str] = ()) -> list[Secret]:
    """The secrets in a text, in order and apart from each other. Masks are none.

    `known` are values that are secret wherever they stand, such as the user's own keys; those of
    fewer than eight characters are passed over, because they would hide ordinary words.

    >>> find_secrets("ANTHROPIC_API_KEY=sk-ant-api03-0aB1cD2eF3gH4iJ5kL6mN7")
    [Secret(kind='anthropic-key', start=18, end=53)]
    """
    narrow = Narrow(text)
    found = [
        *tokens(narrow),
        *private_keys(narrow.text),
        *url_passwords(narrow.text),
        *assignments(narrow.text, narrow.lower),
    ]
    spans = [*known_values(text, known), *narrow.places(found)]
    return list(_apart(_outside_of_masks(text, spans))) if spans else []


def mask_secrets(text: str, known: Sequence[str] = ()) -> str:
    """The text with every secret replaced by its mask. Masking twice changes nothing more.

    >>> mask_secrets("git clone https://me:hunter2024@example.org/wood.git")
    'git clone https://me:[secret: url-password]@example.org/wood.git'
    >>> mask_secrets("commit 5f0c8a7d3b1e9f2464c7a0d8e5b3f1a29c6d7e80")
    'commit 5f0c8a7d3b1e9f2464c7a0d8e5b3f1a29c6d7e80'
    """
    # A mask is a boundary, next to which a token may show that was part of a longer word before.
    # Each round hides more of what was not hidden yet, so there is a last one.
    while found := find_secrets(text, known):
        text = "".join(_pieces(text, found))
    return text


def find_masks(text: str) -> list[str]:
    """The masks that stand in a text.

    >>> find_masks("TOKEN=[secret: github-token …9xQ2]")
    ['[secret: github-token …9xQ2]']
    """
    return _MASK.findall(text) if "[secret: " in text else []


def _outside_of_masks(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    """Without what is part of a mask; a span may hold a whole mask and more."""
    masks = [match.span() for match in _MASK.finditer(text)]
    starts = [start for start, _ in masks]

    def cuts(place: int) -> bool:
        before = bisect_left(starts, place) - 1
        return before >= 0 and place < masks[before][1]

    whole = set(masks)
    for span in spans:
        if not (cuts(span.start) or cuts(span.end) or (span.start, span.end) in whole):
            yield span


def _apart(spans: Iterable[Span]) -> Iterator[Secret]:
    """In order, overlapping ones joined, so that nothing of either shows."""
    current: Span | None = None
    for span in sorted(spans):
        if current is None:
            current = span
        elif span.start < current.end:
            kind = span.kind if current.kind in _VAGUE else current.kind
            current = Span(current.start, max(current.end, span.end), kind)
        else:
            yield Secret(current.kind, current.start, current.end)
            current = span
    if current is not None:
        yield Secret(current.kind, current.start, current.end)


def _pieces(text: str, found: Iterable[Secret]) -> Iterator[str]:
    place = 0
    for secret in found:
        yield text[place : secret.start]
        yield _mask(secret.kind, text[secret.start : secret.end])
        place = secret.end
    yield text[place:]


def _mask(kind: str, value: str) -> str:
    tail = value[-4:]
    if len(value) < _ENOUGH_FOR_A_TAIL or not _TAIL.fullmatch(tail) or kind == PRIVATE_KEY:
        return f"[secret: {kind}]"
    return f"[secret: {kind} …{tail}]"
