"""Names for topics: the few words that a colleague would say.

A name is made of nouns of the topic's own sentences, best of its first prompt: words that stand
close together there, are said often in the topic and seldom elsewhere. What is a noun is guessed
from a list of words that are none.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from sapwood.core.ledger.speech.words import content_words, stem
from sapwood.garden.topics.features import GENERIC, TurnFeatures

__all__ = ["name_of"]

_FIRST, _ASKED, _ANSWERED = 2.0, 1.0, 0.7
"""What a phrase is worth in the first prompt, in a later one, and in a reply."""
_WHOLE, _APART, _SINGLE = 1.0, 0.8, 0.55
"""What it is worth if its words stand side by side, if there are others between, and alone."""
_BESIDE = 0.7
"""What the second and third word of a phrase add, as a share of the first."""
_REACH = 4
_GENERIC = 0.3
_EDGE = re.compile(r"^[^\w#+.]+|[^\w#+]+$")
_BREAK = re.compile(r"[,;:!?()\"…–]$|\.$")
_NO_NAME = re.compile(r"^[\W\d_]|^\d|ly$")
_NO_NOUNS = frozenset(
    stem(word)
    for word in """add allow arrive ask avoid become begin break bring build built buy call
    change check cheap cheaper come complain contain create delete different disappear done
    enable expire explain fail fill find fix follow found full funny get give go gone got
    happen have help hit hold hurt include insist install installed keep kept know lately
    leave less let load look made make mean migrate move need open other page pass phrase
    possible print proper propose put raise read real remove rename reorder replace return
    run say says see seen send sent set show shown simple skip some start stop suggest
    switch take tell think tiny total totally try turn understand update use wait want whole
    work write written wrong""".split()
)


def name_of(turns: Sequence[TurnFeatures], others: Sequence[TurnFeatures], taken: set[str]) -> str:
    """A name for the topic of these turns that none of the taken ones is."""
    here, elsewhere = _said(turns), _said(others)
    weights = {
        word: times * times / (times + elsewhere.get(word, 0.0)) * _meaning(word)
        for word, times in here.items()
    }
    scores: dict[str, float] = {}
    for sentence, worth in _sentences(turns).items():
        for phrase, words, shape in _phrases(sentence):
            score = worth * shape * _worth(words, weights)
            if score > scores.get(phrase, -1.0):
                scores[phrase] = score
    for phrase in sorted(scores, key=lambda each: (-scores[each], -len(each))):
        if phrase.casefold() not in taken:
            return phrase
    return "conversation" if "conversation" not in taken else f"topic {len(taken) + 1}"


def _said(turns: Sequence[TurnFeatures]) -> dict[str, float]:
    found: dict[str, float] = {}
    for turn in turns:
        for word, weight in turn.terms.items():
            found[word] = found.get(word, 0.0) + weight
    return found


def _meaning(word: str) -> float:
    return _GENERIC if word in GENERIC else 1.0


def _sentences(turns: Sequence[TurnFeatures]) -> dict[str, float]:
    """Every sentence, with what it is worth where it is worth most."""
    found: dict[str, float] = {}
    for place, turn in enumerate(turns):
        for sentence in turn.asked:
            found[sentence] = max(found.get(sentence, 0.0), _ASKED if place else _FIRST)
        for sentence in turn.answered:
            found.setdefault(sentence, _ANSWERED)
    return found


def _worth(words: Sequence[str], weights: dict[str, float]) -> float:
    said = [weights.get(word, 0.0) for word in words]
    first = max(said)
    return first + _BESIDE * (sum(said) - first)


class _Noun(NamedTuple):
    word: str
    stem: str
    place: int


def _phrases(sentence: str) -> Iterator[tuple[str, list[str], float]]:
    """Nouns of a sentence, alone and with those that follow them closely; stems; their shape."""
    for clause in _clauses(sentence):
        for start, noun in enumerate(clause):
            yield noun.word, [noun.stem], _SINGLE
            for size in (2, 3):
                run = clause[start : start + size]
                distance = run[-1].place - noun.place
                if len(run) < size or distance > _REACH or len({n.stem for n in run}) < size:
                    break
                shape = _WHOLE if distance == size - 1 else _APART
                if shape == _WHOLE or size == 2:
                    yield " ".join(n.word for n in run), [n.stem for n in run], shape


def _clauses(sentence: str) -> Iterator[list[_Noun]]:
    """The words of each part of a sentence that could be nouns."""
    nouns: list[_Noun] = []
    for place, raw in enumerate(sentence.split()):
        word, stemmed, ends = _looked_at(raw)
        if stemmed:
            nouns.append(_Noun(word, stemmed, place))
        if ends:
            yield nouns
            nouns = []
    yield nouns


@lru_cache(maxsize=32_768)
def _looked_at(raw: str) -> tuple[str, str, bool]:
    """A word as it stands in a sentence: bare; its stem if it may be a noun; if a clause ends."""
    word, ends = _EDGE.sub("", raw), bool(_BREAK.search(raw))
    stems = content_words(word)
    is_noun = len(stems) == 1 and stems[0] not in _NO_NOUNS and not _NO_NAME.search(word)
    return word, stems[0] if is_noun else "", ends
