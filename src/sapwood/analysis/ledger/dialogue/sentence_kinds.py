"""The kind of a sentence: question, offer, proposal, agreement, deferral, small talk."""

import re
from functools import lru_cache

from sapwood.analysis.language.phrases import Phrases, tokens

# Filler words at the start of a sentence; those of the second group need punctuation after them.
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
_QUESTION_MARK = re.compile(r"\?[\"'”)\]\s]*$")
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
_FILLER_TOKENS = frozenset("well hm hmm ah oh nice cool alright , . !".split())
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
_NO_ANSWER = Phrases(
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
def without_filler(sentence: str) -> str:
    """Returns a sentence without the filler words that it begins with.

    >>> without_filler("ok, good. then use /mnt/backup"), without_filler("No new deps")
    ('use /mnt/backup', 'No new deps')
    """
    found = _FILLER.match(sentence)
    return (sentence[found.end() :] if found else sentence).strip() or sentence.strip()


def is_question(sentence: str) -> bool:
    """Whether the sentence is a question; 'use X, ok?' is not."""
    return bool(_QUESTION_MARK.search(sentence)) and not _TAG_QUESTION.search(sentence)


def is_polite_request(sentence: str) -> bool:
    """Whether a question is a polite request for work."""
    return _REQUEST.search(tokens(sentence))


def is_offer(sentence: str) -> bool:
    """Whether a question only asks whether to continue, without offering alternatives."""
    words = tokens(sentence)
    if _ALTERNATIVE.search(words) or _WHICH.search(words):
        return False
    return _OFFER.search(words)


def asks_for_choice(sentence: str) -> bool:
    """Whether a question asks for a choice rather than for information."""
    return _CHOICE.search(tokens(sentence))


def is_proposal(sentence: str) -> bool:
    """Whether the sentence proposes how to do something."""
    return _PROPOSAL.search(tokens(sentence)) and not is_question(sentence)


def is_agreement(sentence: str) -> bool:
    """Whether the sentence begins with a yes of any kind."""
    words = tokens(sentence)
    first = next((n for n, word in enumerate(words) if word not in _FILLER_TOKENS), len(words))
    if is_question(sentence):
        return False
    rest = words[first:]
    return bool(_YES.intersection(rest[:1])) or _AGREEMENT.match(rest)


def is_hedged(sentence: str) -> bool:
    """Whether the sentence is uncertain, such as one with 'maybe'."""
    return _HEDGE.search(tokens(sentence))


def is_deferral(sentence: str) -> bool:
    """Whether the sentence postpones a decision."""
    return _DEFERRAL.search(tokens(sentence))


def is_pending(sentence: str) -> bool:
    """Whether the sentence names an undecided matter without being a question."""
    return _PENDING.search(tokens(sentence)) and not is_question(sentence)


def has_no_answer(sentence: str) -> bool:
    """Whether the sentence says that the speaker has no answer."""
    return _NO_ANSWER.search(tokens(sentence))


def is_chat(sentence: str) -> bool:
    """Whether the sentence is a greeting, thanks or laughter."""
    return _CHAT.match(tokens(sentence))
