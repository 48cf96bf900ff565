"""What a model offers at the end of a reply: questions, alternatives, proposals."""

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from sapwood.analysis.language.phrases import Phrases, tokens
from sapwood.analysis.language.word_stems import content_words
from sapwood.analysis.ledger.dialogue import sentence_kinds

OfferKind = Literal[
    "alternatives", "amount", "which", "choice", "proposal", "work", "fact", "statement"
]
_MAX_OFFERS = 8
"""Sentences at the end of a reply that may hold the offer."""
_FIGURE = re.compile(r"(?<![\w.])~?[\d][\d.,:]*\s?(?:[a-zA-Z%€$]+)?(?!\w)")
_NUMBER_WORDS = frozenset(
    "two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty "
    "sixty ninety hundred thousand fourteen nineteen zwei drei vier fünf sechs sieben acht neun "
    "zehn zwölf zwanzig dreißig vierzig fünfzig hundert tausend deux trois quatre dix "
    "vingt".split()
)
_MODAL = Phrases("""
    should|shall|may|want|prefer|like|need|allowed|let|would|rather
    do|does|can we|it|they
    soll|sollen|sollte|darf|dürfen|möchtest|willst|wollen|wollt|brauchen|passt|lieber
    faut|doit|préfères|veux|voulez|veut
""")
_WHICH = Phrases("which|welche|welcher|welches|welchen|quel|quelle|wohin")
_ALTERNATIVES = Phrases("or|oder|ou|versus|vs")
_AMOUNT = Phrases("""
    how many|much|often|long|large|big|low|high|far|old|deep|wide
    wie viele|viel|oft|lange|groß|hoch|niedrig|weit
    what|which|welche|welches|welcher limit|size|number|timeout|length|port|version|raster|wert
    combien
""")
_QUESTION_START = Phrases("""
    is|are|was|were|do|does|did|has|have|had|can|could|will|would|who|whose|where|when|why|how|what
    ist|sind|war|hat|haben|habt|gibt|wer|wo|wann|warum|wie|was|kann|steht|muss|läuft
""")
_WORK = Phrases("""
    find|look|check|draft|write|prepare|investigate|continue|go|proceed|run|commit|push|test|show|clean
    explain|open|fix|add|create|start|install|do|also|begin|review|verify|measure|weitermachen|prüfen
""")
_WOULD = Phrases("""
    would|could|i'd|we'd|suggest|recommend|propose|either|better|usual|common|suggestion|options
    würde|würden|könnte|könnten|empfehle|vorschlag|entweder|üblich|besser
""")
_WHO = Phrases("who|whose|wer")
_MIN_QUESTION = 2
_OWN_PROPOSAL = Phrases("""
    i'd|we'd|recommend|suggest|propose|würde|vorschlag|empfehle
    would fix|help|work|do|solve
    the usual|simplest|safest|common fix|way|choice
""")


class Offer(Struct, frozen=True):
    """A sentence of the model that asks for an answer, or proposes something."""

    text: str
    kind: OfferKind
    words: frozenset[str]


def offers_of(closing: Sequence[str]) -> list[Offer]:
    """Returns the questions, proposals and statements at the end of a reply."""
    return [
        Offer(text, kind_of(text), frozenset(offered_words(text)))
        for text in closing[-_MAX_OFFERS:]
    ]


def kind_of(text: str) -> OfferKind:
    words = tokens(text)
    if not sentence_kinds.is_question(text):
        proposes = sentence_kinds.is_proposal(text) or _WOULD.search(words)
        return "proposal" if proposes or _ALTERNATIVES.search(words) else "statement"
    if sum(word.isalnum() for word in words) < _MIN_QUESTION:
        return "statement"
    if _WHO.match(words) and not _MODAL.search(words):
        return "fact"
    if _AMOUNT.search(words):
        return "amount" if _MODAL.search(words) or len(words) <= 5 else "fact"
    if _ALTERNATIVES.search(words):
        return "alternatives"
    if _WHICH.search(words):
        return "which"
    if sentence_kinds.is_offer(text):
        return "work"
    if _MODAL.search(words):
        return "choice"
    last = words[_after_comma(words) :]
    if _QUESTION_START.match(last) or _QUESTION_START.match(words):
        return "which" if sentence_kinds.asks_for_choice(text) else "fact"
    return "work" if _WORK.match(last) else "choice"


def _after_comma(words: Sequence[str]) -> int:
    marks = [place for place, word in enumerate(words[:-1]) if word in ",;:"]
    return marks[-1] + 1 if marks else 0


def offered_words(text: str) -> set[str]:
    """Returns what an answer may repeat: words with a meaning, and the parts of joined ones."""
    found = set(content_words(text))
    for word in list(found):
        parts = re.split(r"[.\-_/+]", word)
        found.update(part for part in parts if len(part) > 1)
    return found


def has_figure(text: str) -> bool:
    """Whether a text has a number, as a figure or as a word."""
    return bool(_FIGURE.search(text)) or bool(_NUMBER_WORDS.intersection(tokens(text)))


def proposes(text: str) -> bool:
    return sentence_kinds.is_proposal(text) or _OWN_PROPOSAL.search(tokens(text))
