"""Phrase patterns: word patterns, one a line, that a sentence is searched for.

    we|i will just|rather* use|keep     alternatives; `*` is any number of times, `?` is optional
    so _ no _ $                         `_` is any word, `$` the end of a clause
    let's !see|look                     `!` is any word except these, `@name` a named list of words
    rather than ... we'll               `...` is any words, up to a limit

Patterns are parsed at first use, so that importing them costs nothing. They are indexed by their
first word: a search for a few hundred patterns costs one look-up for each word of a sentence.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

_TOKEN = re.compile(r"\w+(?:['./+#-]+\w+)*[+#%]*|[,;:.!?()…]")
_PUNCTUATION = frozenset(",;:.!?()…")
_MAX_GAP = 12


@lru_cache(maxsize=2048)
def tokens(sentence: str) -> tuple[str, ...]:
    """Returns the words and punctuation marks of a sentence, in lower case.

    >>> tokens("Let's use C++, v1.2.")
    ("let's", 'use', 'c++', ',', 'v1.2', '.')
    """
    return tuple(_TOKEN.findall(sentence.lower()))


class _Part(Struct, frozen=True):
    """One element of a phrase pattern."""

    words: frozenset[str] = frozenset()
    none_of: bool = False
    end: bool = False
    gap: bool = False
    least: int = 1
    most: int = 1

    def matches(self, token: str) -> bool:
        if token in _PUNCTUATION:
            return token in self.words
        return token not in self.words if self.none_of else token in self.words


class Phrases:
    """A set of phrase patterns with the same meaning."""

    def __init__(self, text: str, lists: Mapping[str, str] | None = None) -> None:
        self._text = text
        self._lists = lists or {}
        self._by_word: dict[str, list[tuple[_Part, ...]]] = {}
        self._anywhere: list[tuple[_Part, ...]] = []
        self._is_parsed = False

    def search(self, words: Sequence[str]) -> bool:
        """Whether one of the phrases occurs anywhere in the tokens."""
        if not self._is_parsed:
            self._parse()
        if self._anywhere:
            return any(self.end_at(words, position) is not None for position in range(len(words)))
        by_word = self._by_word
        return any(
            _end(phrase, words, position) is not None
            for position, token in enumerate(words)
            if token in by_word
            for phrase in by_word[token]
        )

    def match(self, words: Sequence[str]) -> bool:
        """Whether the tokens begin with one of the phrases."""
        return self.end_at(words, 0) is not None

    def replace(self, words: Sequence[str], replacement: str) -> tuple[str, ...]:
        """Returns the tokens with each phrase replaced by one word."""
        replaced: list[str] = []
        position = 0
        while position < len(words):
            end = self.end_at(words, position)
            replaced.append(words[position] if end is None else replacement)
            position = position + 1 if end is None else max(end, position + 1)
        return tuple(replaced)

    def end_at(self, words: Sequence[str], start: int) -> int | None:
        """Returns where the phrase ends that begins at `start`; None if no phrase begins there."""
        if not self._is_parsed:
            self._parse()
        if start >= len(words):
            return None
        for phrases in (self._by_word.get(words[start], ()), self._anywhere):
            for phrase in phrases:
                end = _end(phrase, words, start)
                if end is not None:
                    return end
        return None

    def _parse(self) -> None:
        self._is_parsed = True
        for line in self._text.splitlines():
            parts = tuple(_part(written, self._lists) for written in line.split())
            if not parts:
                continue
            first = parts[0]
            if first.none_of or first.least == 0:
                self._anywhere.append(parts)
                continue
            for word in first.words:
                self._by_word.setdefault(word, []).append(parts)


def _part(written: str, lists: Mapping[str, str]) -> _Part:
    if written == "...":
        return _Part(gap=True)
    if written == "$":
        return _Part(end=True)
    least, most = 1, 1
    if len(written) > 1 and written[-1] in "?*":
        least, most = 0, 1 if written[-1] == "?" else _MAX_GAP
        written = written[:-1]
    if written == "_":
        return _Part(none_of=True, least=least, most=most)
    none_of = written.startswith("!") and len(written) > 1
    words: set[str] = set()
    for word in written.removeprefix("!" if none_of else "").split("|"):
        words.update(lists[word[1:]].split() if word.startswith("@") else [word])
    return _Part(frozenset(words), none_of, least=least, most=most)


def _end(phrase: Sequence[_Part], words: Sequence[str], start: int) -> int | None:
    """Returns where a phrase ends that begins at `start`; None if it does not match there."""
    if not phrase:
        return start
    part, rest = phrase[0], phrase[1:]
    if part.end:
        is_end = start >= len(words) or words[start] in _PUNCTUATION
        return _end(rest, words, start) if is_end else None
    if part.gap:
        ends = (_end(rest, words, at) for at in range(start, min(len(words), start + _MAX_GAP) + 1))
        return next((end for end in ends if end is not None), None)
    count = 0
    while count < part.most and start + count < len(words) and part.matches(words[start + count]):
        count += 1
    for used in range(count, part.least - 1, -1):
        end = _end(rest, words, start + used)
        if end is not None:
            return end
    return None
