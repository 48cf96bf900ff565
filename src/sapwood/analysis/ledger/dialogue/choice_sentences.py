"""Which sentences state a choice, judged by their own words alone."""

import re
from collections.abc import Sequence

from sapwood.analysis.language.phrases import Phrases, tokens
from sapwood.analysis.ledger.dialogue import sentence_kinds
from sapwood.analysis.ledger.dialogue.choice_phrases import CHOICE, IMPERATIVE
from sapwood.analysis.ledger.dialogue.german_choices import is_german, is_german_choice

# Constraints in a remark; in an order for the next work they only say how to do it.
_REMARK = Phrases("""
    by default
    opt-in|opt-out
    behind a feature? flag
    only for|in|on
    will do $
    so no _ $
    , not a|an|the? _ $
""")
_REPORTED = Phrases("""
    if|when|whenever|because|since|unless
    i|we|you know
    i|we|you said
    as i|we said
    i'm kind|sort of
    i'm thinking|wondering
""")
_LISTS = {
    "who": "far good sorry what why how who when where which is are do does did can could i i'm "
    "i've we we're you they he she it it's this that that's there there's here here's the my our "
    "if then much many long in on at for please handle make let's just be add"
}
_WITHIN = Phrases("""
    not|don't|leave|kick|rename|just|only
    make it|them
    lieber|doch|kein|keine|keinen|erst|erstmal|nur
    use the
""")
_CONCLUSION = Phrases("so !@who _", _LISTS)
_CONCLUSION_WORDS = 10
_FINITE = Phrases("""
    is|are|was|were|has|have|had|does|do|did|can|could|will|would|should|went|wants|want|got|get|says
    i|you|we|they|he|she|it's|that's|there|here's|don't|doesn't|isn't
""")
_SETTING = frozenset(
    "set scale silence mute disable enable bump raise lower increase reduce cap limit pin cut "
    "start stop extend shorten".split()
)
_YET = Phrases("""
    don't|not ... yet $
    do not ... yet $
    not yet
""")
_RENAMED_FILE = re.compile(r"rename \S*[/.]\S+ ", re.IGNORECASE)
_ONE_LETTER = re.compile(r"(?:not|no|nicht) \W*[a-z]\W*$", re.IGNORECASE)
_EQUATION = re.compile(r"^[^=\n(){}]*\w\s=\s\w[^=\n(){}]*$")
_MAX_EQUATION = 12
_LISTED = 3
"""Values in a row that make a specification."""
_NO_CHOICE = Phrases("""
    don't know|understand|see|trust|forget|worry|remember|get|have|mind|care|like
    don't think !we
    don't think we !want|need|use|support|should
    use your
    use the read|edit|bash|search|task|todo tool
    keep going|on|up
    keep in mind
    keep me posted
    keep an eye
    make it|this|that so|work|compile|pass
    make sure
    go|going|get|come back to work
    go|going|get|come back to the task|topic|main|original|actual
    used to
    so far so good
""")
_INQUIRY = Phrases("""
    what|who|whose|where|how|when|was|wer|wie|wo|warum|wieso|welche|welcher|welches
    explain|tell|show|describe|compare|summarise|summarize|why
    find out
    i wonder
""")
_PAST = Phrases("""
    was|were|had|yesterday|ago
    has|have been
    last week|year|month
    never used|had|seen|tried|heard|worked
""")
_MODELS_CHOICE = Phrases("""
    i|i've decided|chosen|chose|opted
    i have decided|chosen|opted
    i|i've settled on
    i|i've went|gone with
    i'll go with
    i'll stick with|to
    i'm going to go with
    i|we will go with
    we'll|i'll use|keep|store|go|make|put ... instead of
    we'll|i'll use|keep|store|go|make|put ... rather than
    decision :
    rather than ... i'll|we'll|i've|we've
    instead of ... i'll|we'll|i've|we've
    i|i've used|kept|stored|made|put ... instead of
    i|i've used|kept|stored|made|put ... rather than
    i'm|we're going with
""")
_ORDER = Phrases("""
    write|add|fix|run|create|commit|implement|continue|do|start|update|show|check|test|explain
    remove|delete|rename|install|document|please|proceed|build|deploy|push|open|look|find|tell
    summarise|summarize|merge|rebase|release|include|try|now|next|roll|generate|review
    go on
    give me
""")
_REPORT = Phrases("""
    fail|fails|failed|failing|failure|failures|error|errors|pass|passes|passed|passing|test|tests
""")


def is_choice(sentence: str, *, german: bool = False) -> bool:
    """Whether a user's sentence states what to use, keep or leave out.

    `german` if the conversation around it is German.
    """
    bare = sentence_kinds.without_filler(sentence)
    words = _NO_CHOICE.replace(tokens(bare), "look")
    if (
        sentence_kinds.is_question(sentence)
        or sentence_kinds.is_hedged(sentence)
        or _INQUIRY.match(words)
        or _REPORTED.match(words)
        or _YET.match(words)
    ):
        return False
    if _RENAMED_FILE.match(bare) or _ONE_LETTER.match(bare):
        return False
    if IMPERATIVE.match(words) or (_REMARK.search(words) and not _ORDER.match(words)):
        return True
    if _sets_value(bare, words):
        return True
    whole = tokens(sentence)
    if german or is_german(whole):
        return is_german_choice(whole) or is_german_choice(words) or CHOICE.search(words)
    if _concludes(whole):
        return True
    return CHOICE.search(words) and (not _PAST.search(words) or "decided" in words)


def _sets_value(text: str, words: Sequence[str]) -> bool:
    """Whether a sentence gives something a value: 'cap it at 5', 'date = day of joining'."""
    if words[:1] and words[0] in _SETTING and any(map(str.isdigit, text)):
        return True
    items = text.split(", ")
    if len(items) >= _LISTED and all(any(map(str.isdigit, item)) for item in items):
        return not _FINITE.search(words) and not _REPORT.search(words)
    return text.count(" ") < _MAX_EQUATION and bool(_EQUATION.match(text))


def is_choice_within(clause: str) -> bool:
    """Whether a clause inside a short sentence states a choice: 'wait, not --clean, …'."""
    return _WITHIN.match(tokens(sentence_kinds.without_filler(clause))) and is_choice(clause)


def _concludes(words: Sequence[str]) -> bool:
    """Whether a sentence names what follows from something: 'So CSV and paste, no Excel'."""
    if words[:1] in (("ok",), ("okay",), ("and",)):
        words = words[1:]
    words = words[: words.index(",")] if "," in words else words
    length = sum(word.isalnum() for word in words)
    return length <= _CONCLUSION_WORDS and _CONCLUSION.match(words) and not _FINITE.search(words)


def is_past(sentence: str) -> bool:
    """Whether the sentence describes the past."""
    return _PAST.search(tokens(sentence))


def is_model_choice(sentence: str) -> bool:
    """Whether a model's sentence states that the model chose."""
    if not _MODELS_CHOICE.search(tokens(sentence)):
        return False
    return not sentence_kinds.is_question(sentence) and not sentence_kinds.is_hedged(sentence)


def is_order(sentence: str) -> bool:
    """Whether the sentence only asks for the next work."""
    return _ORDER.match(tokens(sentence_kinds.without_filler(sentence)))
