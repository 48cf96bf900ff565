"""Which earlier decision a new one takes back: only one about the same question.

A false reversal hides a decision that holds. So words alone are not enough: both answer the same
question, or the new one names the old value as what it is not, or it says 'after all' of the same
object. A value is also taken back by the other one that the question offered, by 'off', and by a
'no' about the turn before. Otherwise both stand, and the newer one comes first where they are
listed.
"""

import re
from collections.abc import Sequence

from sapwood.analysis.language.phrases import Phrases, tokens
from sapwood.analysis.language.word_stems import content_words
from sapwood.analysis.ledger.dialogue.german_choices import GERMAN_WORDS
from sapwood.analysis.ledger.entries import Decision

_MARKS = Phrases("""
    actually|instead
    change|changed my mind
    on second thought|thoughts
    after all
    scratch that
    forget about? the|that|it|what
    go|going back to
    no longer
    not ... anymore
    not ... then
    let's not
    drop|replace|undo|revert
    switch to
    doch lieber|nicht
    doch _? _? behalten|nehmen|lassen
    nun doch
""")
_STRONG = Phrases("""
    change|changed my mind
    second thought|thoughts
    scratch that
    switch to
    actually ,? use|keep|let's
""")
_CORRECTION = Phrases("""
    actually|wait|hm|hmm ,? no
    actually , no
    no|ne|nein|nee ,? wait|doch
    doch lieber|nicht
    doch _? _? behalten|nehmen|lassen
""")
_WITHDRAWAL = Phrases("""
    revert|undo|scratch|forget that|this|it
    take that|it back
    nimm das zurück
    das wieder rückgängig
""")
_REFUSAL = re.compile(r"(?:no|nope|nein|ne|nee)[.!]+\s", re.IGNORECASE)
_SWITCHED_OFF = re.compile(r"[\w-]+ (?:off|aus)\b", re.IGNORECASE)
_CONTRAST = re.compile(
    r"\b(?:instead of|rather than|not|no longer|statt|nicht|no)\s+((?:[\w.+#%-]+\s*){1,3})", re.I
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_SAME_QUESTION = 0.7
_MIN_SHARED = 2
_NEXT_TURNS = 1
_FEW_TURNS = 3
_SHORT_PROMPT = 20


def reversed_decision(earlier: Sequence[Decision], new: Decision, prompt: str) -> int | None:
    """Returns the place of the decision that a new one takes back; None if it takes back none."""
    contrasted = _contrasted(f"{new.text} {prompt if len(prompt) < 200 else ''}")
    for place in range(len(earlier) - 1, -1, -1):
        old = earlier[place]
        if old.turn >= new.turn or old.reversed_by is not None:
            continue
        if _takes_back(old, new, prompt, contrasted):
            return place
    return None


def withdrawn_decision(earlier: Sequence[Decision], turn: int, prompt: str) -> int | None:
    """Returns the place of the decision that a short prompt takes back without another one.

    It is the only one that the user made in the turn before.
    """
    if prompt.count(" ") >= _SHORT_PROMPT or not _WITHDRAWAL.search(tokens(prompt)):
        return None
    last = [
        place
        for place, each in enumerate(earlier)
        if each.turn == turn - 1 and each.by == "user" and each.reversed_by is None
    ]
    return last[0] if len(last) == 1 else None


def _takes_back(old: Decision, new: Decision, prompt: str, contrasted: set[str]) -> bool:
    words = set(content_words(old.text)) - _LIGHT
    said = set(content_words(new.text))
    if not said or words == said:
        return False
    if old.about and new.about and _is_same_question(old.about, new.about):
        return True
    if contrasted and _values(old.text) and _values(old.text) <= contrasted | said:
        return bool(_values(old.text) & contrasted)
    if _CORRECTION.match(tokens(prompt)) and new.turn - old.turn <= _NEXT_TURNS:
        return True
    if _is_refused(old, new, words & said) or _is_other_offer(old, words, said):
        return True
    strong = _STRONG.search(tokens(prompt))
    if not words or (len(words) == 1 and not strong and new.turn - old.turn > _FEW_TURNS):
        return False
    marked = _MARKS.search(tokens(new.text))
    if not (marked or _MARKS.match(tokens(prompt))):
        return False
    around = set(content_words(prompt))
    if marked and prompt.count(" ") < _SHORT_PROMPT:
        least = 1 if strong else min(_MIN_SHARED, len(words))
        if len(words & around) >= max(least, 0.5 * len(words)):
            return True
    return len(words & around) >= min(_MIN_SHARED, len(words)) and words <= around | said | _LIGHT


def _is_refused(old: Decision, new: Decision, shared: set[str]) -> bool:
    """Whether a decision begins with 'no.' to the last turn, or switches the same thing off."""
    if len(shared) < _MIN_SHARED:
        return False
    if new.turn - old.turn <= _NEXT_TURNS and _REFUSAL.match(new.text):
        return True
    first = old.text.split(maxsplit=1)[0].casefold()
    return bool(_SWITCHED_OFF.match(new.text)) and new.text.casefold().startswith(f"{first} ")


def _is_other_offer(old: Decision, words: set[str], said: set[str]) -> bool:
    """Whether a question offered both values: the old one, and the short new one."""
    value = said - _LIGHT
    if not old.about or not words or not value or len(value) > _MIN_SHARED or words & value:
        return False
    offered = set(content_words(old.about))
    return words <= offered and value <= offered and bool(_OFFERS.search(tokens(old.about)))


_OFFERS = Phrases("""
    or|oder|versus|vs
    two|three|zwei|drei ... ways|options|choices|wege|möglichkeiten|varianten
""")

_LIGHT = GERMAN_WORDS | frozenset(
    content_words("bigger smaller cheaper faster simpler test give lieber behalten erstmal")
)


def _is_same_question(one: str, other: str) -> bool:
    first, second = set(content_words(one)), set(content_words(other))
    shared = len(first & second)
    return shared >= _MIN_SHARED and shared >= _SAME_QUESTION * max(len(first), len(second))


def _contrasted(text: str) -> set[str]:
    """Returns the words and numbers that a text names as what it does not want."""
    found: set[str] = set()
    for match in _CONTRAST.finditer(text):
        found |= set(content_words(match[1])) | set(_NUMBER.findall(match[1]))
    return found


def _values(text: str) -> set[str]:
    """Returns the value of a short decision: its words, or its number."""
    numbers = _NUMBER.findall(text)
    if numbers and text.count(" ") < _MIN_SHARED:
        return set(numbers)
    words = set(content_words(text))
    return words if len(words) <= _MIN_SHARED else set()
