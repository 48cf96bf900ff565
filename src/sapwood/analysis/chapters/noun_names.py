"""Names of up to three nouns, for chapters whose prompts have no phrase that names them.

The best names have words that are close together, occur often in the chapter and rarely elsewhere,
and come from its first prompt. Any word that is not in a list of other words counts as a noun.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from sapwood.analysis.chapters.turn_features import GENERIC_WORDS, TurnFeatures
from sapwood.analysis.language.word_stems import content_words, stem

_FIRST, _ASKED = 2.0, 1.0
"""The factor of a phrase in the first prompt, and in a later one."""
_MOST_TURNS = 12
_ADJACENT, _SEPARATED, _SINGLE = 1.0, 0.8, 0.55
"""The factor of adjacent words, of words with others between them, and of a single word."""
_FURTHER_WORDS = 0.7
"""The factor of the second and third word of a phrase."""
_MAX_DISTANCE = 4
_GENERIC = 0.3
_EDGE = re.compile(r"^[^\w#+.]+|[^\w#+]+$")
_BREAK = re.compile(r"[,;:!?()\"…–]$|\.$")
_NOT_A_NAME = re.compile(r"^[\W\d_]|^\d|ly$")
_NOT_NOUNS = frozenset(
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


def noun_name(
    turns: Sequence[TurnFeatures], elsewhere: Mapping[str, float], taken: Collection[str]
) -> str:
    """Returns a name for these turns that is not taken; empty if they have no noun.

    `elsewhere` are the words of all turns of the session with their weights.
    """
    here = word_counts(turns)
    weights = {
        word: times * times / max(times, elsewhere.get(word, 0.0)) * _specificity(word)
        for word, times in here.items()
    }
    scores: dict[str, float] = {}
    for sentence, factor in _sentences(turns).items():
        for phrase, words, shape in _phrases(sentence):
            score = factor * shape * _phrase_weight(words, weights)
            if score > scores.get(phrase, -1.0):
                scores[phrase] = score
    for phrase in sorted(scores, key=lambda each: (-scores[each], -len(each))):
        if phrase.casefold() not in taken:
            return phrase
    return ""


def word_counts(turns: Iterable[TurnFeatures]) -> dict[str, float]:
    """Returns the words of some turns with the sums of their weights."""
    found: dict[str, float] = {}
    for turn in turns:
        for word, weight in turn.terms.items():
            found[word] = found.get(word, 0.0) + weight
    return found


def _specificity(word: str) -> float:
    return _GENERIC if word in GENERIC_WORDS else 1.0


def _sentences(turns: Sequence[TurnFeatures]) -> dict[str, float]:
    """Returns every sentence with its highest factor."""
    found: dict[str, float] = {}
    for index, turn in enumerate(turns[:_MOST_TURNS]):
        for sentence in turn.asked:
            found.setdefault(sentence, _ASKED if index else _FIRST)
    return found


def _phrase_weight(words: Sequence[str], weights: dict[str, float]) -> float:
    found = [weights.get(word, 0.0) for word in words]
    best = max(found)
    return best + _FURTHER_WORDS * (sum(found) - best)


class _Noun(NamedTuple):
    word: str
    stem: str
    position: int


def _phrases(sentence: str) -> Iterator[tuple[str, list[str], float]]:
    """Yields phrases of one to three nouns, their stems, and their shape factor."""
    for clause in _clauses(sentence):
        for start, noun in enumerate(clause):
            yield noun.word, [noun.stem], _SINGLE
            for size in (2, 3):
                run = clause[start : start + size]
                distance = run[-1].position - noun.position
                if len(run) < size or distance > _MAX_DISTANCE or len({n.stem for n in run}) < size:
                    break
                shape = _ADJACENT if distance == size - 1 else _SEPARATED
                if shape == _ADJACENT or size == 2:
                    yield " ".join(n.word for n in run), [n.stem for n in run], shape


def _clauses(sentence: str) -> Iterator[list[_Noun]]:
    """Yields the possible nouns of each clause of a sentence."""
    nouns: list[_Noun] = []
    for index, raw in enumerate(sentence.split()):
        word, stemmed, ends = _parsed_word(raw)
        if stemmed:
            nouns.append(_Noun(word, stemmed, index))
        if ends:
            yield nouns
            nouns = []
    yield nouns


@lru_cache(maxsize=32_768)
def _parsed_word(raw: str) -> tuple[str, str, bool]:
    """Returns the word without punctuation, its stem if it may be a noun, and if a clause ends."""
    word, ends = _EDGE.sub("", raw), bool(_BREAK.search(raw))
    stems = content_words(word)
    is_noun = len(stems) == 1 and stems[0] not in _NOT_NOUNS and not _NOT_A_NAME.search(word)
    return word, stems[0] if is_noun else "", ends
