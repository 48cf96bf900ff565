"""Decisions: choices that bind what comes later, and what takes them back.

A user decides by saying what is to be used, kept or left out, or by answering what the model asked
or proposed; a model by saying outright that it chose. A decision is taken back by a later one that
turns (actually, instead, after all) on the same matter.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from sapwood.core.ledger.entries import Decision
from sapwood.core.ledger.speech import moods
from sapwood.core.ledger.speech.choices import (
    is_choice,
    is_measure,
    is_models_choice,
    is_order,
    tells_of_the_past,
    turns,
)
from sapwood.core.ledger.speech.phrases import Phrases, tokens
from sapwood.core.ledger.speech.utterances import Spoken
from sapwood.core.ledger.speech.words import content_words

__all__ = ["DecisionBook"]

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
_NEAR = 3
"""Sentences of a prompt that may answer; what comes after them is about something else."""
_SAME_MATTER = 0.3
"""The share of a decision's words that one must have which takes it back."""


class _Entry(Struct, frozen=True):
    decision: Decision
    words: frozenset[str]


class DecisionBook:
    """Takes in what was said turn by turn and tells what was decided."""

    def __init__(self) -> None:
        self._entries: list[_Entry] = []
        self._closing: tuple[str, ...] = ()

    def add(self, said: Spoken) -> None:
        """One more turn."""
        whole = " ".join(said.user)
        for text in _by_user(said.user, self._closing):
            about = _about(text, self._closing)
            self._enter(Decision(text, said.turn, "user", about=about), whole)
        for text in filter(is_models_choice, said.model):
            self._enter(Decision(text, said.turn, "model"), text)
        if said.user or said.closing:
            self._closing = said.closing

    def decisions(self) -> tuple[Decision, ...]:
        """All decisions in the order they were made."""
        return tuple(entry.decision for entry in self._entries)

    def _enter(self, decision: Decision, around: str) -> None:
        words = frozenset(content_words(decision.text))
        if turns(decision.text) or turns(around):
            self._take_back(decision.turn, words | frozenset(content_words(around)))
        self._entries.append(_Entry(decision, words))

    def _take_back(self, turn: int, words: frozenset[str]) -> None:
        """Marks the decision on the same matter that is taken back in a turn, if there is one."""
        best, most = -1, _SAME_MATTER
        for place, (decision, known) in enumerate((e.decision, e.words) for e in self._entries):
            if decision.turn < turn and decision.reversed_by is None and known:
                shared = len(words & known) / len(known)
                if shared >= most:
                    best, most = place, shared
        if best >= 0:
            entry = self._entries[best]
            turned = structs.replace(entry.decision, reversed_by=turn)
            self._entries[best] = _Entry(turned, entry.words)


def _by_user(user: Sequence[str], closing: Sequence[str]) -> Iterator[str]:
    """What a user decides: outright, else by an answer, else by agreeing to a proposal."""
    chosen = {place: found for place, text in enumerate(user) if (found := _choices(text))}
    if not chosen:
        answers = [place for place, text in enumerate(user[:_NEAR]) if _answers(text, closing)]
        chosen = {place: [user[place]] for place in answers[:1]}
    for place, text in enumerate(user):
        if place not in chosen and (chosen or place == 0) and is_measure(text):
            chosen[place] = [text]
    if user and moods.agrees(user[0]) and (not chosen or _confirms(user[0], closing)):
        yield from [text for text in closing if moods.proposes(text)][-1:]
    yield from (choice for _, found in sorted(chosen.items()) for choice in found)


def _about(text: str, closing: Sequence[str]) -> str:
    """What a short answer settles, which it does not say itself."""
    words = set(content_words(text))
    if text in closing or len(text.split()) > _PHRASE_WORDS:
        return ""
    shared = [len(words & set(content_words(each))) for each in closing]
    return closing[shared.index(max(shared))] if any(shared) else ""


def _confirms(sentence: str, closing: Sequence[str]) -> bool:
    """Whether a bare yes answers a model that asked whether its proposal is right."""
    return len(sentence.split()) <= _BARE_WORDS and any(map(moods.is_question, closing))


def _choices(sentence: str) -> list[str]:
    """The choices of a sentence: its clauses where several of them make one, else all of it."""
    clauses = [clause for clause in _CLAUSES.split(sentence) if clause and is_choice(clause)]
    if len(clauses) > 1 and all(len(clause.split()) > 1 for clause in clauses):
        return clauses
    return [sentence] if is_choice(sentence) else []


def _answers(sentence: str, closing: Sequence[str]) -> bool:
    """Whether a sentence settles what the model asked or proposed just before."""
    text = moods.bare(sentence)
    if moods.is_question(sentence) or moods.chats(sentence) or moods.defers(text):
        return False
    if len(text.split()) > _ANSWER_WORDS or is_order(text) or tells_of_the_past(text):
        return False
    asks = any(moods.is_question(each) and not moods.is_offer(each) for each in closing)
    proposes = any(map(moods.proposes, closing))
    said = tokens(text)
    refuses = _REFUSAL.match(tokens(sentence)) and text != sentence
    if refuses or _OPTION.match(text) or _PREFERENCE.search(said) or _RULE.search(said):
        return asks or proposes
    chooses = any(moods.is_question(each) and moods.offers_a_choice(each) for each in closing)
    if chooses and len(text.split()) <= _PHRASE_WORDS and not _PREDICATE.search(said):
        return bool(content_words(text))
    shares = bool(set(content_words(text)) & set(content_words(" ".join(closing))))
    return shares and (asks or proposes or moods.agrees(sentence))
