"""Finds open questions: what was left to somebody or to later, and questions without an answer.

A question of the model stays open until the next prompt that states something: people who do not
answer have moved on. What the user left open stays until a later prompt comes back to it.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from sapwood.analysis.language.phrases import Phrases, tokens
from sapwood.analysis.language.sentences import TurnSentences
from sapwood.analysis.language.word_stems import content_words
from sapwood.analysis.ledger.dialogue import sentence_kinds
from sapwood.analysis.ledger.dialogue.deferrals import deferred_parts, is_later, is_resolved
from sapwood.analysis.ledger.entries import Question, Speaker

_SELF_ASKED = Phrases("""
    why
    how come
    what happened
    what does this mean
    so what
""")
_POINTS_BACK = Phrases("it|that|this|those|these|they|them|one|ones|there|so")
_SHORT_ANSWER_WORDS = 4
_FEW_WORDS = 2
_FIRST_SENTENCES = 3
_SHARED_WORDS = 0.5
_SAME_MATTER = 0.3


class _AskedQuestion(Struct, frozen=True):
    question: Question
    words: frozenset[str]
    deferred: bool = False


class QuestionTracker:
    """Collects the open questions of a conversation turn by turn."""

    def __init__(self) -> None:
        self._open: list[_AskedQuestion] = []
        self._answered: list[_AskedQuestion] = []
        self._before: TurnSentences | None = None

    def add(self, sentences: TurnSentences) -> None:
        """Adds the questions of one more turn, and closes those that its prompt answers."""
        deferred = self._deferred(sentences)
        self._read_prompt(sentences.user)
        around = self._before.closing if self._before else ()
        asked = list(_asked(sentences.user, sentences.turn, "user", around))
        unanswered = _unanswered(asked, sentences)
        if deferred and unanswered:
            deferred[0] = _about(deferred[0], unanswered.pop())
        known = {each.question.about for each in deferred}
        unanswered = [each for each in unanswered if each.question.text not in known]
        self._answered = [each for each in asked if each not in unanswered]
        self._open = [each for each in self._open if not _is_deferred_again(each, deferred)]
        self._open += [*unanswered, *deferred]
        self._open += _asked(sentences.closing, sentences.turn, "model", ())
        self._before = sentences

    def questions(self) -> tuple[Question, ...]:
        """Returns the open questions in the order in which they were asked."""
        return tuple(each.question for each in self._open)

    def _deferred(self, sentences: TurnSentences) -> list[_AskedQuestion]:
        """Returns what the user leaves open, with the question before it."""
        found: list[_AskedQuestion] = []
        closing = self._before.closing if self._before else ()
        asked = [text for text in closing if sentence_kinds.is_question(text)]
        for place, text in enumerate(sentences.user):
            parts = deferred_parts(text)
            if not parts and place < _FIRST_SENTENCES and self._is_postponed(text, asked, place):
                parts = [text]
            for part in parts:
                own = sentences.user[place - 1] if place else ""
                own = own if own and sentence_kinds.is_question(own) else ""
                said = frozenset(content_words(part)) - _LIGHT
                about = own or ("" if found else self._referred_to(part))
                about = about or ("" if found else next(iter(asked[-1:]), ""))
                if not about and not found and len(said) < _FEW_WORDS:
                    about = next(iter(closing[-1:]), "")
                if not said and (
                    found or self._is_asked(sentences.turn) or sentence_kinds.is_offer(about)
                ):
                    continue  # it says no more than the question that is open
                question = Question(part, sentences.turn, "user", about)
                words = said | (frozenset(content_words(about)) - _LIGHT)
                found.append(_AskedQuestion(question, words, deferred=True))
        return found

    def _is_postponed(self, text: str, asked: Sequence[str], place: int) -> bool:
        is_asked = bool(asked) and place == 0
        if is_asked and " or " in asked[-1]:
            return False
        return is_later(text, asked=is_asked)

    def _is_asked(self, turn: int) -> bool:
        """Whether a question of the user's last prompts is open."""
        return any(
            each.question.by == "user" and turn - each.question.turn <= 1 for each in self._open
        )

    def _referred_to(self, part: str) -> str:
        """Returns the question of the user that the turn before answered and this part reopens."""
        words = set(content_words(part)) - _LIGHT
        related = [each for each in self._answered if _is_referred_to(each, words)]
        return related[-1].question.text if related else ""

    def _read_prompt(self, user: Sequence[str]) -> None:
        """Closes questions that the prompt answers, and those of the model that it passes over."""
        statements = [text for text in user if not sentence_kinds.is_question(text)]
        if not statements or all(map(sentence_kinds.is_chat, user)):
            return
        words = set(content_words(" ".join(statements)))
        came_back = is_resolved(statements)
        self._open = [
            each
            for each in self._open
            if each.question.by == "user" and not _is_answered(each, words, came_back=came_back)
        ]


_LIGHT = frozenset(
    content_words(
        "ask decide decides clarify talk hear opinion check find know idea sure think sleep list "
        "tomorrow later leave open park whether idk tmrw"
    )
)


def _about(deferred: _AskedQuestion, asked: _AskedQuestion) -> _AskedQuestion:
    """Returns what was left open with the question of the same prompt that it is about."""
    question = structs.replace(deferred.question, about=asked.question.text)
    return _AskedQuestion(question, deferred.words | asked.words, deferred=True)


def _is_deferred_again(asked: _AskedQuestion, again: Sequence[_AskedQuestion]) -> bool:
    """Whether the same matter was left open once more."""
    return asked.deferred and any(_is_same_matter(asked.words, each.words) for each in again)


def _is_same_matter(one: frozenset[str], other: frozenset[str]) -> bool:
    shared = len(one & other)
    return shared >= _FEW_WORDS and shared >= _SAME_MATTER * min(len(one), len(other))


def _is_referred_to(asked: _AskedQuestion, words: set[str]) -> bool:
    """Whether a deferral with these words refers to this question, or to no other matter."""
    return len(words) <= _SHORT_ANSWER_WORDS or bool(words & asked.words)


def _is_answered(asked: _AskedQuestion, words: set[str], *, came_back: bool) -> bool:
    """Whether a prompt with these words settles a question of the user."""
    shared = len(asked.words & words)
    if asked.deferred and came_back and shared:
        return True
    return shared >= _FEW_WORDS and shared >= _SHARED_WORDS * len(asked.words)


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
    if sentence_kinds.is_pending(asked[-1].question.text):
        return list(asked[-1:])
    no_answers = [
        text for text in sentences.closing or sentences.model if sentence_kinds.has_no_answer(text)
    ]
    about = set(content_words(" ".join(no_answers)))
    related = [each for each in asked if each.words & about]
    return related or (list(asked[-1:]) if no_answers else [])
