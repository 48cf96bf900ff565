"""Open questions: asked about the work by either side, and answered by nobody since."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from sapwood.core.ledger.entries import Question, Speaker
from sapwood.core.ledger.speech import moods
from sapwood.core.ledger.speech.phrases import Phrases, tokens
from sapwood.core.ledger.speech.utterances import Spoken
from sapwood.core.ledger.speech.words import content_words

__all__ = ["QuestionBook"]

_AMOUNT = Phrases("""
    how many|much|often|long|large|big|old
    what limit|size|number|timeout
""")
_SELF_ASKED = Phrases("""
    why
    how come
    what happened
    what does this mean
    so what
""")
_REPLIES = Phrases("no|nope|nah|neither|both|option|the|none")
_POINTS_BACK = Phrases("it|that|this|those|these|they|them|one|ones|there|so")
_SHORT = 4
_FEW = 2
_MOST_OF_IT = 0.5


class _Asked(Struct, frozen=True):
    question: Question
    words: frozenset[str]


class QuestionBook:
    """Takes in what was said turn by turn and tells which questions are open."""

    def __init__(self) -> None:
        self._open: list[_Asked] = []
        self._answered: list[_Asked] = []
        self._before: Spoken | None = None

    def add(self, said: Spoken) -> None:
        """One more turn."""
        self._hear(said.user)
        around = self._before.closing if self._before else ()
        asked = list(_asked(said.user, said.turn, "user", around))
        lost = _unanswered(asked, said)
        self._answered = [each for each in asked if each not in lost]
        self._open += lost
        self._open += _asked(said.closing, said.turn, "model", ())
        self._before = said

    def questions(self) -> tuple[Question, ...]:
        """Those that are open, in the order they were asked."""
        return tuple(each.question for each in self._open)

    def _hear(self, user: Sequence[str]) -> None:
        """Lets a prompt answer what is open, or leave open what seemed answered."""
        statements = [text for text in user if not moods.is_question(text)]
        words = set(content_words(" ".join(statements)))
        if any(map(moods.defers, statements)):
            self._open += [each for each in self._answered if _is_meant(each, words)]
        elif statements and not all(map(moods.chats, user)):
            turn = self._before.turn if self._before else 0
            self._open = [each for each in self._open if not _is_settled(each, user, words, turn)]


def _is_meant(asked: _Asked, words: set[str]) -> bool:
    """Whether words that defer speak of this question, or of nothing else."""
    return len(words) <= _SHORT or bool(words & asked.words)


def _is_settled(asked: _Asked, user: Sequence[str], words: set[str], turn: int) -> bool:
    if asked.question.by == "model" and asked.question.turn == turn:
        return _is_reply(asked, user, words)
    shared = len(asked.words & words)
    if shared and asked.question.by == "model" and len(user[0].split()) <= _SHORT:
        return True
    return shared >= _FEW and shared >= _MOST_OF_IT * len(asked.words)


def _is_reply(asked: _Asked, user: Sequence[str], words: set[str]) -> bool:
    """Whether the prompt right after a model's question answers it."""
    first = user[0]
    if moods.chats(first) and len(user) == 1:
        return False
    if asked.words & words or moods.agrees(first) or _REPLIES.match(tokens(first)):
        return True
    if _AMOUNT.search(tokens(asked.question.text)) and re.search(r"\d", " ".join(user)):
        return True
    return len(user) == 1 and len(first.split()) <= _SHORT and not moods.is_question(first)


def _asked(said: Sequence[str], turn: int, by: Speaker, around: Sequence[str]) -> Iterator[_Asked]:
    """The questions in some sentences; those that go on from one another are one."""
    begun: list[str] = []
    for place, sentence in enumerate(said):
        follows = place + 1 < len(said) and moods.is_question(said[place + 1])
        if not _counts(sentence, by, is_last=place == len(said) - 1):
            continue
        begun.append(sentence)
        if follows and _goes_on(begun[-1], said[place + 1]):
            continue
        before = said[max(0, place - len(begun) - 1) : place - len(begun) + 1] or around
        yield _Asked(Question(" ".join(begun), turn, by), _words(begun, before))
        begun = []


def _counts(sentence: str, by: Speaker, *, is_last: bool) -> bool:
    """Whether a sentence asks something about the work."""
    if moods.leaves_open(sentence):
        return True
    if not moods.is_question(sentence) or moods.chats(sentence):
        return False
    if by == "user":
        return not moods.is_request(sentence)
    return not moods.is_offer(sentence) and not (
        _SELF_ASKED.match(tokens(sentence)) and not is_last
    )


def _goes_on(question: str, following: str) -> bool:
    """Whether the next question is about the same."""
    shared = set(content_words(question)) & set(content_words(following))
    return bool(shared or _POINTS_BACK.search(tokens(following)))


def _words(asked: Sequence[str], before: Sequence[str]) -> frozenset[str]:
    """What a question is about; one that only points back is about what was said before."""
    words = set(content_words(" ".join(asked)))
    if len(words) < _FEW:
        words |= set(content_words(" ".join(before)))
    return frozenset(words)


def _unanswered(asked: Sequence[_Asked], said: Spoken) -> list[_Asked]:
    """The user's questions that the reply does not answer."""
    if not asked or not said.model:
        return list(asked)
    if any(map(moods.defers, said.user)) or moods.leaves_open(asked[-1].question.text):
        return list(asked[-1:])
    lost = [text for text in said.closing or said.model if moods.knows_not(text)]
    about = set(content_words(" ".join(lost)))
    meant = [each for each in asked if each.words & about]
    return meant or (list(asked[-1:]) if lost else [])
