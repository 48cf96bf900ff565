"""Words by which people change the subject, come back to it, or just chat."""

import re

from sapwood.core.ledger.speech.phrases import Phrases, tokens

__all__ = ["EVERYDAY", "chats", "is_aside", "is_return"]

_HEAD = 200
_EARLY = 4
"""Words before a cue, at most: later in a prompt it is about a detail."""

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
_FACE = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf]|(?<!\\w)[:;]-?[)D(P](?!\\w)|<3")

EVERYDAY = frozenset(
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
    """Whether a prompt sets out to speak of something else.

    >>> is_aside("btw, who owns the CI?"), is_aside("remove(0) on a Vec is slow, by the way")
    (True, False)
    """
    return _early(_ASIDE, prompt)


def is_return(prompt: str) -> bool:
    """Whether a prompt comes back to what was before.

    >>> is_return("ok, back to the importer"), is_return("Schedule again: can people star talks?")
    (True, True)
    """
    return _early(_RETURN, prompt) or _RETURN_FIRST.match(tokens(prompt[:_HEAD]))


def chats(sentence: str) -> bool:
    """Whether a sentence laughs, greets, thanks or shows a face."""
    said = tokens(sentence)
    if _COURTESY.search(said) or _GREETING.match(said):
        return True
    return bool(_LAUGHTER.search(sentence) or _FACE.search(sentence))


def _early(cue: Phrases, prompt: str) -> bool:
    said = tokens(prompt[:_HEAD])
    return any(cue.end_at(said, place) is not None for place in range(min(len(said), _EARLY + 1)))
