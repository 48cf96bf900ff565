"""What a short prompt answers: a question of the model, its alternatives, or its proposal.

Only prompts of a few typed words answer. An answer repeats what was offered, names an option, gives
a figure that was asked for, or is a short phrase after a question for a choice.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from sapwood.analysis.language.phrases import Phrases, tokens
from sapwood.analysis.language.word_stems import content_words
from sapwood.analysis.ledger.dialogue import sentence_kinds
from sapwood.analysis.ledger.dialogue.choice_sentences import is_order, is_past
from sapwood.analysis.ledger.dialogue.deferrals import deferred_parts
from sapwood.analysis.ledger.dialogue.offers import (
    Offer,
    has_figure,
    kind_of,
    offered_words,
    proposes,
)

MAX_TYPED_WORDS = 25
"""Words of a prompt that may be an answer; a longer one states what it decides."""
_ANSWER_WORDS, _PHRASE_WORDS, _BARE_WORDS = 16, 8, 4
_ANSWER_SENTENCES = 3
_MAX_OWN = 40
"""Sentences of a prompt in which the user's own questions are looked for."""
_OPTION = re.compile(
    r"^\(?(?:[A-Da-d]|[1-9])\)?(?=[.,!)]|$|\s(?:then|please|now|it is)\b)|\((?:[a-d]|[1-9])\)"
    r"|^(?:option|variant|variante|number|nummer|approach|plan|the) (?:[A-D]|[1-9])\b"
    r"|^(?:the|das|die|der|den) (?:first|second|third|fourth|last|former|latter|erste|zweite|dritte"
    r"|letzte|erstere|letztere)\w*\b|^(?:both|neither|either|beide[ns]?|beides|ersteres|letzteres"
    r"|le premier|le second|les deux)\b",
    re.IGNORECASE,
)
_REFUSAL = Phrases("""
    hm|hmm|well|oh|,* no|nope|nah|nein|nee|ne
    rather not
""")
_RULE = Phrases("should also|then|never|always|only|not|just* !work|have")
_PREFERENCE = Phrases("""
    is|are|sound|sounds|seem|seems|look|looks better|best|safer|simpler|cleaner|right|plenty|enough
    is|are|sound|sounds|seem|seems|look|looks good enough
    fine $
    fine with|by
""")
_PREDICATE = Phrases("""
    is|are|was|were|has|have|had|does|do|did|can|could|will|would|should|fail|fails|show|shows
    got|gets|broke|break|breaks|look|looks|seem|seems|work|works|say|says|take|takes|owns|owned
    i|you|it's|that's|there|they
    ist|sind|war|hat|kann|geht|kommt|sagt|meldet|gibts|gibt|haben
""")
_SOON = Phrases("in|just|one a? second|sec|minute|moment $")
_INTERJECTION = Phrases("wait|stop|moment|hold|hurry|again|status|sorry|warte|halt|weiter")
_MIN_QUESTION = 2
_YES_WORDS = frozenset(
    "yes yep sure ok okay agree go ahead sound good right do great mach machen ja genau passt gern "
    "gerne apply please idea plan perfect plausible reasonable fine sounds".split()
) | frozenset(content_words("recommendation suggestion proposal exactly agreed order sounds"))
_PATH = re.compile(r"[\w.-]+/[\w./-]+\.\w{1,5}$")
_THEN = Phrases("then $")
_CONFIRMED = Phrases("yes|ja|oui|stimmt|correct $")
_NAME = re.compile(r"(?<=\S\s)[\w.+#-]*[A-Z\d][\w.+#-]*|^[\w.+#-]*\d[\w.+#-]*|^[A-Z]\w* (?=[A-Z])")
_ASKED = frozenset({"alternatives", "amount", "which", "choice"})


class Answer(Struct, frozen=True):
    """What the user decided, and the sentence of the model that it answers."""

    sentence: int
    text: str
    about: str


def answers_of(user: Sequence[str], offers: Sequence[Offer]) -> Iterator[Answer]:
    """Yields what the first sentences of a prompt answer."""
    if not user:
        return
    yield from _own_answer(user)
    if not offers:
        return
    typed = sum(sentence.count(" ") + 1 for sentence in user)
    accepted = _accepted(user, offers)
    if accepted is not None:
        yield Answer(0, accepted.text, "")
        return
    found = asks = 0
    for number, sentence in enumerate(user[:_ANSWER_SENTENCES]):
        text = sentence_kinds.without_filler(sentence)
        asks += sentence_kinds.is_question(sentence)
        if not _may_answer(sentence, text):
            if deferred_parts(text):
                return
            continue
        place = _Place(typed, alone=len(user) == 1, first=not found and not asks)
        about = _answered(text, sentence, offers, place)
        if about is not None:
            found += 1
            yield Answer(number, sentence, about.text)


def _own_answer(user: Sequence[str]) -> Iterator[Answer]:
    """Yields the last short sentence that answers a question of the user's own, 'a or b?'."""
    for place, question in enumerate(user[:_MAX_OWN]):
        if not sentence_kinds.is_question(question) or kind_of(question) != "alternatives":
            continue
        words = offered_words(question)
        replies = [
            (number, text)
            for number, text in enumerate(user[place + 1 : place + 1 + _MAX_OWN], place + 1)
            if text.count(" ") < _PHRASE_WORDS
            and _may_answer(text, text)
            and offered_words(text) & words
        ]
        for number, text in replies[-1:]:
            yield Answer(number, text, question)


def _accepted(user: Sequence[str], offers: Sequence[Offer]) -> Offer | None:
    """Returns the proposal that a short yes accepts."""
    first = user[0]
    if not sentence_kinds.is_agreement(first) or deferred_parts(first):
        return None
    rest = sentence_kinds.without_filler(first)
    bare = first.count(" ") <= _BARE_WORDS and not (set(content_words(rest)) - _YES_WORDS)
    if not bare or offers[-1].kind in ("work", "fact"):
        return None
    proposals = [
        offer
        for offer in offers
        if offer.text.count(" ") >= _MIN_QUESTION
        and (offer.kind == "choice" or (offer.kind == "proposal" and proposes(offer.text)))
    ]
    return next((o for o in reversed(proposals) if len(o.words) >= _MIN_QUESTION), None)


def _may_answer(sentence: str, text: str) -> bool:
    if sentence_kinds.is_question(sentence) or sentence_kinds.is_chat(sentence):
        return False
    words = tokens(text)
    if deferred_parts(text) or _INTERJECTION.match(words) or _SOON.search(words):
        return False
    if _PATH.match(text):
        return False
    return not (is_order(text) or is_past(text)) and text.count(" ") < _ANSWER_WORDS


class _Place(Struct, frozen=True):
    """Where a sentence stands: the typed words of its prompt, and what came before it."""

    typed: int
    alone: bool
    first: bool


def _answered(text: str, sentence: str, offers: Sequence[Offer], place: _Place) -> Offer | None:
    """Returns the offer that a sentence answers; None if it answers none."""
    words = tokens(text)
    length = text.count(" ") + 1
    echoed = _echoed(text, offers)
    asked = [offer for offer in offers if offer.kind in _ASKED]
    if _PREFERENCE.search(words) and length <= _PHRASE_WORDS and (echoed or _named(text, offers)):
        return echoed or _named(text, offers)
    questions = [offer for offer in offers if offer.kind not in ("statement", "proposal")]
    if _CONFIRMED.search(words) and has_figure(text) and questions and length <= _BARE_WORDS:
        return questions[-1] if has_figure(questions[-1].text) else None
    if place.typed > MAX_TYPED_WORDS:
        return None
    if option := _OPTION.search(text):
        return asked[-1] if asked else offers[-1] if "(" in option[0] else None
    if asked and asked[-1].kind == "amount" and has_figure(text) and length <= _PHRASE_WORDS:
        return asked[-1]
    refuses = _REFUSAL.match(tokens(sentence)) and text != sentence
    if refuses or _PREFERENCE.search(words) or _RULE.search(words) or _THEN.search(words):
        last = asked[-1] if asked else offers[-1]
        return echoed or (last if asked or last.kind == "proposal" else None)
    if echoed is not None and (length <= _PHRASE_WORDS or echoed.kind in _ASKED):
        return echoed if not _PREDICATE.search(words) or echoed.kind in _ASKED else None
    if place.alone and length <= _MIN_QUESTION and (named := _named(text, offers)):
        return named
    if sentence_kinds.is_agreement(sentence) and any(proposes(o.text) for o in offers[-2:]):
        return offers[-1] if set(content_words(text)) - _YES_WORDS and length > 2 else None
    short = length <= _PHRASE_WORDS and not _PREDICATE.search(words)
    if asked and asked[-1] is offers[-1] and place.first and short:
        return asked[-1] if (place.alone or length > 1) and content_words(text) else None
    return None


def _named(text: str, offers: Sequence[Offer]) -> Offer | None:
    """Returns the sentence that names what an answer repeats: a name, a figure, an identifier."""
    wanted = offered_words(text)
    for offer in reversed(offers):
        for name in _NAME.findall(offer.text):
            if wanted & offered_words(name):
                return offer
    return None


def _echoed(text: str, offers: Sequence[Offer]) -> Offer | None:
    """Returns the offer that shares most words with an answer; a number may be the end of one."""
    wanted = offered_words(text)
    best: tuple[int, Offer | None] = (0, None)
    for offer in offers:
        if offer.kind in ("work", "fact", "statement"):
            continue
        shared = len(wanted & offer.words)
        if shared and shared >= best[0]:
            best = (shared, offer)
    return best[1]
