"""What the user said that binds later work, and what was left open, each in its original words.

There are three rules, and each needs a form that can be checked: a short answer to a question that
the agent asked in its last reply, a sentence that begins with an imperative of choice, and a
sentence that leaves a matter to a person or to later. Every rule has a measured precision of at
least 0.8 (`just eval ledger`); whatever else was decided comes from notes and from a judge.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import structs

from sapwood.analysis.language.sentences import TurnSentences, turn_sentences
from sapwood.analysis.language.word_stems import content_words
from sapwood.analysis.ledger.entries import Decision, Question
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
_DEFERRAL = re.compile(
    r"\b(?:(?:(?:i|we)(?:'ll| will|'d| must)|(?:have|need|got|want) to|let me) (?:first )?"
    r"(?:ask|clarify|discuss|check with|talk to|hear from|hear|think about|sleep on|decide)"
    r"|ask (?:the|my|our) \w+ (?:\w+ )?(?:what|how|whether|if|which|about)"
    r"|\w+ decides|(?:decide|park) (?:it|that|this)|and then decide|not decided yet|undecided|tbd"
    r"|(?:still|remains) open|don'?t know yet"
    r"|(?:frag|frage|klär|kläre|überleg|überlege) (?:ich|wir)|(?:ich|wir) (?:frag|frage|klär|kläre)"
    r"|entscheidet|wei(?:ß|ss) (?:ich )?(?:noch )?nicht|noch offen)\b",
    re.IGNORECASE,
)
_RESOLVED = 0.5
"""The share of its words that a later prompt must repeat to settle what was left open."""
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
_FEW_WORDS = 3
"""Words with a meaning of a sentence that names no matter of its own."""
_MIN_SHARED = 2
_SAME_QUESTION = 0.7


def is_question(sentence: str) -> bool:
    """Whether a sentence ends with a question mark."""
    return sentence.rstrip("\"'”)] ").endswith("?")


class StatementTracker:
    """Collects decisions and open questions turn by turn."""

    def __init__(self) -> None:
        self._decisions: list[Decision] = []
        self._open: list[Question] = []
        self._asked: tuple[str, ...] = ()
        self._prompt: tuple[str, ...] = ()

    def add(self, sentences: TurnSentences) -> None:
        """Adds what the prompt of one more turn decides, settles and leaves open."""
        said = [text for text in sentences.user if text not in self._asked]
        if said:
            self._settle(said)
        for text, about in _decided(said, self._asked):
            self._decide(Decision(text, sentences.turn, "user", about=about))
        for place, text in enumerate(said):
            if not is_question(text) and _DEFERRAL.search(text):
                about = _matter(text, said[:place], self._asked, self._prompt)
                self._open.append(Question(text, sentences.turn, "user", about))
                break
        if said:
            self._prompt = tuple(said)
        if sentences.user or sentences.closing:
            self._asked = sentences.closing[-_LAST:]

    def decisions(self) -> tuple[Decision, ...]:
        """Returns all decisions in the order in which they were made."""
        return tuple(self._decisions)

    def questions(self) -> tuple[Question, ...]:
        """Returns what is open, in the order in which it was left open."""
        return tuple(self._open)

    def _decide(self, new: Decision) -> None:
        """Adds a decision; it takes back an earlier answer to the same question."""
        for place, old in enumerate(self._decisions):
            is_newer = old.turn < new.turn and old.reversed_by is None
            if is_newer and _is_same_question(old.about, new.about):
                self._decisions[place] = structs.replace(old, reversed_by=new.turn)
        self._decisions.append(new)

    def _settle(self, said: Sequence[str]) -> None:
        words = set(content_words(" ".join(text for text in said if not is_question(text))))
        self._open = [each for each in self._open if not _is_settled(each, words)]


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


def _matter(text: str, prompt: Sequence[str], reply: Sequence[str], before: Sequence[str]) -> str:
    """Returns the question that a sentence leaves open, or the end of the reply; empty if unknown.

    It is the sentence before it or the last question of the reply. An earlier one of the user has
    to share a word with it, unless the sentence is too short to name a matter: 'I'll ask Ruth.'
    """
    if prompt and is_question(prompt[-1]):
        return prompt[-1]
    words = set(content_words(text))

    def related(texts: Sequence[str]) -> list[str]:
        is_bare = len(words) <= _FEW_WORDS
        asked = [each for each in texts if is_question(each)]
        return [each for each in asked if is_bare or words & set(content_words(each))]

    asked = [each for each in reply if is_question(each)]
    for found in (related(prompt), asked, related(before)):
        if found:
            return found[-1]
    return "" if prompt else next(iter(reply[-1:]), "")


def _is_settled(question: Question, words: set[str]) -> bool:
    known = set(content_words(f"{question.about} {question.text}"))
    shared = len(known & words)
    return shared >= _MIN_SHARED and shared >= _RESOLVED * len(known)


def _is_same_question(one: str, other: str) -> bool:
    first, second = set(content_words(one)), set(content_words(other))
    shared = len(first & second)
    return shared >= _MIN_SHARED and shared >= _SAME_QUESTION * max(len(first), len(second))


def _decided(said: Sequence[str], asked: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yields what a prompt decides, with the question that it answers."""
    questions = [text for text in asked if is_question(text)]
    is_short = sum(len(text.split()) for text in said) <= _MAX_PROMPT
    for place, text in enumerate(said):
        if is_question(text) or _DEFERRAL.search(text):
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
