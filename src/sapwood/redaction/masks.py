"""Replaces the secrets of a text by masks: the work behind the functions of the package."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

from sapwood.redaction import Secret
from sapwood.redaction.assignments import ASSIGNED_KINDS
from sapwood.redaction.byte_text import ByteText, Span
from sapwood.redaction.credential_places import PLACE_KINDS, URL_PASSWORD
from sapwood.redaction.encoded_words import ENCODED_SECRET
from sapwood.redaction.known_values import KNOWN_KEY, forms_of_known_values
from sapwood.redaction.private_keys import PRIVATE_KEY
from sapwood.redaction.secret_search import find_spans
from sapwood.redaction.token_search import TOKEN_KINDS

_VAGUE_KINDS = frozenset({*ASSIGNED_KINDS, URL_PASSWORD})
"""Kinds that say where a secret was found, not what it is; any other kind is preferred."""
_KINDS = "|".join(
    sorted({*_VAGUE_KINDS, *PLACE_KINDS, *TOKEN_KINDS, KNOWN_KEY, PRIVATE_KEY, ENCODED_SECRET})
)
_TAIL = re.compile(r"[\w=+/.~-]{4}", re.ASCII)
_FILLER = re.compile(r"(?:[A-Za-z0-9]{1,10}[-_]){0,3}(\w)\1{15,}", re.ASCII)
_MAX_ROUNDS = 8
_TAIL_MIN_LENGTH = 20
"""A mask shows the last four characters only of secrets of this length or longer."""


@cache
def _mask_pattern() -> re.Pattern[str]:
    """The pattern of every mask; compiled when a text has one."""
    return re.compile(rf"\[secret: (?:{_KINDS})(?: …[\w=+/.~-]{{4}})?\]", re.ASCII)


def find_secrets(text: str, known: Sequence[str] = ()) -> list[Secret]:
    """See `sapwood.redaction.find_secrets`."""
    byte_text = ByteText(text)
    found = find_spans(byte_text.text, forms_of_known_values(known))
    spans = [span for span in byte_text.character_spans(found) if not _is_filler(text, span)]
    return list(_joined(_outside_masks(text, spans))) if spans else []


def _is_filler(text: str, span: Span) -> bool:
    """Whether a token is an example, one character many times after its prefix: `sk-xxxxxxxx…`."""
    is_certain = span.kind in (KNOWN_KEY, PRIVATE_KEY)
    return not is_certain and bool(_FILLER.fullmatch(text, span.start, span.end))


def mask_secrets(
    text: str, known: Sequence[str] = (), *, only: Callable[[str], bool] | None = None
) -> str:
    """See `sapwood.redaction.mask_secrets`."""
    # A mask ends a word, so a token may appear beside it that was part of a longer word before.
    for _ in range(_MAX_ROUNDS):
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
    """See `sapwood.redaction.find_masks`."""
    return _mask_pattern().findall(text)


def _touch_words(pieces: list[str]) -> bool:
    """Whether a letter or digit stands directly before or after a mask."""
    return any(text[-1:].isalnum() for text in pieces[:-1:2]) or any(
        text[:1].isalnum() for text in pieces[2::2]
    )


def _outside_masks(text: str, spans: Iterable[Span]) -> Iterator[Span]:
    """Leaves out spans that lie inside a mask; a span may contain a whole mask and more."""
    masks: list[tuple[int, int]] = []
    if "[secret: " in text:
        masks = [match.span() for match in _mask_pattern().finditer(text)]
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
