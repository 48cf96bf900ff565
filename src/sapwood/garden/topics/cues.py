"""Words by which people change the subject, come back to it, or just chat."""

import re

from sapwood.core.ledger.speech.phrases import opening, phrases

__all__ = ["EVERYDAY", "chats", "is_aside", "is_return"]

_EARLY = 4
"""Words before a cue, at most: later in a prompt it is about a detail."""

_ASIDE = phrases(
    r"by the way",
    r"btw",
    r"unrelated(?:ly)?",
    r"off[- ]topic",
    r"(?:completely |totally |entirely )?different (?:question|thing|topic|subject|matter)",
    r"something (?:else|different|completely different)",
    r"(?:quick|small|little|random|unrelated) (?:aside|question|detour|side[- ]?\w*)",
    r"side (?:note|question|quest)",
    r"aside",
    r"another (?:thing|topic|question|matter)",
    r"other (?:topic|question|thing)",
    r"on (?:another|a different|a side) note",
    r"while (?:you're|we're|i'm) (?:on|at) (?:that|it|this)",
    r"change of (?:topic|subject)",
    r"out of curiosity",
    r"before i forget",
    r"tangent(?:ial|ially)?",
    r"in other news",
    r"speaking of",
)
_RETURN = phrases(
    r"back to",
    r"back on",
    r"main (?:thing|task|topic|point)",
    r"original (?:task|topic|request|problem)",
    r"where were we",
    r"to the (?:topic|task|point)",
    r"anyway",
    r"let's (?:continue|get back|return|resume)",
    r"returning to",
    r"as for the",
)
_RETURN_FIRST = opening(r"(?:ok |okay |so |now |alright )*back", r"i'm back", r"[\w ]{1,30} again:")
_LAUGHTER = re.compile(r"\b(?:a?(?:ha){2,}h?|lol|lmao|rofl|omg|brb|afk|xd)\b", re.IGNORECASE)
_COURTESY = phrases(r"thank(?:s| you)(?: so much| a lot)?", r"thx", r"cheers", r"much appreciated")
_GREETING = opening(
    r"bye|see (?:you|ya)|good (?:morning|night|evening|afternoon)|hello|hi|hey",
    r"phone|lunch|coffee|one (?:sec|moment|minute)|gotta go|be right back",
)
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
    return _early(_RETURN, prompt) or bool(_RETURN_FIRST.match(prompt.strip()))


def chats(sentence: str) -> bool:
    """Whether a sentence laughs, greets, thanks or shows a face."""
    text = sentence.strip()
    found = (each.search(text) for each in (_LAUGHTER, _COURTESY, _FACE))
    return any(found) or bool(_GREETING.match(text))


def _early(cue: re.Pattern[str], prompt: str) -> bool:
    found = cue.search(prompt)
    return found is not None and len(prompt[: found.start()].split()) <= _EARLY
