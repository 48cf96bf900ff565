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

# Verbs of work that is to be done next; whatever else 'let's' or 'we will' speaks of is a choice.
_WORK = (
    r"(?:see|look|have|take a|continue|go on|go ahead|move on|start|begin|get|talk|discuss|try|run"
    r"|test|check|fix|wait|finish|write|add|commit|push|review|merge|deploy|debug|find|first|be|need"
    r"|proceed|think|hope|tackle|clean|document|investigate|figure|come|meet|say|tell|ask|read|open"
    r"|update|create|implement|build|release|rebase|verify|explore|focus|hand|raise|send|let|pause"
    r"|pick up|wrap|stop|call it a|do (?:it|that|this|so)(?=[.!]|$))"
)
_CHOSEN = (
    r"(?:go (?:with|for|back)|use|keep|stick|stay|switch|drop|skip|avoid|leave|store|call it|take"
    r"|postpone|defer|migrate|move (?:to|away)|live without|not|never|only)"
)
_CHOICE = phrases(
    rf"let'?s (?:just |also |then |rather |better |please |all )*(?!{_WORK}\b)\w+",
    rf"we(?:'ll| will|'re going to| are going to) (?:just |rather )?(?!{_WORK}\b)\w+",
    r"we (?:won't|will not) \w+",
    rf"i(?:'ll| will|'m going to) (?:just |rather )?{_CHOSEN}",
    rf"we (?:should|need to|have to|want to) (?:just |then |rather |really )?{_CHOSEN}",
    r"(?:let's|we'll) (?:build|create|deploy|implement|release|test|write) "
    r"(?:it |this |that )?(?:with|via|using|through|in)",
    r"we (?:go (?:with|for)|settle|stick|stay|only (?:support|use|need)|target)",
    r"we(?:'d| had) better",
    r"(?:we|i)(?:'ve| have)? (?:decided|agreed|settled)",
    r"(?:decided|decision|final answer|verdict|conclusion):",
    r"from now on",
    r"(?:going|went) with",
    r"opt(?:ed|ing) for",
    r"stick(?:ing)? (?:with|to)",
    r"changed? my mind",
    r"on second thoughts?",
    r"scratch that",
    r"i(?:'d| would)? (?:rather|prefer)",
    r"(?:i|we) want (?:it|this|that|them|these|those|the \w+) to (?:be|stay|use|work)",
    r"i(?:'d| would) like (?:it|them|the \w+) to (?:be|stay|use)",
    r"i (?:don't|do not) want",
    r"(?:we don't|we do not|don't think we) (?:want|need|use|support)",
    r"no need (?:for|to)",
    r"(?:don't|do not|never) (?:ever )?(?:use|touch|add|delete|remove|change|introduce|create|store"
    r"|log|break|allow|support|rename|mock|commit|push|hard-?code|expose|cache|retry|write|build"
    r"|ship|run|overwrite|modify|drop|call|import|bother with|rely on|depend on)",
    r"[\w.+#/-]+(?: [\w.+#/-]+){0,5} it is[.!]?$",
    r"(?:is|are|'s) (?:good |more than )?(?:enough|fine|sufficient|ok|okay|overkill)",
    r"stays? (?:on|off|in|as|the same|private|public|where|out|optional)",
    r"instead of",
    r"rather than",
    r"instead(?=[,.!]|$)",
    r"(?:switch|move|go) (?:back )?to (?!the (?:next|other|docs|rest))",
    r"(?:revert|going back|goes back) to",
    r"we(?:'re| are) (?:\w+ ){0,3}only",
    r"can live without",
    r"must (?:not|never|always|only|stay|remain|be)",
    r"(?:i|we) think (?!it\b).{2,60} should (?!be fixed|work)",
    r"so [\w ]{2,30} (?:go|goes|get|gets|live|lives|stay|stays) (?:in|into|to|on|with)",
    r"(?:is|are) out(?=[.,!]|$)",
    r"i(?:'d| would) like .{2,60} not",
    r"(?:has|have|needs?) to (?:stay|remain|be|work|support|survive|fit)",
    r"(?:belongs?|should (?:live|stay|sit)) (?:in|on|to|under|beside)",
    r"(?:minimum|maximum|default)\b.{0,40}\b(?:is|are|should be|stays?)",
)
# What a remark says in passing; in an order for the next piece of work it says how to do that.
_REMARK = phrases(
    r"by default",
    r"opt-(?:in|out)",
    r"behind a (?:feature )?flag",
    r"\w+ only(?= for| in| on|[.,!]|$)",
    r"will do(?=[.,!]|$)",
    r"(?:so |, )no [a-z][\w.+-]*(?=[.,!]|$)",
    r"[\w.+#/-]+, not (?:a |an |the )?[\w.+#/-]+(?=[.,!]|$)",
)
_IMPERATIVE = opening(
    r"use|go (?:with|for)|stick|switch|skip|drop|ditch|scrap|avoid|pin|prefer|store|limit|cap",
    r"treat|default to",
    r"keep|leave (?:it|that|them|this|the)|make (?:it|them|this|that)|name it",
    r"call (?:it|them|this|the)",
    r"set (?:it|the|a)|put (?:it|them)|give up|only (?!if|when|one|the)|reuse|stay|hard-?code",
    r"make (?:the |all |every )?[\w -]{2,30} (?:configurable|optional|opt-in|opt-out|async|lazy"
    r"|immutable|private|public|required|nullable|idempotent|read-only|case-insensitive|strict)",
    r"all [\w -]{2,30} (?:in|as|with|must|should|get|use|return)",
    r"not [\w .+#-]{1,30}, (?:but |use )?[\w.+#-]+",
    r"(?:always|never) (?!been|had|used|seen|heard|tried|worked|mind)",
    r"forget (?:about )?(?:the|that|it)|no (?:new|more|extra|additional|external|third.party)",
    r"no (?!idea|problem|issue|error|worr|change|difference|luck|output|result|response|clue)"
    r"[\w -]{2,30} (?:in|for|on|at|outside|inside|before|without)",
)
_NO_CHOICE = phrases(
    r"don't (?:know|understand|see|trust|forget|worry|remember|get|have|mind|care|like)",
    r"don't think (?!we (?:need|should))",
    r"use (?:your|the (?:read|edit|bash|search|task|todo) tool)",
    r"keep (?:going|on|in mind|me posted|an eye|up)",
    r"make (?:it|this|that) (?:so|work|compile|pass)",
    r"make sure",
    r"(?:go(?:ing)?|get|come) back to (?:work|the (?:task|topic|main|original|actual))",
    r"used to",
    r"so far so good",
)
_INQUIRY = opening(r"explain|tell|show|describe|compare|summari[sz]e|why|find out|i wonder")
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
    text = _NO_CHOICE.sub("look", moods.bare(sentence))
    if moods.is_question(sentence) or moods.hedges(text) or _INQUIRY.match(text):
        return False
    if _IMPERATIVE.search(text) or (_REMARK.search(text) and not is_order(text)):
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
