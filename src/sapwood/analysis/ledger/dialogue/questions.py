"""Finds open questions: questions about the work, of the user or the model, without an answer."""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from sapwood.analysis.language.phrases import Phrases, tokens
from sapwood.analysis.language.sentences import TurnSentences
from sapwood.analysis.language.word_stems import content_words
from sapwood.analysis.ledger.dialogue import sentence_kinds
from sapwood.analysis.ledger.entries import Question, Speaker

__all__ = ["QuestionTracker"]

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
_SHORT_ANSWER_WORDS = 4
_FEW_WORDS = 2
_SHARED_WORDS = 0.5


class _AskedQuestion(Struct, frozen=True):
    question: Question
    words: frozenset[str]


class QuestionTracker:
    """Collects the open questions of a conversation turn by turn."""

    def __init__(self) -> None:
        self._open: list[_AskedQuestion] = []
        self._answered: list[_AskedQuestion] = []
        self._before: TurnSentences | None = None

    def add(self, sentences: TurnSentences) -> None:
        """Adds the questions of one more turn, and closes those that its prompt answers."""
        self._read_prompt(sentences.user)
        around = self._before.closing if self._before else ()
        asked = list(_asked(sentences.user, sentences.turn, "user", around))
        unanswered = _unanswered(asked, sentences)
        self._answered = [each for each in asked if each not in unanswered]
        self._open += unanswered
        self._open += _asked(sentences.closing, sentences.turn, "model", ())
        self._before = sentences

    def questions(self) -> tuple[Question, ...]:
        """Returns the open questions in the order in which they were asked."""
        return tuple(each.question for each in self._open)

    def _read_prompt(self, user: Sequence[str]) -> None:
        """Closes questions that the prompt answers; reopens answered ones that it postpones."""
        statements = [text for text in user if not sentence_kinds.is_question(text)]
        words = set(content_words(" ".join(statements)))
        if any(map(sentence_kinds.is_deferral, statements)):
            self._open += [each for each in self._answered if _is_referred_to(each, words)]
        elif statements and not all(map(sentence_kinds.is_chat, user)):
            turn = self._before.turn if self._before else 0
            self._open = [each for each in self._open if not _is_answered(each, user, words, turn)]


def _is_referred_to(asked: _AskedQuestion, words: set[str]) -> bool:
    """Whether a deferral with these words refers to this question, or to no other matter."""
    return len(words) <= _SHORT_ANSWER_WORDS or bool(words & asked.words)


def _is_answered(asked: _AskedQuestion, user: Sequence[str], words: set[str], turn: int) -> bool:
    if asked.question.by == "model" and asked.question.turn == turn:
        return _is_reply(asked, user, words)
    shared = len(asked.words & words)
    if shared and asked.question.by == "model" and len(user[0].split()) <= _SHORT_ANSWER_WORDS:
        return True
    return shared >= _FEW_WORDS and shared >= _SHARED_WORDS * len(asked.words)


def _is_reply(asked: _AskedQuestion, user: Sequence[str], words: set[str]) -> bool:
    """Whether the prompt directly after a model's question answers it."""
    first = user[0]
    if sentence_kinds.is_chat(first) and len(user) == 1:
        return False
    if asked.words & words or sentence_kinds.is_agreement(first) or _REPLIES.match(tokens(first)):
        return True
    if _AMOUNT.search(tokens(asked.question.text)) and re.search(r"\d", " ".join(user)):
        return True
    return (
        len(user) == 1
        and len(first.split()) <= _SHORT_ANSWER_WORDS
        and not sentence_kinds.is_question(first)
    )


def _asked(
    sentences: Sequence[str], turn: int, by: Speaker, around: Sequence[str]
) -> Iterator[_AskedQuestion]:
    """Yields the questions among some sentences; a question that continues another joins it."""
    current: list[str] = []
    for index, sentence in enumerate(sentences):
        is_followed = index + 1 < len(sentences) and sentence_kinds.is_question(
            sentences[index + 1]
        )
        if not _is_about_work(sentence, by, is_last=index == len(sentences) - 1):
            continue
        current.append(sentence)
        if is_followed and _continues(current[-1], sentences[index + 1]):
            continue
        before = sentences[max(0, index - len(current) - 1) : index - len(current) + 1] or around
        yield _AskedQuestion(Question(" ".join(current), turn, by), _words(current, before))
        current = []


def _is_about_work(sentence: str, by: Speaker, *, is_last: bool) -> bool:
    """Whether a sentence is a question about the work."""
    if sentence_kinds.is_pending(sentence):
        return True
    if not sentence_kinds.is_question(sentence) or sentence_kinds.is_chat(sentence):
        return False
    if by == "user":
        return not sentence_kinds.is_polite_request(sentence)
    return not sentence_kinds.is_offer(sentence) and not (
        _SELF_ASKED.match(tokens(sentence)) and not is_last
    )


def _continues(question: str, following: str) -> bool:
    """Whether the next question is about the same matter."""
    shared = set(content_words(question)) & set(content_words(following))
    return bool(shared or _POINTS_BACK.search(tokens(following)))


def _words(asked: Sequence[str], before: Sequence[str]) -> frozenset[str]:
    """Returns the words of a question; one with few words gets those of the sentences before."""
    words = set(content_words(" ".join(asked)))
    if len(words) < _FEW_WORDS:
        words |= set(content_words(" ".join(before)))
    return frozenset(words)


def _unanswered(asked: Sequence[_AskedQuestion], sentences: TurnSentences) -> list[_AskedQuestion]:
    """Returns the user's questions that the reply does not answer."""
    if not asked or not sentences.model:
        return list(asked)
    if any(map(sentence_kinds.is_deferral, sentences.user)) or sentence_kinds.is_pending(
        asked[-1].question.text
    ):
        return list(asked[-1:])
    no_answers = [
        text for text in sentences.closing or sentences.model if sentence_kinds.has_no_answer(text)
    ]
    about = set(content_words(" ".join(no_answers)))
    related = [each for each in asked if each.words & about]
    return related or (list(asked[-1:]) if no_answers else [])
