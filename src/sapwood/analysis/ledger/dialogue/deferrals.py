"""Sentences that leave a matter open: to somebody else, to a later time, or to more thought."""

from collections.abc import Sequence

from sapwood.analysis.language.phrases import Phrases, tokens
from sapwood.analysis.ledger.dialogue import sentence_kinds
from sapwood.analysis.ledger.dialogue.clauses import chosen_parts, is_long
from sapwood.analysis.ledger.dialogue.german_choices import is_german_deferral

_LISTS = {
    "ask": "ask clarify discuss confirm decide consult",
    "self": "i we i'd we'd i'll we'll",
    "other": "he she they sanne him her them",
}
_TO_SOMEBODY = Phrases(
    """
    have|has|need|want|must|got|going to @ask
    have|has|need|want|must|got|going to check|talk|speak|think|sleep|hear with|to|about|on|from
    @self ask|clarify|raise|discuss|check !the|that|this|it|if|whether|in|for|out
    @self check|talk|speak with|to
    @self raise it|that|this in|with|at
    @self would? have|need to @ask
    want to hear _ _? opinion|view|take
    ask the|my|our|your _ _? what|how|whether|if|which|about
    _ decides $
    !you|we|i|it|that|this|code decides
    's|s call
    that's|is _ call|decision
    that's|is up to _ $
    waiting for _ _? to? _
    wait for him|her|them|his|their
    on her|his|their list
    @self don't|dont know yet
    not sure yet|, _
    'm|am|i'm not sure , have
    til|till|until _ _? fixes|fixed|confirms|answers|replies|decides|is|knows|has
    until i know|hear|ask
    """,
    _LISTS,
)
_TO_LATER = Phrases("""
    let me think|sleep on|about
    let me ask
    i have to think about
    park it|that|this
    at some point
    not now $
    but not now
    and then decide|see
    decide later|tomorrow|then|next
    leave|keep that|this|it for|open|until later|tomorrow|next|the _
    leave|keep that|this|it open
    don't want to think about that|it|this now
    on the list but|for later
    idk
    no idea $
    put ? there
    still|remains|remain open|unclear|undecided|tbd
    not decided yet
    undecided|tbd
    we look|see at _ _? in
""")
_TIME = Phrases("""
    tomorrow|tmrw|tmr|later|morgen|später
    on|by|until monday|tuesday|wednesday|thursday|friday
    next|nächste|nächsten week|month|sprint|time|year|woche|monat
    another day|time
    for the spring|summer|autumn|winter
""")
_RESOLVED = Phrases("""
    slept|thought|decided|looked on|about|it|into|that|and|,
    asked|talked|spoke|checked|heard|clarified to|with|him|her|it|them|back|from|that|and|,
    she|he|they says|said|confirmed|wants|want|answered|agreed|replied
    gefragt|geklärt|entschieden|nachgeschaut|nachgesehen
""")
_NOT_A_MATTER = Phrases("""
    let me know|see|check|try|explain|show
    commit|push|good|stop|see|talk you? tomorrow|later
    go|going to bed
    see|talk|more|until|bis|continue
""")
_MAX_LATER_WORDS = 7
_FEW_WORDS = 4


def deferred_parts(sentence: str) -> list[str]:
    """Returns the parts of a sentence that leave a matter open; of a short one the whole."""
    if sentence_kinds.is_question(sentence):
        return []
    if is_long(sentence):
        return chosen_parts(sentence, _surely_defers)
    return [sentence] if _defers(sentence) else []


def _surely_defers(text: str) -> bool:
    words = tokens(text)
    if _NOT_A_MATTER.match(words):
        return False
    return _TO_SOMEBODY.search(words) or _TO_LATER.search(words) or is_german_deferral(words)


def _defers(text: str) -> bool:
    if _surely_defers(text):
        return True
    words = tokens(text)
    return sentence_kinds.is_deferral(text) and not _IS_ASIDE.search(words)


_IS_ASIDE = Phrases("""
    , i don't know ,
    let me think $
""")


def is_later(sentence: str, *, asked: bool) -> bool:
    """Whether a short sentence only names a later time: 'tomorrow', 'Safari tomorrow'.

    It may be longer if something was `asked`.
    """
    words = tokens(sentence)
    most = _MAX_LATER_WORDS if asked else _FEW_WORDS
    short = sum(word.isalnum() for word in words) <= most
    return short and _TIME.search(words) and not _NOT_A_MATTER.match(words)


def is_resolved(sentences: Sequence[str]) -> bool:
    """Whether somebody came back to a matter: 'I slept on it', 'she says'."""
    return any(_RESOLVED.search(tokens(text)) for text in sentences)
