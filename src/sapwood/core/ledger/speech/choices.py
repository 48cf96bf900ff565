"""Which sentences make a choice, by their own words alone."""

import re

from sapwood.core.ledger.speech import moods
from sapwood.core.ledger.speech.phrases import opening, phrases

__all__ = [
    "is_choice",
    "is_measure",
    "is_models_choice",
    "is_order",
    "tells_of_the_past",
    "turns",
]

_VERB = (
    r"(?:go (?:with|for|back)|use|keep|stick|stay|switch|drop|skip|avoid|pin|leave|store"
    r"|call (?:it|them)|name|limit|cap|postpone|defer|hold off|revert|roll (?:with|back)"
    r"|make (?:it|them|this|that)|require|default to|treat|support|split|put|base|opt for|settle"
    r"|pick|choose|adopt|restrict"
    r"|allow|migrate|move (?:to|away|it)|do (?:it|that|this) (?:with|in|via|as|by|the)"
    r"|take (?:the|option)|only|not|never|say|replace|rename|write it|return|disable|enable)"
)
_CHOICE = phrases(
    rf"let'?s (?:just |also |then |rather |better |please )*{_VERB}",
    rf"(?:we|i)(?:'ll| will|'re going to| are going to|'m going to) (?:just |rather )?{_VERB}",
    r"(?:let's|we'll|we will|we are going to) \w+ (?:it |this |that )?(?:with|via|using|through)",
    rf"we should (?:just |then |rather |really )?{_VERB}",
    r"(?:we|i)(?:'ve| have)? decided (?:to|on|against|that)",
    r"decision:",
    r"settled on",
    r"(?:going|went) with",
    r"opt(?:ed|ing) for",
    r"stick(?:ing)? (?:with|to)",
    r"changed? my mind",
    r"on second thoughts?",
    r"scratch that",
    r"i(?:'d| would)? (?:rather|prefer)",
    r"i(?:'d| would) like (?:it|them|the \w+) to (?:be|stay|use)",
    r"i (?:don't|do not) want",
    r"we (?:don't|do not) (?:want|need|use|support|do)",
    r"no need (?:for|to)",
    r"(?:don't|do not|never) (?:ever )?(?:use|touch|add|delete|remove|change|introduce|create|store"
    r"|log|break|allow|support|rename|mock|commit|push|hard-?code|expose|cache|retry|write|build"
    r"|ship|run|overwrite|modify|drop|call|import|bother with|rely on|depend on)",
    r"[\w.+#/-]+(?: [\w.+#/-]+){0,5} it is[.!]?$",
    r"(?:is|are|'s) (?:good |more than )?(?:enough|fine|sufficient|ok|okay|overkill)",
    r"instead of",
    r"rather than",
    r"instead(?=[,.!]|$)",
    r"(?:switch|move|go) (?:back )?to (?!the (?:next|other|docs|rest))",
    r"(?:revert|going back|goes back) to",
    r"we(?:'re| are) (?:\w+ ){0,3}only",
    r"can live without",
    r"must (?:not|never|always|only|stay|remain)",
    r"has to (?:stay|remain|be)",
)
_IMPERATIVE = opening(
    r"use|go (?:with|for)|stick|switch|skip|drop|avoid|pin|prefer|store|limit|cap|treat|default to",
    r"keep|leave (?:it|that|them|this|the)|make (?:it|them|this|that)|call (?:it|them)|name it",
    r"set (?:it|the|a)|put (?:it|them)|give up|only (?!if|when|one|the)",
    r"(?:always|never) (?!been|had|used|seen|heard|tried|worked|mind)",
    r"forget (?:about )?(?:the|that|it)|no (?:new|more|extra|additional|external|third.party)",
)
_NO_CHOICE = phrases(
    r"(?:let's|we'll|i'll) (?:see|look|have a look|take a look|continue|go on|move on|start|get"
    r"|talk|discuss|try|run|test|check|fix|wait|finish)",
    r"(?:let's|we'll|i'll) do (?:it|that|this)(?:[.!]|$)",
    r"don't (?:know|understand|see|trust|forget|worry|remember|get|think|have|mind|care|like)",
    r"use (?:your|the (?:read|edit|bash|search|task|todo) tool)",
    r"keep (?:going|on|in mind|me posted|an eye|up)",
    r"make (?:it|this|that) (?:so|work|compile|pass)",
    r"make sure",
    r"(?:go(?:ing)?|get|come) back to (?:work|the (?:task|topic|main|original|actual))",
    r"used to",
    r"so far so good",
)
_PAST = phrases(r"was|were|had|has been|have been|last (?:week|year|month)|yesterday|ago")
_MODELS_CHOICE = phrases(
    r"i(?:'ve| have)? (?:decided|chosen|chose|opted|settled on|went with|gone with)",
    r"i(?:'ll| will|'m going to) (?:go with|stick (?:with|to))",
    r"(?:we|i)(?:'ll| will) (?:use|keep|store|go|make|put)\b.*(?:instead of|rather than)",
    r"decision:",
    r"(?:rather than|instead of)\b.*(?:i|we)(?:'ll| will|'ve| have)",
    r"i(?:'ve)? (?:used|kept|stored|made|put)\b.*(?:instead of|rather than)",
    r"(?:i'm|we're) going with",
)
_TURN = phrases(
    r"actually",
    r"instead",
    r"changed? my mind",
    r"second thoughts?",
    r"after all",
    r"scratch that",
    r"forget (?:about )?(?:the|that|it|what)",
    r"go(?:ing)? back",
    r"revert",
    r"switch",
    r"let'?s not",
    r"no longer",
    r"not .{1,40}any ?more",
    r"rather",
    r"drop",
    r"turns out",
    r"we can'?t",
    r"not .{1,40} then",
    r"replace",
    r"undo",
)
_OPENS_TURN = re.compile(r"^(?:no|nope|hm+|wait|sorry)\b[,. ]", re.IGNORECASE)
_ORDER = opening(
    r"write|add|fix|run|create|commit|implement|continue|do|start|update|show|check|test|explain|remove"
    r"|delete|rename|install|document|please|go on|proceed|build|deploy|push|open|look|find|give me"
    r"|tell|summari[sz]e|merge|rebase|release|include|install|try|now|next|roll|generate|review",
)
_MEASURE = re.compile(
    r"^(?:max(?:imum)?|min(?:imum)?|limit|at (?:most|least)|up to|every|after|within|time-?out|ttl"
    r"|\w+ (?:at|of|to|is|=))?\W*\d[\d.,:]*\s?(?:%|[a-z]+)?(?!\w)",
    re.IGNORECASE,
)
_REPORT = phrases(r"fail(?:s|ed|ing|ures?)?|errors?|pass(?:es|ed|ing)?|tests?")
_MEASURE_WORDS = 10


def is_choice(sentence: str) -> bool:
    """Whether a user's sentence says outright what is to be used, kept or left out."""
    text = moods.bare(sentence)
    if moods.is_question(sentence) or moods.hedges(text) or _NO_CHOICE.search(text):
        return False
    if _IMPERATIVE.search(text):
        return True
    return bool(_CHOICE.search(text)) and (not tells_of_the_past(text) or "decided" in text)


def tells_of_the_past(sentence: str) -> bool:
    """Whether it tells what happened or how things were."""
    return bool(_PAST.search(sentence))


def is_measure(sentence: str) -> bool:
    """Whether it says no more than a figure: '15% free for a warning', 'every 15 minutes'."""
    text = moods.bare(sentence)
    short = len(text.split()) <= _MEASURE_WORDS
    return short and bool(_MEASURE.match(text)) and not _REPORT.search(text)


def is_models_choice(sentence: str) -> bool:
    """Whether a model's sentence says outright that it chose."""
    if moods.is_question(sentence) or moods.hedges(sentence):
        return False
    return bool(_MODELS_CHOICE.search(sentence))


def is_order(sentence: str) -> bool:
    """Whether it only asks for the next piece of work."""
    return bool(_ORDER.match(moods.bare(sentence)))


def turns(sentence: str) -> bool:
    """Whether it turns against something that was said before."""
    return bool(_TURN.search(sentence) or _OPENS_TURN.match(sentence))
