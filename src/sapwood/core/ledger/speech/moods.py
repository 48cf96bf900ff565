"""In which mood a sentence is: asking, offering, proposing, agreeing, deferring, small talk."""

import re
from functools import lru_cache

from sapwood.core.ledger.speech.phrases import Phrases, tokens

__all__ = [
    "agrees",
    "bare",
    "chats",
    "defers",
    "hedges",
    "is_offer",
    "is_question",
    "is_request",
    "knows_not",
    "leaves_open",
    "offers_a_choice",
    "proposes",
]

# Words that may stand before what is meant, the second kind only with a comma or the like.
_FILLER = re.compile(
    r"(?:"
    r"(?:ok(?:ay)?|k|hm+|mh+|uh+|well|so|then|and|but|also|yes|yeah|yep|yup|alright|ah+|oh+|hey"
    r"|please|pls|actually|thanks|thx|wow|(?:ha)+|lol|ouch|just)[,.!;:\s…-]+"
    r"|(?:no|nope|nah|right|good|great|fine|sure|nice|perfect|cool|true|exactly|interesting|noted"
    r"|agreed|makes sense|good (?:point|idea|catch|question)|you're right|got it|looks good"
    r"|sounds good|fair enough|do (?:that|it|so)|one (?:more )?thing|(?:two|three|some) "
    r"(?:remarks|things|points)|[:;]-?[)D(P])[,.!;:…-]+\s*"
    r")+",
    re.IGNORECASE,
)
_ASKS = re.compile(r"\?[\"'”)\]\s]*$")
_TAG_QUESTION = re.compile(r",\s*(?:ok(?:ay)?|right|yes|agreed|please|no)\?$", re.IGNORECASE)

_ALTERNATIVE = Phrases("or _ _")
_WHICH = Phrases("""
    which
    what|where|when|how _* should|shall|to
    what|where|when|how _* do|would you want|prefer|like
""")
_CHOICE = Phrases("""
    or
    which
    should
    prefer
    do you want
    how many|much|often|long|large|big
    what should|name|value|limit|version
""")
_REQUEST = Phrases("""
    can|could|would|will you|u
    can|could|may i|we get|have|see
    please
    do|would you mind
""")
_OFFER = Phrases("""
    shall|should|may|can|could i
    want me to
    would you like
    anything else
    does|do|is|would that|this|it|these|those sound|look|work|make|ok|okay|fine|right|what
    ready for|to
    how does that|this
    what's next
    what is next
    what would you like
    how can i help
    what do you think
    sounds good
""")
_PROPOSAL = Phrases(
    """
    i'd rather|probably|simply|just|also|then|therefore* !@vague
    i would rather|probably|simply|just|also|then|therefore* !@vague
    i'd rather
    i would rather
    i suggest|recommend|propose
    my suggestion|recommendation|proposal|plan|preference
    i lean towards|toward
    we could
    better|best|simplest|safest|cleanest|easiest _* is|: _
    better|best|simplest|safest|cleanest|easiest _* would be
    here's my|the|a plan
    here is my|the|a plan
    i can write|store|use|keep
    """,
    {
        "vague": "do be need say like love have look check guess expect want rather probably "
        "simply just also then therefore"
    },
)
_AGREEMENT = Phrases("""
    yes|yeah|yep|yup|sure|agreed|agree|exactly|lgtm|approved|definitely|absolutely|fine
    i agree
    sounds good|great|right|plausible|reasonable|fine
    go ahead
    go for it
    let's do it|that
    do it|that|so
    please do
    makes sense
    looks good
    that works
    works for me
    of course
    you're right
""")
_SMALL = frozenset("well hm hmm ah oh nice cool alright , . !".split())
_YES = frozenset("ok okay good great perfect right".split())
_HEDGE = Phrases("""
    maybe|perhaps|might|possibly|wonder|wondering|someday
    what if
    not sure
    i guess
    could|should|shall we
    would it
    if we used|had|were
    at some point
    some day
""")
_DEFERRAL = Phrases(
    """
    @self first? ask|clarify|discuss|decide
    @self first? check with
    @self first? talk to
    @self first? think about
    @self first? sleep on
    i|we still? need|have to first? ask|clarify|discuss|decide
    i|we still? need|have to first? check|talk|think|sleep|figure|find with|to|about|on|out
    i|we will|must|should first? ask|clarify|discuss|decide
    i|we will|must|should first? check|talk|think|sleep with|to|about|on
    not sure|clear|decided yet? whether|if|which|what|how|about
    not sure yet
    undecided|tbd
    still|remains|remain open|unclear|undecided|tbd
    to be decided|discussed|clarified
    open question|point|issue
    let me think
    leave|keep that|this|it open
    let's park|decide that|this|it
    let's come back to that|this|it
    i don't know
    i do not know
    no idea
    needs|need a decision
    needs|need to be decided
    """,
    {"self": "i'll we'll"},
)
_PENDING = Phrases(
    """
    need|have to decide|clarify @asking
    need|have to find|figure out @asking
    todo|tbd|undecided :
    open question :
    to be decided :
    let me know whether|which|what|how|who|when|where
    please confirm|decide|clarify @asking
    please tell me @asking
    remain|remains|is|are still? open|undecided $
    remain|remains|is|are still? to be decided $
    """,
    {"asking": "on about whether if which what how who when where"},
)
_IGNORANCE = Phrases(
    """
    can't|cannot|couldn't @learn
    could not @learn
    unable to @learn
    don't know
    do not know
    not|isn't|aren't in|visible|part in|from|of? this|the @place
    no way to tell
    no idea
    up to you
    your call
    business|product decision
    depends on your
    depends on what you
    you|someone|somebody|you'd|you'll would|will? have|need to ask|decide
    is|remains|still unclear
    i'm not sure
    found nothing
    until you hear|decide|know
    """,
    {
        "learn": "see tell find know say determine verify check access",
        "place": "repo repository code codebase",
    },
)
_CHAT = Phrases("""
    haha|hahaha|hahahaha|lol|lmao|rofl|xd|omg|brb|afk|thx|thank|thanks|ty|cheers|bye|cu
    hello|hi|enjoy|phone|lunch|coffee
    see you|ya
    good morning|night|evening|afternoon
    hey there
    welcome back
    one sec|moment
""")


@lru_cache(maxsize=2048)
def bare(sentence: str) -> str:
    """A sentence without the small words that it begins with.

    >>> bare("ok, good. then use /mnt/backup"), bare("No new deps")
    ('use /mnt/backup', 'No new deps')
    """
    found = _FILLER.match(sentence)
    return (sentence[found.end() :] if found else sentence).strip() or sentence.strip()


def is_question(sentence: str) -> bool:
    """Whether it asks; 'use X, ok?' does not."""
    return bool(_ASKS.search(sentence)) and not _TAG_QUESTION.search(sentence)


def is_request(sentence: str) -> bool:
    """Whether a question only asks politely that something be done."""
    return _REQUEST.search(tokens(sentence))


def is_offer(sentence: str) -> bool:
    """Whether a question only asks whether to go on; one that offers a choice does more."""
    said = tokens(sentence)
    if _ALTERNATIVE.search(said) or _WHICH.search(said):
        return False
    return _OFFER.search(said)


def offers_a_choice(sentence: str) -> bool:
    """Whether the answer to a question is a choice, rather than a piece of information."""
    return _CHOICE.search(tokens(sentence))


def proposes(sentence: str) -> bool:
    """Whether somebody says how they would do it."""
    return _PROPOSAL.search(tokens(sentence)) and not is_question(sentence)


def agrees(sentence: str) -> bool:
    """Whether it begins with a yes of any kind."""
    said = tokens(sentence)
    first = next((place for place, each in enumerate(said) if each not in _SMALL), len(said))
    if is_question(sentence):
        return False
    rest = said[first:]
    return bool(_YES.intersection(rest[:1])) or _AGREEMENT.match(rest)


def hedges(sentence: str) -> bool:
    """Whether it only thinks aloud."""
    return _HEDGE.search(tokens(sentence))


def defers(sentence: str) -> bool:
    """Whether it leaves a matter open for now."""
    return _DEFERRAL.search(tokens(sentence))


def leaves_open(sentence: str) -> bool:
    """Whether it names something that is yet to be decided, without asking."""
    return _PENDING.search(tokens(sentence)) and not is_question(sentence)


def knows_not(sentence: str) -> bool:
    """Whether a reply says that it has no answer."""
    return _IGNORANCE.search(tokens(sentence))


def chats(sentence: str) -> bool:
    """Whether it is a greeting, thanks, laughter or the like."""
    return _CHAT.match(tokens(sentence))
