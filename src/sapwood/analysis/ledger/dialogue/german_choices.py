"""German sentences that state a choice, and German words of agreement and postponement.

The rules are few on purpose: in German a decision is rather missed than made up.
"""

from collections.abc import Sequence

from sapwood.analysis.language.phrases import Phrases

GERMAN_WORDS = frozenset(
    "ich du er es wir ihr das der die den dem ist sind nicht kein keine und oder aber auch "
    "für fuer mit auf von bei zu zum zur im ein eine einen wie was wer wo wann warum soll "
    "sollen wird werden kann noch nur dann doch mach machen mal schon hier jetzt muss geht "
    "gut erst erstmal statt bitte danke nein ja sonst keiner beim pro haben hat dafür dafuer "
    "weg rein raus morgen heute".split()
)
_LISTS = {
    "no_matter": "ahnung idee zeit lust problem plan sorge angst eile frage wunder sache",
    "we": "wir ich",
    "who": "ich wir das es der die was wie wo wenn dann gut ok okay da hier",
}
_CHOICE = Phrases(
    """
    doch lieber|nicht
    doch _? _? behalten|nehmen|lassen
    statt !dessen
    reicht|reichen|genügt|langt
    bleibt|bleiben|bleibts !hängen|stehen|liegen|unklar|offen
    egal $
    rein|raus $
    kann|können weg
    nicht _ _? _? sondern
    @we nehmen|nehme|nutzen|verwenden|benutzen|bleiben
    @we machen|mache das|es mit|in|per|über
    nehmen|nimm|nehm @we?
    darf|dürfen nicht|nur|kein|keine
    nur für|im|in|beim|per|mit
    """,
    _LISTS,
)
_START = Phrases(
    """
    lieber !nicht|so
    kein|keine|keinen !@no_matter
    erstmal|vorerst|nur !mal _
    immer|nie|niemals _ _
    erst !mal|wenn|dann|gestern|heute|jetzt|als _ _
    """,
    _LISTS,
)
_CONCLUSION = Phrases("also !@who", _LISTS)
_FEW_WORDS = 8
_PREDICATE = Phrases("ist|sind|war|hat|habe|hab|geht|kommt|sagt|meint|steht|läuft|will|kann")
_DEFERRAL = Phrases("""
    frag|frage|fragen|klär|kläre|klären|überleg|überlege|entscheid|entscheide ich|wir
    besprech|bespreche|besprechen ich|wir
    muss|müssen|müsste|sollte|werde ich|wir|man ... fragen|klären|überlegen|besprechen|abstimmen
    ich|wir muss|müssen|müsste|sollte|werde ... fragen|klären|besprechen
    ich|wir frag|frage|klär|kläre|schau|schaue ... nach|ab
    ich|wir frag|frage|klär|kläre|überleg|überlege
    weiß|weiss ich? noch? nicht
    schau|gucke|guck|schaue ich nach
    entscheidet|entscheiden der|die|das|wir|sie
    noch offen|unklar
    machen|schauen wir später|morgen
""")


def is_german(words: Sequence[str]) -> bool:
    """Whether the tokens are German: two German words, or a fifth of them."""
    found = sum(word in GERMAN_WORDS for word in words)
    return found > 1 or (found == 1 and len(words) <= 5)


def is_german_choice(words: Sequence[str]) -> bool:
    """Whether the tokens of a German sentence state a choice; questions are left out before."""
    if _START.match(words) or _CHOICE.search(words):
        return True
    first = words[: words.index(",")] if "," in words else words
    return _CONCLUSION.match(first) and len(first) <= _FEW_WORDS and not _PREDICATE.search(first)


def is_german_deferral(words: Sequence[str]) -> bool:
    """Whether the tokens postpone a matter or leave it to somebody."""
    return _DEFERRAL.search(words)
