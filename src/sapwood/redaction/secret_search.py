"""Searches a text for secrets of every sort, in pieces, so that no single step takes long.

Python releases its lock only between steps, so a step over a whole text would block every other
thread. The pieces overlap: a secret that begins in one piece may end in the next.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from sapwood.redaction.anchors import pattern_of_any
from sapwood.redaction.assignments import ASSIGNED_ANCHORS, find_assigned_values
from sapwood.redaction.broken_tokens import find_broken_tokens
from sapwood.redaction.byte_text import Searched, Span
from sapwood.redaction.command_lines import COMMAND_ANCHORS, find_command_secrets, find_key_pairs
from sapwood.redaction.credential_places import PLACE_ANCHORS, find_placed_secrets
from sapwood.redaction.encoded_words import ENCODED_SECRET, encoded_words
from sapwood.redaction.escapes import decoded_texts
from sapwood.redaction.known_values import find_known_values
from sapwood.redaction.private_keys import KEY_ANCHORS, find_private_keys
from sapwood.redaction.stated_secrets import STATED_ANCHORS, find_stated_secrets
from sapwood.redaction.token_search import find_tokens

_PIECE = 128 * 1024
_BEFORE = 512
"""Characters before a piece that are searched with it, as the context of what begins in it."""
_AFTER = 10 * 1024
"""Characters after a piece that are searched with it: at least the longest list of cookies."""
_AFTER_KEY = 32 * 1024
"""The same if the text may have a private key: at least the longest one."""
_LONG_KNOWN = 1_024
_ONE_WORD = re.compile(r"[\w./-]*+", re.ASCII)
"""A text such as an id or a path. It may be a token, but it has no name with a value beside it."""
_SHORT = 400
"""Up to this length, one search for any anchor is faster than one for each."""
_ANY_ANCHOR = pattern_of_any(
    (*KEY_ANCHORS, *PLACE_ANCHORS, *COMMAND_ANCHORS, *STATED_ANCHORS, *ASSIGNED_ANCHORS)
)
_APART = "\n\0\n\0\n\0\n"
"""Between texts that are searched at once: no rule finds a secret across it."""
_REST_OF_WORD = re.compile(r"[\w.~+/=%-]*+", re.ASCII)


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
        *find_private_keys(text),
        *find_placed_secrets(searched),
        *find_command_secrets(searched),
        *find_stated_secrets(searched),
        *find_assigned_values(searched),
    ]
