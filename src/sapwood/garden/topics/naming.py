"""Names for topics: the few words that a colleague would say.

A name is a phrase of the topic's own sentences, best of its first prompt: words that stand next to
each other there, are said often in the topic and seldom elsewhere.
"""

import re
from collections.abc import Iterator, Sequence

from sapwood.core.ledger.speech.words import content_words, stem
from sapwood.garden.topics.features import GENERIC, TurnFeatures

__all__ = ["name_of"]

_LONGEST = 3
_FIRST, _ASKED, _ANSWERED = 2.0, 1.0, 0.7
"""What a phrase is worth in the first prompt, in a later one, and in a reply."""
_BESIDE = 0.7
"""What the second and third word of a phrase add, as a share of the first."""
_GENERIC = 0.3
_EDGE = re.compile(r"^[^\w#+.]+|[^\w#+]+$")
_PART = re.compile(r"[,;:!?()\"…–/]|\.$")
_VERBS = frozenset(
    stem(verb)
    for verb in """add allow arrive ask avoid become begin break bring build buy call change check
    come complain contain create delete disappear do enable expire explain fail fill find fix follow
    get give go happen have help hit hold hurt include insist install keep know leave let load look
    make mean migrate move need open page pass phrase print propose put raise read remove rename
    replace return run say see send set show skip sort start stop suggest switch take tell think try
    turn understand update use wait want work write""".split()
)


def name_of(turns: Sequence[TurnFeatures], others: Sequence[TurnFeatures], taken: set[str]) -> str:
    """A name for the topic of these turns that none of the taken ones is."""
    here, elsewhere = _said(turns), _said(others)
    weights = {
        word: times * times / (times + elsewhere.get(word, 0.0)) for word, times in here.items()
    }
    scores: dict[str, float] = {}
    for sentence, worth in _sentences(turns):
        for phrase, words in _phrases(sentence):
            scores[phrase] = max(scores.get(phrase, 0.0), worth * _worth(words, weights))
    for phrase in sorted(scores, key=lambda each: -scores[each]):
        if phrase.casefold() not in taken:
            return phrase
    return "conversation" if "conversation" not in taken else f"topic {len(taken) + 1}"


def _said(turns: Sequence[TurnFeatures]) -> dict[str, float]:
    found: dict[str, float] = {}
    for turn in turns:
        for word, weight in turn.terms.items():
            found[word] = found.get(word, 0.0) + weight
    return found


def _sentences(turns: Sequence[TurnFeatures]) -> Iterator[tuple[str, float]]:
    for place, turn in enumerate(turns):
        yield from ((sentence, _ASKED if place else _FIRST) for sentence in turn.asked)
        yield from ((sentence, _ANSWERED) for sentence in turn.answered)


def _worth(words: Sequence[str], weights: dict[str, float]) -> float:
    said = [weights.get(word, 0.0) * (_GENERIC if word in GENERIC else 1.0) for word in words]
    first, *rest = sorted(said, reverse=True)
    return first + _BESIDE * sum(rest)


def _phrases(sentence: str) -> Iterator[tuple[str, list[str]]]:
    """Up to three telling words that stand side by side, and their stems."""
    raw = sentence.split()
    for start in range(len(raw)):
        for length in range(1, min(_LONGEST, len(raw) - start) + 1):
            words = raw[start : start + length]
            if any(_PART.search(word) for word in words[:-1]):
                break
            bare = [_EDGE.sub("", word) for word in words]
            stems = [content_words(word) for word in bare]
            if all(len(each) == 1 for each in stems) and _names_a_thing([s[0] for s in stems]):
                yield " ".join(bare), [each[0] for each in stems]


def _names_a_thing(stems: Sequence[str]) -> bool:
    """Whether a phrase could be a name: no plain verb in it, and more than numbers."""
    return not any(each in _VERBS or each.isdigit() for each in stems)
