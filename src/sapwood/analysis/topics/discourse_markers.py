"""Discourse markers: words that change the subject, return to it, or are small talk."""

import re

from sapwood.analysis.language.phrases import Phrases, tokens

__all__ = ["EVERYDAY_WORDS", "is_aside", "is_return", "is_small_talk"]

_PROMPT_START = 200
_WORDS_BEFORE = 4
"""The most words before a marker; later in a prompt a marker concerns a detail."""

_ASIDE = Phrases("""
    by the way
    btw|unrelated|unrelatedly|off-topic|aside|tangent|tangential|tangentially
    off topic
    different question|thing|topic|subject|matter
    something completely? else|different
    quick|small|little|random aside|question|detour|side|sidenote
    side note|question|quest
    another thing|topic|question|matter
    other topic|question|thing
    on another|a different|side? note
    while you're|we're|i'm on|at that|it|this
    change of topic|subject
    out of curiosity
    before i forget
    in other news
    speaking of
""")
_RETURN = Phrases("""
    back to|on
    main thing|task|topic|point
    original task|topic|request|problem
    where were we
    to the topic|task|point
    anyway
    let's continue|return|resume
    let's get back
    returning to
    as for the
    again :
""")
_RETURN_FIRST = Phrases("""
    ok|okay|so|now|alright|,* back
    i'm back
""")
_LAUGHTER = re.compile(r"\b(?:a?(?:ha){2,}h?|lol|lmao|rofl|omg|brb|afk|xd)\b", re.IGNORECASE)
_COURTESY = Phrases("""
    thank|thanks|thx|cheers
    much appreciated
""")
_GREETING = Phrases("""
    bye|hello|hi|hey|phone|lunch|coffee
    see you|ya
    good morning|night|evening|afternoon
    one sec|moment|minute
    gotta go
    be right back
""")
_EMOTICON = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf]|(?<!\\w)[:;]-?[)D(P](?!\\w)|<3")

EVERYDAY_WORDS = frozenset(
    """afternoon airport baby barbecue beach beer bike birthday boring bread breakfast buddy bus
    cake cat cats chilly christmas city coffee concert cooking couch daughter dentist dinner
    doctor dog dogs easter espresso evening family food football friday fun funny game garden
    girlfriend gym haircut headache holiday holidays hungry husband joke keyboard kid kids
    kitchen lovely lunch marathon mate meme monday morning movie music neighbor neighbour
    night nap netflix party phone picnic pizza pub rain raining restaurant running sandwich
    saturday sick sister sleep sleepy snow soccer son song spring starving summer sunday
    sunny sunshine tea thursday tired traffic train trip tuesday vacation wedding weather
    wednesday weekend weird wife winter yoga""".split()
)
"""Words of life outside of work."""


def is_aside(prompt: str) -> bool:
    """Whether a prompt begins with a change of subject.

    >>> is_aside("btw, who owns the CI?"), is_aside("remove(0) on a Vec is slow, by the way")
    (True, False)
    """
    return _is_early(_ASIDE, prompt)


def is_return(prompt: str) -> bool:
    """Whether a prompt begins with a return to an earlier subject.

    >>> is_return("ok, back to the importer"), is_return("Schedule again: can people star talks?")
    (True, True)
    """
    return _is_early(_RETURN, prompt) or _RETURN_FIRST.match(tokens(prompt[:_PROMPT_START]))


def is_small_talk(sentence: str) -> bool:
    """Whether a sentence is laughter, a greeting or thanks, or has an emoticon."""
    words = tokens(sentence)
    if _COURTESY.search(words) or _GREETING.match(words):
        return True
    return bool(_LAUGHTER.search(sentence) or _EMOTICON.search(sentence))


def _is_early(markers: Phrases, prompt: str) -> bool:
    words = tokens(prompt[:_PROMPT_START])
    starts = range(min(len(words), _WORDS_BEFORE + 1))
    return any(markers.end_at(words, start) is not None for start in starts)
