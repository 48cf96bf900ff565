"""In which mood a sentence is: asking, offering, proposing, agreeing, deferring, small talk."""

import re

from sapwood.core.ledger.speech.phrases import opening, phrases

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
    r"^(?:"
    r"(?:ok(?:ay)?|k|hm+|mh+|uh+|well|so|then|and|but|also|ye(?:s|ah|p)|yup|alright|ah+|oh+|hey"
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
_ALTERNATIVE = re.compile(r"\bor \w+ \w+", re.IGNORECASE)
_WHICH = phrases(
    r"(?:which|what|where|when|how(?: many| much| often| long| large)?)(?: \w+){0,3} "
    r"(?:should|shall|do you (?:want|prefer)|would you (?:like|prefer)|to)",
    r"which(?: one| way| of)?",
)
_CHOICE = phrases(
    r"or",
    r"which",
    r"should",
    r"prefer",
    r"do you want",
    r"how (?:many|much|often|long|large|big)",
    r"what (?:should|name|value|limit|version)",
)

_REQUEST = phrases(
    r"(?:can|could|would|will) (?:you|u)",
    r"(?:can|could|may) (?:i|we) (?:get|have|see)",
    r"please",
    r"(?:do|would) you mind",
)
_OFFER = phrases(
    r"(?:shall|should|may|can|could) i",
    r"want me to",
    r"would you like(?: me)?",
    r"anything else",
    r"(?:does|do|is|would) (?:that|this|it|these|those) "
    r"(?:sound|look|work|make sense|ok|okay|fine|right|what you)",
    r"ready (?:for|to)",
    r"how does (?:that|this)",
    r"what(?:'s| is) next",
    r"what would you like",
    r"how can i help",
    r"what do you think",
    r"sounds good",
)
_PROPOSAL = phrases(
    r"i(?:'d| would) (?:rather |probably |simply |just |also |then |therefore )*"
    r"(?!do that|do it|be|need|say|like|love|have|look|check|guess|expect|call that|want)\w+",
    r"i (?:suggest|recommend|propose)",
    r"my (?:suggestion|recommendation|proposal|plan|preference)",
    r"i lean towards?",
    r"we could",
    r"(?:better|best|simplest|safest|cleanest|easiest)[^.]{0,40}(?:: | is | would be )\w+",
    r"here(?:'s| is) (?:my|the|a) plan",
    r"i can (?:write|store|use|keep)",
)
_AGREEMENT = opening(
    r"(?:(?:ok(?:ay)?|well|hm+|ah|oh|great|good|perfect|nice|cool|alright|right)[,.! ]+)*"
    r"(?:ye(?:s|ah|p)|yup|sure|agreed?|i agree|sounds (?:good|great|right|plausible|reasonable)"
    r"|sounds fine|go ahead|go for it|do (?:it|that|so)|let's do (?:it|that)|please do|exactly"
    r"|makes sense|looks good|lgtm|that works|works for me|good idea|perfect"
    r"|fine(?: by me| with me)?|approved|definitely|absolutely|of course|you're right|ok(?:ay)?"
    r"|good|great|right)",
)
_HEDGE = phrases(
    r"maybe",
    r"perhaps",
    r"might",
    r"what if",
    r"not sure",
    r"wonder(?:ing)?",
    r"i guess",
    r"possibly",
    r"(?:could|should|shall) we",
    r"would it",
    r"if we (?:used|had|were)",
    r"at some point",
    r"some ?day",
)
_DEFERRAL = phrases(
    r"(?:i|we)(?:'ll| will|'d have to|'ve got to|(?: still)? (?:need|have) to| must| should)"
    r"(?: first)? (?:ask|check with|talk to|clarify|discuss|think about|sleep on|decide)",
    r"(?:i|we)(?: still)? (?:need|have) to (?:figure|find) out",
    r"not (?:sure|clear|decided)(?: yet)? (?:whether|if|which|what|how|about)",
    r"undecided",
    r"(?:still|remains?) (?:open|unclear|undecided|tbd)",
    r"to be (?:decided|discussed|clarified)",
    r"open (?:question|point|issue)",
    r"tbd",
    r"let me think",
    r"(?:i'm |i am )?not sure yet",
    r"(?:leave|keep) (?:that|this|it) open",
    r"let's (?:park|come back to|decide) (?:that|this|it)",
    r"i (?:don't|do not) know(?: yet)?",
    r"no idea",
    r"needs? (?:a decision|to be decided)",
)
_PENDING = phrases(
    r"(?:still )?(?:need|have) to (?:decide|find out|figure out|clarify) "
    r"(?:on|about|whether|if|which|what|how|who|when|where)",
    r"(?:todo|tbd|open question|to be decided|undecided):",
    r"let me know (?:whether|which|what|how|who|when|where)",
    r"please (?:confirm|decide|tell me|clarify) (?:whether|if|which|what|how|who|when|where)",
    r"(?:remains?|is|are) (?:still )?(?:open|undecided|to be decided)(?=[.,!]|$)",
)
_IGNORANCE = phrases(
    r"(?:can't|cannot|couldn't|could not|unable to) "
    r"(?:see|tell|find|know|say|determine|verify|check|access)",
    r"(?:don't|do not) know",
    r"(?:not|isn't|aren't) (?:in|visible (?:in|from)|part of) (?:this|the) (?:repo\w*|code)",
    r"no way to tell",
    r"no idea",
    r"up to you",
    r"your call",
    r"(?:business|product) decision",
    r"depends on (?:your|what you)",
    r"(?:you|someone|somebody)(?:'d| would|'ll| will)? (?:have|need) to (?:ask|decide)",
    r"(?:is|remains|still) unclear",
    r"i'm not sure",
    r"found nothing",
    r"until you (?:hear|decide|know)",
)
_CHAT = opening(
    r"(?:ha){2,}\w*|lol|lmao|rofl|xd|omg|brb|afk|thx|thanks?|thank you|ty|cheers|bye|cu",
    r"see (?:you|ya)|good (?:morning|night|evening|afternoon)|hello|hi|hey there|enjoy",
    r"welcome back|phone|lunch|coffee|one sec|one moment",
)


def bare(sentence: str) -> str:
    """A sentence without the small words that it begins with.

    >>> bare("ok, good. then use /mnt/backup"), bare("No new deps")
    ('use /mnt/backup', 'No new deps')
    """
    return _FILLER.sub("", sentence).strip() or sentence.strip()


def is_question(sentence: str) -> bool:
    """Whether it asks; 'use X, ok?' does not."""
    return bool(_ASKS.search(sentence)) and not _TAG_QUESTION.search(sentence)


def is_request(sentence: str) -> bool:
    """Whether a question only asks politely that something be done."""
    return bool(_REQUEST.search(sentence))


def is_offer(sentence: str) -> bool:
    """Whether a question only asks whether to go on; one that offers a choice does more."""
    if _ALTERNATIVE.search(sentence) or _WHICH.search(sentence):
        return False
    return bool(_OFFER.search(sentence))


def offers_a_choice(sentence: str) -> bool:
    """Whether the answer to a question is a choice, rather than a piece of information."""
    return bool(_CHOICE.search(sentence))


def proposes(sentence: str) -> bool:
    """Whether somebody says how they would do it."""
    return bool(_PROPOSAL.search(sentence)) and not is_question(sentence)


def agrees(sentence: str) -> bool:
    """Whether it begins with a yes of any kind."""
    return bool(_AGREEMENT.match(sentence)) and not is_question(sentence)


def hedges(sentence: str) -> bool:
    """Whether it only thinks aloud."""
    return bool(_HEDGE.search(sentence))


def defers(sentence: str) -> bool:
    """Whether it leaves a matter open for now."""
    return bool(_DEFERRAL.search(sentence))


def leaves_open(sentence: str) -> bool:
    """Whether it names something that is yet to be decided, without asking."""
    return bool(_PENDING.search(sentence)) and not is_question(sentence)


def knows_not(sentence: str) -> bool:
    """Whether a reply says that it has no answer."""
    return bool(_IGNORANCE.search(sentence))


def chats(sentence: str) -> bool:
    """Whether it is a greeting, thanks, laughter or the like."""
    return bool(_CHAT.match(sentence.strip()))
