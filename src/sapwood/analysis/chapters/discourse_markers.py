"""Words at the beginning of a prompt that change the subject, return to one, or are small talk.

English and German. In another language no word is found, and the other signs of a border remain.
"""

import re

from sapwood.analysis.language.phrases import Phrases, tokens

_PROMPT_START = 150
_SHORT_PROMPT = 15
"""The most words of a prompt whose 'that' and 'it' are the words of the turn before."""
_WORDS_BEFORE = 4
"""The most words before a marker of an aside; later in a prompt it concerns a detail."""

_ASIDE = Phrases("""
    by the way
    btw|unrelated|unrelatedly|off-topic|aside|tangent|tangential|tangentially
    off topic
    different question|thing|topic|subject|matter
    something completely? else|different
    quick|small|little|random one|aside|question|detour|side|sidenote
    side note|question|quest
    another thing|topic|question|matter
    other topic|question|thing
    on another|a different|side? note
    while you're|we're|i'm on|at that|it|this
    change of topic|subject
    out of curiosity
    before i forget
    before we continue|go
    in other news
    speaking of
    übrigens|nebenbei
    was|etwas ganz? anderes
    andere frage
""")
_SWITCH = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|great|good|right|alright|so|and|fine|nice|hey|hm+|well|oh|fair|perfect"
    r"|thanks|morning|hi|hello|gut|also|und)\b\W*)*+"
    r"(?:(?:wait|stop|sorry|hold on)\b(?! (?:no|not))|now (?:the|for|to|let)|next\b"
    r"|new (?:task|thing|topic)|forget (?:that|it|about)|instead\b|today\b|meanwhile"
    r"|(?:slightly |completely |totally )?different|something else|another\b"
    r"|before (?:we|i|that|you)|quick (?:one|question|thing)|unrelated|separate|by the way|btw"
    r"|two things|last thing|one more thing|let'?s (?:do|start|switch|move|turn)"
    r"|jetzt zu|nächste|neues thema|was anderes|andere frage|übrigens|nebenbei|vergiss)",
    re.IGNORECASE,
)
_RETURN = re.compile(
    r"\b(?:back to|back on|back(?=[.,:!])|again(?=[,.:])|where were we|let'?s (?:continue|resume"
    r"|return)|return(?:ing)? to|as for|regarding|anyway|about the|zurück|wieder zu|weiter mit)",
    re.IGNORECASE,
)
_RETURN_START = 75
_REFERENCE = re.compile(r"\b(?:that|it|them|those|this|these|das|dafür|davon)\b", re.IGNORECASE)
_LAUGHTER = re.compile(r"\b(?:a?(?:ha){2,}h?|lol|lmao|rofl|omg|brb|afk|xd)\b", re.IGNORECASE)
_COURTESY = Phrases("""
    thank|thanks|thx|cheers|danke|sorry
    much better|appreciated
    love it|this
    looks|sounds good|great
""")
_GREETING = Phrases("""
    bye|hello|hi|hey|morning|moin|phone|lunch|coffee
    see you|ya
    good morning|night|evening|afternoon
    guten morgen|abend
    one sec|moment|minute
    gotta go
    be right back
""")
_EMOTICON = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf]|(?<!\\w)[:;]-?[)D(P](?!\\w)|<3")


def is_aside(prompt: str) -> bool:
    """Whether a prompt announces that it is beside the subject.

    >>> is_aside("btw, who owns the CI?"), is_aside("remove(0) on a Vec is slow, by the way")
    (True, False)
    """
    words = tokens(prompt[:_PROMPT_START])
    starts = range(min(len(words), _WORDS_BEFORE + 1))
    return any(_ASIDE.end_at(words, start) is not None for start in starts)


def is_switch(prompt: str) -> bool:
    """Whether a prompt begins with a change of subject.

    >>> is_switch("Okay, next: the login page"), is_switch("Wait no, not that one")
    (True, False)
    """
    start = prompt[:_PROMPT_START]
    return bool(_SWITCH.search(start)) or is_aside(start)


def is_return(prompt: str) -> bool:
    """Whether a prompt begins with a return to an earlier subject.

    >>> is_return("ok, back to the importer"), is_return("Schedule again: can people star talks?")
    (True, True)
    """
    return bool(_RETURN.search(prompt[:_RETURN_START]))


def is_reference(prompt: str) -> bool:
    """Whether a short prompt refers to the turn before it.

    >>> is_reference("can you measure it?"), is_reference("measure the map")
    (True, False)
    """
    return len(prompt.split(None, _SHORT_PROMPT)) <= _SHORT_PROMPT and bool(
        _REFERENCE.search(prompt)
    )


def is_small_talk(sentence: str) -> bool:
    """Whether a sentence is laughter, a greeting or thanks, or has an emoticon."""
    words = tokens(sentence)
    if _COURTESY.search(words) or _GREETING.match(words):
        return True
    return bool(_LAUGHTER.search(sentence) or _EMOTICON.search(sentence))
