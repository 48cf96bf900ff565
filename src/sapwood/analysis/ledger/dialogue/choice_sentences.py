"""Which sentences state a choice, judged by their own words alone."""

import re

from sapwood.analysis.language.phrases import Phrases, tokens
from sapwood.analysis.ledger.dialogue import sentence_kinds

__all__ = [
    "is_choice",
    "is_figure",
    "is_model_choice",
    "is_order",
    "is_past",
    "is_reversal",
]

_LISTS = {
    # Verbs that ask for the next work; 'let's' with any other verb is a choice.
    "work": "see look have take continue start begin get talk discuss try run test check fix wait "
    "finish write add commit push review merge deploy debug find first be need proceed think hope "
    "tackle clean document investigate figure come meet say tell ask read open update create "
    "implement build release rebase verify explore focus hand raise send let pause wrap stop go "
    "move pick do just also then rather better please all call",
    "chosen": "use keep stick stay switch drop skip avoid leave store take postpone defer migrate "
    "not never only",
    "forbidden": "use touch add delete remove change introduce create store log break allow "
    "support rename mock commit push hardcode hard-code expose cache retry write build ship run "
    "overwrite modify drop call import",
    "quality": "configurable optional opt-in opt-out async lazy immutable private public required "
    "nullable idempotent read-only case-insensitive strict",
    "trouble": "idea problem problems issue issues error errors worries worry change changes "
    "difference luck output result results response clue",
    "it": "it them this that",
}
_CHOICE = Phrases(
    """
    let's|lets just|also|then|rather|better|please|all* !@work
    let's|lets just|also|then|rather|better|please|all* go with|for|back|to
    let's|lets just|also|then|rather|better|please|all* move to|away
    let's|lets just|also|then|rather|better|please|all* take the|option
    let's|lets just|also|then|rather|better|please|all* call @it|the
    let's|lets just|also|then|rather|better|please|all* do option|variant|plan|a|b|c|d
    let's|lets just|also|then|rather|better|please|all* do @it with|in|via|as|by|the
    let's|lets just|also|then|rather|better|please|all* do !@it|so|some|an|the|another|more|one
    let's|lets|we'll build|create|deploy|implement|release|test|write @it? with|via|using|through|in
    we'll just|rather* !@work
    we'll just|rather* do !@it
    we'll just|rather* go with|for|back
    we'll just|rather* move to|away
    we will just|rather* !@work
    we're|are going to just|rather* !@work
    we won't _
    we will not _
    i'll just|rather* @chosen
    i'll just|rather* go with|for|back
    i'll live without
    i|we will|should @chosen
    i|we should|need|have|want to just|then|rather|really* @chosen
    we should just|then|rather|really* @chosen
    we go with|for
    we settle|stick|stay|target
    we only support|use|need
    we'd better
    we|i|i've|we've decided|agreed|settled
    we|i have decided|agreed|settled
    decided|decision|verdict|conclusion :
    final answer :
    from now on
    going|went with
    opted|opting for
    stick|sticking with|to
    change|changed my mind
    on second thought|thoughts
    scratch that
    i rather|prefer
    i'd rather|prefer
    i would rather|prefer
    i|we want @it|these|those to be|stay|use|work
    i|we want the _ to be|stay|use|work
    i'd like @it|these|those to be|stay|use
    i'd like the _ to be|stay|use
    i'd like ... not
    i don't want
    i do not want
    we don't want|need|use|support
    we do not want|need|use|support
    don't think we want|need|use|support|should
    no need for|to
    don't|never ever? @forbidden
    do not ever? @forbidden
    don't|never bother|rely|depend with|on
    it is $
    is|are good|more? than? enough|fine|sufficient|ok|okay|overkill
    stay|stays on|off|in|as|private|public|where|out|optional
    stay|stays the same
    instead of
    instead $
    rather than
    switch|move|go back? to !the
    switch|move|go back? to the !next|other|docs|rest
    revert to
    going|goes back to
    we're|are _* only
    can live without
    must not|never|always|only|stay|remain|be
    has|have|need|needs to stay|remain|be|work|support|survive|fit
    belong|belongs in|on|to|under|beside
    should live|stay|sit in|on|under|beside
    minimum|maximum|default _* is|are|stays|stay
    minimum|maximum|default _* should be
    i|we think !it _* should !work|be
    i|we think !it _* should be !fixed
    so _ _? _? go|goes|get|gets|live|lives|stay|stays in|into|to|on|with
    is|are out $
    """,
    _LISTS,
)
# Constraints in a remark; in an order for the next work they only say how to do it.
_REMARK = Phrases("""
    by default
    opt-in|opt-out
    behind a feature? flag
    only for|in|on
    only $
    will do $
    so no _ $
    , not a|an|the? _ $
""")
_IMPERATIVE = Phrases(
    """
    use|stick|switch|skip|drop|ditch|scrap|avoid|pin|prefer|store|limit|cap|treat|keep|reuse|stay
    hardcode|hard-code
    go with|for
    default to
    leave @it|the
    make @it
    make the|all|every? _* @quality
    call @it|the
    name it
    set it|the|a
    put it|them
    give up
    only !if|when|one|the
    all _* in|as|with|must|should|get|use|return
    not _ _? _? , but|use? _
    always|never !been|had|used|seen|heard|tried|worked|mind
    forget about? the|that|it
    no new|more|extra|additional|external|third-party
    no !@trouble _* in|for|on|at|outside|inside|before|without
    """,
    _LISTS,
)
_NO_CHOICE = Phrases("""
    don't know|understand|see|trust|forget|worry|remember|get|have|mind|care|like
    don't think !we
    don't think we !want|need|use|support|should
    use your
    use the read|edit|bash|search|task|todo tool
    keep going|on|up
    keep in mind
    keep me posted
    keep an eye
    make it|this|that so|work|compile|pass
    make sure
    go|going|get|come back to work
    go|going|get|come back to the task|topic|main|original|actual
    used to
    so far so good
""")
_INQUIRY = Phrases("""
    explain|tell|show|describe|compare|summarise|summarize|why
    find out
    i wonder
""")
_PAST = Phrases("""
    was|were|had|yesterday|ago
    has|have been
    last week|year|month
""")
_MODELS_CHOICE = Phrases("""
    i|i've decided|chosen|chose|opted
    i have decided|chosen|opted
    i|i've settled on
    i|i've went|gone with
    i'll go with
    i'll stick with|to
    i'm going to go with
    i|we will go with
    we'll|i'll use|keep|store|go|make|put ... instead of
    we'll|i'll use|keep|store|go|make|put ... rather than
    decision :
    rather than ... i'll|we'll|i've|we've
    instead of ... i'll|we'll|i've|we've
    i|i've used|kept|stored|made|put ... instead of
    i|i've used|kept|stored|made|put ... rather than
    i'm|we're going with
""")
_REVERSAL = Phrases("""
    actually|instead|revert|switch|rather|drop|replace|undo
    change|changed my mind
    second thought|thoughts
    after all
    scratch that
    forget about? the|that|it|what
    go|going back
    let's|lets not
    no longer
    not ... anymore
    not ... any more
    not ... then
    turns out
    we can't|cannot
""")
_REVERSAL_START = Phrases("no|nope|hm|hmm|hmmm|wait|sorry")
_ORDER = Phrases("""
    write|add|fix|run|create|commit|implement|continue|do|start|update|show|check|test|explain
    remove|delete|rename|install|document|please|proceed|build|deploy|push|open|look|find|tell
    summarise|summarize|merge|rebase|release|include|try|now|next|roll|generate|review
    go on
    give me
""")
_FIGURE = re.compile(
    r"(?:max(?:imum)?|min(?:imum)?|limit|at (?:most|least)|up to|every|after|within|time-?out|ttl"
    r"|\w+ (?:at|of|to|is|=))?\W*\d[\d.,:]*\s?(?:%|[a-z]+)?(?!\w)",
    re.IGNORECASE,
)
_REPORT = Phrases("""
    fail|fails|failed|failing|failure|failures|error|errors|pass|passes|passed|passing|test|tests
""")
_FIGURE_WORDS = 10


def is_choice(sentence: str) -> bool:
    """Whether a user's sentence states what to use, keep or leave out."""
    words = _NO_CHOICE.replace(tokens(sentence_kinds.without_filler(sentence)), "look")
    if (
        sentence_kinds.is_question(sentence)
        or sentence_kinds.is_hedged(sentence)
        or _INQUIRY.match(words)
    ):
        return False
    if _IMPERATIVE.match(words) or (_REMARK.search(words) and not _ORDER.match(words)):
        return True
    return _CHOICE.search(words) and (not _PAST.search(words) or "decided" in words)


def is_past(sentence: str) -> bool:
    """Whether the sentence describes the past."""
    return _PAST.search(tokens(sentence))


def is_figure(sentence: str) -> bool:
    """Whether the sentence is only a figure: '15% free for a warning', 'every 15 minutes'."""
    text = sentence_kinds.without_filler(sentence)
    short = len(text.split()) <= _FIGURE_WORDS
    return short and bool(_FIGURE.match(text)) and not _REPORT.search(tokens(text))


def is_model_choice(sentence: str) -> bool:
    """Whether a model's sentence states that the model chose."""
    if not _MODELS_CHOICE.search(tokens(sentence)):
        return False
    return not sentence_kinds.is_question(sentence) and not sentence_kinds.is_hedged(sentence)


def is_order(sentence: str) -> bool:
    """Whether the sentence only asks for the next work."""
    return _ORDER.match(tokens(sentence_kinds.without_filler(sentence)))


def is_reversal(sentence: str) -> bool:
    """Whether the sentence reverses an earlier statement."""
    words = tokens(sentence)
    return _REVERSAL.search(words) or (_REVERSAL_START.match(words) and words[1:2] != ("new",))
