"""What the user decided, in the original words.

There are two rules, and each needs a form that can be checked: a short answer to a question that
the agent asked in its last reply, and a sentence that begins with an imperative of choice. Both
have a measured precision of at least 0.8 (`just eval ledger`); whatever else was decided, and what
was left open, comes from notes and from a judge.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import structs

from sapwood.analysis.language.sentences import TurnSentences, turn_sentences
from sapwood.analysis.language.word_stems import content_words
from sapwood.analysis.ledger.entries import Decision
from sapwood.analysis.session import Session, request_text

_FILLER = re.compile(
    r"(?:(?:ok(?:ay)?|yes|yeah|so|and|but|then|please|actually|well|hm+)[,.!;:\s…-]+"
    r"|(?:no|good|right|fine|great|perfect)[,.!;:…-]+\s*)+(?=\S)",
    re.IGNORECASE,
)
_IMPERATIVE = re.compile(
    r"(?:(?:let'?s|we'll|just) )?(?:use|keep|drop|skip|avoid|pin|store|treat|switch to|stick (?:to"
    r"|with)|go (?:with|for)|leave (?:it|them|that|the)|make (?:it|them)|put (?:it|them)|always"
    r"|never|only|(?:don'?t|do not) (?:ever )?(?!know|see|think|worry|forget|get|have|mind|care"
    r"|like|need|understand|write code)\w+|no (?!idea|problem|wait|longer|need|one|way)\w{3,})\b",
    re.IGNORECASE,
)
_IDIOM = re.compile(
    r"keep (?:going|on|in mind|me|an eye|it up)|never (?:mind|used|had|seen|heard|tried)|use your"
    r"|make it (?:work|pass|compile)|only (?:if|when|one)",
    re.IGNORECASE,
)
_LEFT_OPEN = re.compile(
    r"\b(?:ask|talk to|hear from|clarify|think about|sleep on|decides?|undecided|tbd"
    r"|(?:don'?t|not) (?:know|sure)|frage?|kläre?|entscheidet|wei(?:ß|ss) (?:noch )?nicht)\b",
    re.IGNORECASE,
)
_OFFERS = re.compile(r"\b(?:or|oder)\b", re.IGNORECASE)
_AMOUNT = re.compile(
    r"\b(?:how|wie) (?:many|much|often|long|large|big|viele?|oft|lange|gro\w+)\b.*"
    r"\b(?:should|shall|may|want|prefer|soll\w*)\b",
    re.IGNORECASE,
)
_OPTION = re.compile(
    r"^\(?(?:[a-d]|[1-9])\)?(?:[.,!) ]|$)|^(?:option|variante?|number|plan) \w\b"
    r"|^the (?:first|second|third|last)\b|^(?:both|neither)\b",
    re.IGNORECASE,
)
_MAX_ANSWER, _MAX_FIGURE = 12, 8
_MAX_PROMPT = 25
"""Words of an answer, of one with a figure, and of the prompt of an answer."""
_FIRST, _LAST = 3, 8
"""Sentences of a prompt that may answer, and of a reply that may ask."""
_MAX_CANDIDATES, _MAX_CANDIDATE = 12, 60
"""Sentences of a prompt for a judge, and the words of one."""
_MIN_SHARED = 2
_SAME_QUESTION = 0.7


def is_question(sentence: str) -> bool:
    """Whether a sentence ends with a question mark."""
    return sentence.rstrip("\"'”)] ").endswith("?")


class DecisionTracker:
    """Collects decisions turn by turn."""

    def __init__(self) -> None:
        self._decisions: list[Decision] = []
        self._asked: tuple[str, ...] = ()

    def add(self, sentences: TurnSentences) -> None:
        """Adds what the prompt of one more turn decides."""
        said = [text for text in sentences.user if text not in self._asked]
        for text, about in _decided(said, self._asked):
            self._decide(Decision(text, sentences.turn, "user", about=about))
        if sentences.user or sentences.closing:
            self._asked = sentences.closing[-_LAST:]

    def decisions(self) -> tuple[Decision, ...]:
        """Returns all decisions in the order in which they were made."""
        return tuple(self._decisions)

    def _decide(self, new: Decision) -> None:
        """Adds a decision; it takes back an earlier answer to the same question."""
        for place, old in enumerate(self._decisions):
            is_newer = old.turn < new.turn and old.reversed_by is None
            if is_newer and _is_same_question(old.about, new.about):
                self._decisions[place] = structs.replace(old, reversed_by=new.turn)
        self._decisions.append(new)


def candidates(session: Session) -> list[Decision]:
    """Returns the sentences that the user typed, for a judge: each may be a decision or none.

    Questions, very long sentences and single words are left out; an answer of one word is in.
    """
    found: list[Decision] = []
    asked: Sequence[str] = ()
    for number, turn in session.live:
        if not request_text(turn):
            continue
        said = turn_sentences(turn, number)
        questions = [text for text in asked if is_question(text)]
        for place, text in enumerate(said.user[:_MAX_CANDIDATES]):
            about = questions[-1] if questions and not place else ""
            length = len(text.split())
            if not is_question(text) and (length > 1 or about) and length <= _MAX_CANDIDATE:
                found.append(Decision(text, number, "user", about=about))
        asked = said.closing[-_LAST:]
    return found


def _is_same_question(one: str, other: str) -> bool:
    first, second = set(content_words(one)), set(content_words(other))
    shared = len(first & second)
    return shared >= _MIN_SHARED and shared >= _SAME_QUESTION * max(len(first), len(second))


def _decided(said: Sequence[str], asked: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yields what a prompt decides, with the question that it answers."""
    questions = [text for text in asked if is_question(text)]
    is_short = sum(len(text.split()) for text in said) <= _MAX_PROMPT
    for place, text in enumerate(said):
        if is_question(text) or _LEFT_OPEN.search(text):
            continue
        bare = _FILLER.sub("", text, count=1) if _FILLER.match(text) else text
        about = _answered(bare, questions) if is_short and place < _FIRST else ""
        if about or (_IMPERATIVE.match(bare) and not _IDIOM.match(bare)):
            yield text, about


def _answered(text: str, questions: Sequence[str]) -> str:
    """Returns the question that a short sentence answers; empty if it answers none."""
    length = len(text.split())
    if length > _MAX_ANSWER:
        return ""
    words = set(content_words(text))
    for question in reversed(questions):
        if _AMOUNT.search(question) and length <= _MAX_FIGURE and any(map(str.isdigit, text)):
            return question
        if not _OFFERS.search(question):
            continue
        if _OPTION.match(text) or words & set(content_words(question)):
            return question
    return ""
