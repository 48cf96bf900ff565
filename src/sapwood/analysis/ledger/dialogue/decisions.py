"""Finds decisions and what they answer.

A user decides by stating what to use, keep or leave out, or by answering a question or a proposal
of the model. A model decides by stating that it chose. What was pasted was not said, and neither
was what repeats the model word for word.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial

from msgspec import Struct, structs

from sapwood.analysis.language.phrases import Phrases, tokens
from sapwood.analysis.language.sentences import TurnSentences
from sapwood.analysis.language.word_stems import content_words
from sapwood.analysis.ledger.dialogue import sentence_kinds
from sapwood.analysis.ledger.dialogue.answers import answers_of
from sapwood.analysis.ledger.dialogue.choice_sentences import (
    is_choice,
    is_choice_within,
    is_model_choice,
)
from sapwood.analysis.ledger.dialogue.clauses import chosen_parts, has_chosen_clause, is_long
from sapwood.analysis.ledger.dialogue.deferrals import deferred_parts
from sapwood.analysis.ledger.dialogue.german_choices import is_german
from sapwood.analysis.ledger.dialogue.offers import Offer, offers_of
from sapwood.analysis.ledger.dialogue.reversals import reversed_decision, withdrawn_decision
from sapwood.analysis.ledger.entries import Decision

_CLAUSES = re.compile(
    r";\s+|,?\s+(?:and|but) (?=(?:i|we|let's|don't|do not|use|keep|no|never|only|make)\b)",
    re.IGNORECASE,
)
_FEW_WORDS = 3
_SHORT_WORDS = 8
"""Words of a choice that needs the sentence of the model to be read alone."""
_MAX_SAMPLE = 2_000
_MIN_REPEATED = 30
"""Characters of a sentence that repeats the model."""


class DecisionTracker:
    """Collects the decisions of a conversation turn by turn."""

    def __init__(self) -> None:
        self._decisions: list[Decision] = []
        self._closing: tuple[str, ...] = ()
        self._asked: list[Offer] = []

    def add(self, sentences: TurnSentences) -> None:
        """Adds the decisions of one more turn."""
        repeated = {text for text in self._closing if len(text) >= _MIN_REPEATED}
        user = [text for text in sentences.user if text not in repeated]
        offers = [*self._asked, *offers_of(self._closing)]
        prompt = " ".join(user)
        german = is_german(tokens(" ".join([prompt, *self._closing[-2:]])[:_MAX_SAMPLE]))
        found = list(_by_user(user, offers, german=german))
        if not found:
            self._withdraw(sentences.turn, prompt)
        for text, about in found:
            self._add(Decision(text, sentences.turn, "user", about=about), prompt)
        if user:
            asks = any(map(sentence_kinds.is_question, user)) or _asks_back(user)
            self._asked = (
                [each for each in offers if each.kind in _KEPT] if asks and not found else []
            )
        for text in filter(is_model_choice, sentences.model):
            self._add(Decision(text, sentences.turn, "model"), text)
        if sentences.user or sentences.closing:
            self._closing = sentences.closing

    def decisions(self) -> tuple[Decision, ...]:
        """Returns all decisions in the order in which they were made."""
        return tuple(self._decisions)

    def _add(self, decision: Decision, prompt: str) -> None:
        self._reverse(reversed_decision(self._decisions, decision, prompt), decision.turn)
        self._decisions.append(decision)

    def _withdraw(self, turn: int, prompt: str) -> None:
        self._reverse(withdrawn_decision(self._decisions, turn, prompt), turn)

    def _reverse(self, place: int | None, turn: int) -> None:
        if place is not None:
            old = self._decisions[place]
            self._decisions[place] = structs.replace(old, reversed_by=turn)


_KEPT = ("alternatives", "amount", "which")
"""Questions that stay asked while the user asks something back."""
_BACK = Phrases("what|which|who|why|how|was|wer|wie|warum|welche|welcher|welches")


def _asks_back(user: Sequence[str]) -> bool:
    """Whether the last sentence asks something back without a question mark."""
    return bool(user) and _BACK.match(tokens(user[-1]))


class _Found(Struct, frozen=True):
    sentence: int
    text: str
    about: str


def _by_user(
    user: Sequence[str], offers: Sequence[Offer], *, german: bool
) -> Iterator[tuple[str, str]]:
    """Yields what a user decides, and what it answers."""
    stated = [
        _Found(place, part, _about(part, offers))
        for place, text in enumerate(user)
        for part in _choices(text, german=german)
    ]
    known = {each.sentence for each in stated}
    answers = [
        _Found(each.sentence, each.text, each.about)
        for each in answers_of(user, offers)
        if each.sentence not in known and (each.about or not stated)
    ]
    if stated and answers and stated[0].sentence < answers[0].sentence:
        answers = [each for each in answers if each.about != stated[0].about]
    for found in sorted([*stated, *answers], key=lambda each: each.sentence):
        yield found.text, found.about


def _about(text: str, offers: Sequence[Offer]) -> str:
    """Returns the sentence of the model that a short choice refers to, or an empty text."""
    if text.count(" ") >= _SHORT_WORDS:
        return ""
    words = set(content_words(text))
    asking = [offer for offer in offers if offer.kind != "statement"]
    shared = [len(words & offer.words) for offer in asking]
    if any(shared):
        return asking[shared.index(max(shared))].text
    if text.count(" ") >= _FEW_WORDS:
        return ""
    asked = [offer.text for offer in offers[-1:] if offer.kind not in ("work", "fact")]
    return asked[0] if asked else ""


def _only_defers(sentence: str) -> bool:
    """Whether a sentence leaves a matter open and keeps nothing until then."""
    return bool(deferred_parts(sentence)) and not _UNTIL.search(tokens(sentence))


_UNTIL = Phrases("""
    til|till|until|assume|bis
    for now|moment
    for the moment
    erstmal|vorerst
""")


def _choices(sentence: str, *, german: bool) -> list[str]:
    """Returns the clauses that state choices if there are several, else the whole sentence."""
    if not is_long(sentence) and _only_defers(sentence):
        return []
    chooses = partial(is_choice, german=german)
    if is_long(sentence):
        return chosen_parts(sentence, chooses)
    clauses = [clause for clause in _CLAUSES.split(sentence) if clause and chooses(clause)]
    if len(clauses) > 1 and all(len(clause.split()) > 1 for clause in clauses):
        return clauses
    if chooses(sentence):
        return [sentence]
    if sentence_kinds.is_question(sentence) or sentence_kinds.is_hedged(sentence):
        return []
    return [sentence] if has_chosen_clause(sentence, is_choice_within) else []
