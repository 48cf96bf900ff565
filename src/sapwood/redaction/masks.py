"""Replaces the secrets of a text by masks: the work behind the functions of the package.

Searches a text for secrets of every sort, in pieces, so that no single step takes long.

Python releases its lock only between steps, so a step over a whole text would block every other
thread. The pieces overlap: a secret that begins in one piece may end in the next.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate

from sapwood.redaction import Secret
from sapwood.redaction.assignments import ASSIGNED_ANCHORS, ASSIGNED_KINDS, find_assigned_values
from sapwood.redaction.byte_text import ByteText, LazyPattern, Searched, Span, pattern_of_any
from sapwood.redaction.command_lines import COMMAND_ANCHORS, find_command_secrets, find_key_pairs
from sapwood.redaction.credential_places import (
    PLACE_ANCHORS,
    PLACE_KINDS,
    URL_PASSWORD,
    find_placed_secrets,
)
from sapwood.redaction.escapes import decoded_texts
from sapwood.redaction.known_values import KNOWN_KEY, find_known_values, forms_of_known_values
from sapwood.redaction.private_keys import KEY_ANCHORS, PRIVATE_KEY, find_private_keys
from sapwood.redaction.stated_secrets import STATED_ANCHORS, find_stated_secrets
from sapwood.redaction.token_search import (
    ENCODED_SECRET,
    TOKEN_KINDS,
    encoded_words,
    find_broken_tokens,
    find_tokens,
)

_VAGUE_KINDS = frozenset({*ASSIGNED_KINDS, URL_PASSWORD})
"""Kinds that say where a secret was found, not what it is; any other kind is preferred."""
_KINDS = "|".join(
    sorted({*_VAGUE_KINDS, *PLACE_KINDS, *TOKEN_KINDS, KNOWN_KEY, PRIVATE_KEY, ENCODED_SECRET})
)
_TAIL = LazyPattern(r"[\w=+/.~-]{4}", re.ASCII)
_FILLER = LazyPattern(r"(?:[A-Za-z0-9]{1,10}[-_]){0,3}(\w)\1{15,}", re.ASCII)
_MAX_ROUNDS = 8
_REPEATED = 64
"""Up to this length, a text without a secret is remembered: names and ids come again and again."""
_MAX_REMEMBERED = 4_096
_without_secret: set[tuple[str, tuple[str, ...]]] = set()
"""Short texts in which nothing was found, each with the known values at that time."""
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
    if len(text) > _REPEATED:
        return _masked(text, known, only)
    key = text, tuple(known)
    if key in _without_secret:
        return text
    masked = _masked(text, known, only)
    if only is None and masked == text:
        if len(_without_secret) >= _MAX_REMEMBERED:
            _without_secret.clear()
        _without_secret.add(key)
    return masked


def _masked(text: str, known: Sequence[str], only: Callable[[str], bool] | None) -> str:
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


_PIECE = 128 * 1024
_BEFORE = 512
"""Characters before a piece that are searched with it, as the context of what begins in it."""
_AFTER = 10 * 1024
"""Characters after a piece that are searched with it: at least the longest list of cookies."""
_AFTER_KEY = 32 * 1024
"""The same if the text may have a private key: at least the longest one."""
_LONG_KNOWN = 1_024
_ONE_WORD = LazyPattern(r"[\w./-]*+", re.ASCII)
"""A text such as an id or a path. It may be a token, but it has no name with a value beside it."""
_SHORT = 400
"""Up to this length, one search for any anchor is faster than one for each."""
_ANY_ANCHOR = pattern_of_any(
    (*KEY_ANCHORS, *PLACE_ANCHORS, *COMMAND_ANCHORS, *STATED_ANCHORS, *ASSIGNED_ANCHORS)
)
_APART = "\n\0\n\0\n\0\n"
"""Between texts that are searched at once: no rule finds a secret across it."""
_REST_OF_WORD = LazyPattern(r"[\w.~+/=%-]*+", re.ASCII)


def find_spans(text: str, known: Sequence[str]) -> list[Span]:
    """Returns the span of every secret, unordered. The text has one character a byte."""
    if len(text) <= _PIECE + _AFTER:
        if _ONE_WORD.fullmatch(text):
            word = Searched(text)
            encoded = _encoded_secrets(word, known)
            return [*find_tokens(word), *encoded, *find_known_values(text, known)]
        return _search(text, known)
    after = _after(text, known)
    found: list[Span] = []
    for start in range(0, len(text), _PIECE):
        first = max(0, start - _BEFORE)
        last = min(len(text), start + _PIECE + after)
        for span in _search(text[first:last], known, start + _PIECE - first):
            begin, end = first + span.start, first + span.end
            if start <= begin < start + _PIECE:
                found.append(Span(begin, _word_end(text, end) if end == last else end, span.kind))
    return found


def _after(text: str, known: Sequence[str]) -> int:
    may_have_key = "PRIVATE" in text or "Private" in text or "RSAKeyValue" in text
    if may_have_key or any(len(value) > _LONG_KNOWN for value in known):
        return _AFTER_KEY
    return _AFTER


def _word_end(text: str, end: int) -> int:
    """Where the word ends that reaches the end of a piece."""
    rest = _REST_OF_WORD.match(text, end)
    return rest.end() if rest else end


def _search(text: str, known: Sequence[str], stop: int | None = None) -> list[Span]:
    found = _search_both(Searched(text, stop), known)
    for decoded in decoded_texts(text):
        for span in _search_both(Searched(decoded.text), known):
            original = decoded.original_span(span)
            if original is not None and original.start < original.end:
                found.append(original)
    return found


def _search_both(searched: Searched, known: Sequence[str]) -> list[Span]:
    """Searches a text as it is, and the words in it that are encoded."""
    found = _search_once(searched, known)
    return [*found, *_encoded_secrets(searched, known)] if searched.long_words else found


def _encoded_secrets(searched: Searched, known: Sequence[str]) -> Iterator[Span]:
    """Yields words that have a secret when they are decoded.

    All words are searched at once, because a search of a short text takes long for its length.
    """
    words = list(encoded_words(searched))
    if not words:
        return
    plain = [each for _, _, each in words]
    starts = list(accumulate((len(each) + len(_APART) for each in plain), initial=0))
    secret: set[int] = set()
    for span in _search_once(Searched(_APART.join(plain)), known):
        first = bisect_right(starts, span.start) - 1
        last = bisect_right(starts, span.end - 1) - 1
        # Only the header of a key and the footer of another can be found as one secret.
        touched = [first] if first == last else range(first, last + 1)
        secret.update(
            each for each in touched if first == last or _search_once(Searched(plain[each]), known)
        )
    yield from (Span(*words[each][:2], ENCODED_SECRET) for each in sorted(secret))


def _search_once(searched: Searched, known: Sequence[str]) -> list[Span]:
    text = searched.text
    found = list(find_known_values(text, known)) if known else []
    if searched.long_words:
        tokens = list(find_tokens(searched))
        found += [*tokens, *find_key_pairs(text, tokens), *find_broken_tokens(searched)]
    if len(text) <= _SHORT and not _ANY_ANCHOR.search(searched.lower):
        return found
    return [
        *found,
        *find_private_keys(searched),
        *find_placed_secrets(searched),
        *find_command_secrets(searched),
        *find_stated_secrets(searched),
        *find_assigned_values(searched),
    ]
