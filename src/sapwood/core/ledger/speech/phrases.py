"""Phrases: patterns of words, written one a line as one would say them.

    we|i will just|rather* use|keep     alternatives; `*` for any number of times, `?` for perhaps
    so _ no _ $                         `_` is any word, `$` the end of a clause
    let's !see|look                     `!` is any word but these, `@name` a named list of words
    rather than ... we'll               `...` is anything for a while

Made when they are first used: a program that never asks pays nothing, and looking for a few hundred
phrases in a sentence costs a look-up a word.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

__all__ = ["Phrases", "tokens"]

_TOKEN = re.compile(r"\w+(?:['./+#-]+\w+)*[+#%]*|[,;:.!?()…]")
_MARKS = frozenset(",;:.!?()…")
_FAR = 12


@lru_cache(maxsize=2048)
def tokens(sentence: str) -> tuple[str, ...]:
    """Words and marks of a sentence, in lower case.

    >>> tokens("Let's use C++, v1.2.")
    ("let's", 'use', 'c++', ',', 'v1.2', '.')
    """
    return tuple(_TOKEN.findall(sentence.lower()))


class _Part(Struct, frozen=True):
    """One place of a phrase."""

    words: frozenset[str] = frozenset()
    none_of: bool = False
    end: bool = False
    gap: bool = False
    least: int = 1
    most: int = 1

    def fits(self, token: str) -> bool:
        if token in _MARKS:
            return token in self.words
        return token not in self.words if self.none_of else token in self.words


class Phrases:
    """Some phrases that mean the same."""

    def __init__(self, text: str, lists: Mapping[str, str] | None = None) -> None:
        self._text = text
        self._lists = lists or {}
        self._by_word: dict[str, list[tuple[_Part, ...]]] = {}
        self._anywhere: list[tuple[_Part, ...]] = []
        self._is_made = False

    def search(self, said: Sequence[str]) -> bool:
        """Whether one of them stands anywhere."""
        if not self._is_made:
            self._make()
        if self._anywhere:
            return any(self.end_at(said, place) is not None for place in range(len(said)))
        by_word = self._by_word
        return any(
            _end(phrase, said, place) is not None
            for place, token in enumerate(said)
            if token in by_word
            for phrase in by_word[token]
        )

    def match(self, said: Sequence[str]) -> bool:
        """Whether one of them stands at the beginning."""
        return self.end_at(said, 0) is not None

    def without(self, said: Sequence[str], instead: str) -> tuple[str, ...]:
        """What was said with one word in the place of each phrase."""
        left: list[str] = []
        place = 0
        while place < len(said):
            end = self.end_at(said, place)
            left.append(said[place] if end is None else instead)
            place = place + 1 if end is None else max(end, place + 1)
        return tuple(left)

    def end_at(self, said: Sequence[str], place: int) -> int | None:
        """Where the phrase ends that begins at a place; None if none does."""
        if not self._is_made:
            self._make()
        if place >= len(said):
            return None
        for phrases in (self._by_word.get(said[place], ()), self._anywhere):
            for phrase in phrases:
                end = _end(phrase, said, place)
                if end is not None:
                    return end
        return None

    def _make(self) -> None:
        self._is_made = True
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
        least, most = 0, 1 if written[-1] == "?" else _FAR
        written = written[:-1]
    if written == "_":
        return _Part(none_of=True, least=least, most=most)
    none_of = written.startswith("!") and len(written) > 1
    words: set[str] = set()
    for word in written.removeprefix("!" if none_of else "").split("|"):
        words.update(lists[word[1:]].split() if word.startswith("@") else [word])
    return _Part(frozenset(words), none_of, least=least, most=most)


def _end(phrase: Sequence[_Part], said: Sequence[str], place: int) -> int | None:
    if not phrase:
        return place
    part, rest = phrase[0], phrase[1:]
    if part.end:
        is_end = place >= len(said) or said[place] in _MARKS
        return _end(rest, said, place) if is_end else None
    if part.gap:
        ends = (_end(rest, said, at) for at in range(place, min(len(said), place + _FAR) + 1))
        return next((end for end in ends if end is not None), None)
    taken = 0
    while taken < part.most and place + taken < len(said) and part.fits(said[place + taken]):
        taken += 1
    for used in range(taken, part.least - 1, -1):
        end = _end(rest, said, place + used)
        if end is not None:
            return end
    return None
