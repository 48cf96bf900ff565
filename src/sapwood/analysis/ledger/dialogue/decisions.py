"""Finds decisions and their reversals.

A user decides by stating what to use, keep or leave out, or by answering a question or a proposal
of the model. A model decides by stating that it chose. A later decision with a word of reversal
('actually', 'instead', 'after all') that shares enough words reverses an earlier decision.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from sapwood.analysis.language.phrases import Phrases, tokens
from sapwood.analysis.language.sentences import TurnSentences
from sapwood.analysis.language.word_stems import content_words
from sapwood.analysis.ledger.dialogue import sentence_kinds
from sapwood.analysis.ledger.dialogue.choice_sentences import (
    is_choice,
    is_figure,
    is_model_choice,
    is_order,
    is_past,
    is_reversal,
)
from sapwood.analysis.ledger.entries import Decision

__all__ = ["DecisionTracker"]

_CLAUSES = re.compile(
    r";\s+|,?\s+(?:and|but) (?=(?:i|we|let's|don't|do not|use|keep|no|never|only|make)\b)",
    re.IGNORECASE,
)
_OPTION = re.compile(
    r"^(?:[A-D]|[1-9])(?=[.,!)]|$)|^(?:option|variant|number|approach|plan) (?:[A-D]|[1-9])\b"
    r"|^the (?:first|second|third|last|former|latter)\b|^(?:both|neither|either)\b",
    re.IGNORECASE,
)
_REFUSAL = Phrases("""
    hm|hmm|well|oh|,* no|nope|nah
    rather not
""")
_RULE = Phrases("should also|then|never|always|only|not|just* !work|have")
_PREFERENCE = Phrases("""
    is|are|sound|sounds|seem|seems|look|looks better|best|safer|simpler|cleaner|right
    is|are|sound|sounds|seem|seems|look|looks good enough
""")
_PREDICATE = Phrases("""
    is|are|was|were|has|have|had|does|do|did|can|could|will|would|should|fail|fails|show|shows
    got|gets|broke|break|breaks|look|looks|seem|seems|work|works|say|says|take|takes
    i|you|it's|that's|there
""")
_ANSWER_WORDS = 16
_PHRASE_WORDS = 8
_BARE_WORDS = 3
_ANSWER_SENTENCES = 3
"""Only the first sentences of a prompt may answer the model."""
_SHARED_WORDS = 0.3
"""The share of a decision's words that its reversal must contain."""


class _Entry(Struct, frozen=True):
    decision: Decision
    words: frozenset[str]


class DecisionTracker:
    """Collects the decisions of a conversation turn by turn."""

    def __init__(self) -> None:
        self._entries: list[_Entry] = []
        self._closing: tuple[str, ...] = ()

    def add(self, sentences: TurnSentences) -> None:
        """Adds the decisions of one more turn."""
        whole = " ".join(sentences.user)
        for text in _by_user(sentences.user, self._closing):
            about = _about(text, self._closing)
            self._add(Decision(text, sentences.turn, "user", about=about), whole)
        for text in filter(is_model_choice, sentences.model):
            self._add(Decision(text, sentences.turn, "model"), text)
        if sentences.user or sentences.closing:
            self._closing = sentences.closing

    def decisions(self) -> tuple[Decision, ...]:
        """Returns all decisions in the order in which they were made."""
        return tuple(entry.decision for entry in self._entries)

    def _add(self, decision: Decision, around: str) -> None:
        words = frozenset(content_words(decision.text))
        if is_reversal(decision.text) or is_reversal(around):
            self._reverse(decision.turn, words | frozenset(content_words(around)))
        self._entries.append(_Entry(decision, words))

    def _reverse(self, turn: int, words: frozenset[str]) -> None:
        """Marks the earlier decision that shares most words as reversed, if one shares enough."""
        best, most = -1, _SHARED_WORDS
        for index, (decision, known) in enumerate((e.decision, e.words) for e in self._entries):
            if decision.turn < turn and decision.reversed_by is None and known:
                shared = len(words & known) / len(known)
                if shared >= most:
                    best, most = index, shared
        if best >= 0:
            entry = self._entries[best]
            reversed_decision = structs.replace(entry.decision, reversed_by=turn)
            self._entries[best] = _Entry(reversed_decision, entry.words)


def _by_user(user: Sequence[str], closing: Sequence[str]) -> Iterator[str]:
    """Yields what a user decides: stated choices, else an answer, and an accepted proposal."""
    chosen = {index: found for index, text in enumerate(user) if (found := _choices(text))}
    if not chosen:
        answers = [
            index for index, text in enumerate(user[:_ANSWER_SENTENCES]) if _answers(text, closing)
        ]
        chosen = {index: [user[index]] for index in answers[:1]}
    for index, text in enumerate(user):
        if index not in chosen and (chosen or index == 0) and is_figure(text):
            chosen[index] = [text]
    if (
        user
        and sentence_kinds.is_agreement(user[0])
        and (not chosen or _confirms(user[0], closing))
    ):
        yield from [text for text in closing if sentence_kinds.is_proposal(text)][-1:]
    yield from (choice for _, found in sorted(chosen.items()) for choice in found)


def _about(text: str, closing: Sequence[str]) -> str:
    """Returns the sentence of the model that a short answer refers to, or an empty text."""
    words = set(content_words(text))
    if text in closing or len(text.split()) > _PHRASE_WORDS:
        return ""
    shared = [len(words & set(content_words(each))) for each in closing]
    return closing[shared.index(max(shared))] if any(shared) else ""


def _confirms(sentence: str, closing: Sequence[str]) -> bool:
    """Whether the sentence is a short yes to a question of the model."""
    return len(sentence.split()) <= _BARE_WORDS and any(map(sentence_kinds.is_question, closing))


def _choices(sentence: str) -> list[str]:
    """Returns the clauses that state choices if there are several, else the whole sentence."""
    clauses = [clause for clause in _CLAUSES.split(sentence) if clause and is_choice(clause)]
    if len(clauses) > 1 and all(len(clause.split()) > 1 for clause in clauses):
        return clauses
    return [sentence] if is_choice(sentence) else []


def _answers(sentence: str, closing: Sequence[str]) -> bool:
    """Whether a sentence answers a question or a proposal that the model just made."""
    text = sentence_kinds.without_filler(sentence)
    if (
        sentence_kinds.is_question(sentence)
        or sentence_kinds.is_chat(sentence)
        or sentence_kinds.is_deferral(text)
    ):
        return False
    if len(text.split()) > _ANSWER_WORDS or is_order(text) or is_past(text):
        return False
    asks = any(
        sentence_kinds.is_question(each) and not sentence_kinds.is_offer(each) for each in closing
    )
    proposes = any(map(sentence_kinds.is_proposal, closing))
    words = tokens(text)
    refuses = _REFUSAL.match(tokens(sentence)) and text != sentence
    if refuses or _OPTION.match(text) or _PREFERENCE.search(words) or _RULE.search(words):
        return asks or proposes
    chooses = any(
        sentence_kinds.is_question(each) and sentence_kinds.asks_for_choice(each)
        for each in closing
    )
    if chooses and len(text.split()) <= _PHRASE_WORDS and not _PREDICATE.search(words):
        return bool(content_words(text))
    shares = bool(set(content_words(text)) & set(content_words(" ".join(closing))))
    return shares and (asks or proposes or sentence_kinds.is_agreement(sentence))
